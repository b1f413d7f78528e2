// Changes the environment of a running process; io.jccl.integration.NativeFunctions declares it for Java's tests.
#include <cstdint>
#include <cstdlib>

// `name` and `value` are the addresses of zero-terminated strings. A value of 0 removes the variable.
extern "C" __attribute__((visibility("default"))) void Java_io_jccl_integration_NativeFunctions_setVariable(
    void*, void*, int64_t name, int64_t value) {
  const char* const text = reinterpret_cast<const char*>(static_cast<intptr_t>(name));
  if (value == 0) {
    ::unsetenv(text);  // NOLINT(concurrency-mt-unsafe): between two scenarios no other thread reads it
  } else {
    ::setenv(text, reinterpret_cast<const char*>(static_cast<intptr_t>(value)), 1);  // NOLINT(concurrency-mt-unsafe)
  }
}
