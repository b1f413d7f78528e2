// A user-defined reduction, as an application could contain. Java's tests get its address from
// io.jccl.integration.NativeFunctions.
#include <cstdint>

namespace {

void addScaled(const void* next, void* accumulator, int64_t bytes, void* context) {
  const auto* from = static_cast<const int64_t*>(next);
  auto* to = static_cast<int64_t*>(accumulator);
  const int64_t factor = *static_cast<const int64_t*>(context);
  for (int64_t i = 0; i < bytes / 8; ++i) to[i] += factor * from[i];
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int64_t Java_io_jccl_integration_NativeFunctions_scaledSum(void*,
                                                                                                             void*) {
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(&addScaled));
}
