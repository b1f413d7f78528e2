// Counts calls from Java into native methods, for tests. Registers a stub in place of each native method, which counts the
// call and jumps to the method with all arguments in place. So no call escapes the count, whatever the method does.
#include <dlfcn.h>
#include <jni.h>

#include <cstdint>
#include <string>

#if defined(__x86_64__)

namespace {

constexpr int kStubs = 256;

struct Slot {
  uint64_t calls;
  void* target;
};

extern "C" {
__attribute__((visibility("hidden"))) Slot jccl_crossings[kStubs];
__attribute__((visibility("hidden"))) extern const char jccl_crossing_stubs[];
}

// Each stub has 32 bytes. Changes no register and no stack, so it passes arguments of any types.
asm(R"(
  .text
  .balign 32
  .hidden jccl_crossing_stubs
  .globl jccl_crossing_stubs
jccl_crossing_stubs:
  .set slot, 0
  .rept 256
  .balign 32
  lock incq jccl_crossings + slot(%rip)
  jmp *jccl_crossings + slot + 8(%rip)
  .set slot, slot + 16
  .endr
  .balign 32
)");

int used = 0;

}  // namespace

extern "C" {

// Returns true if the native method is counted from now on. `symbol` is its function in a library that is loaded.
__attribute__((visibility("default"))) jboolean Java_io_jccl_integration_Crossings_count(JNIEnv* env, jclass, jclass of,
                                                                                         jstring library,
                                                                                         jstring symbol, jstring name,
                                                                                         jstring signature) {
  const auto text = [&](jstring from) {
    const char* chars = env->GetStringUTFChars(from, nullptr);
    std::string copied = chars == nullptr ? "" : chars;
    if (chars != nullptr) env->ReleaseStringUTFChars(from, chars);
    return copied;
  };
  void* handle = dlopen(text(library).c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle == nullptr) return JNI_FALSE;
  void* target = dlsym(handle, text(symbol).c_str());
  dlclose(handle);  // the JVM keeps the library
  if (target == nullptr || used == kStubs) return JNI_FALSE;
  jccl_crossings[used].target = target;
  std::string named = text(name), typed = text(signature);
  JNINativeMethod method{named.data(), typed.data(), const_cast<char*>(jccl_crossing_stubs) + 32 * used};
  if (env->RegisterNatives(of, &method, 1) != JNI_OK) return JNI_FALSE;
  ++used;
  return JNI_TRUE;
}

// Returns the number of calls of the method that was given as number `index`, counted from 0.
__attribute__((visibility("default"))) jlong Java_io_jccl_integration_Crossings_calls(JNIEnv*, jclass, jint index) {
  return static_cast<jlong>(__atomic_load_n(&jccl_crossings[index].calls, __ATOMIC_RELAXED));
}

}  // extern "C"

#else

extern "C" {

__attribute__((visibility("default"))) jboolean Java_io_jccl_integration_Crossings_count(JNIEnv*, jclass, jclass,
                                                                                         jstring, jstring, jstring,
                                                                                         jstring) {
  return JNI_FALSE;
}
__attribute__((visibility("default"))) jlong Java_io_jccl_integration_Crossings_calls(JNIEnv*, jclass, jint) {
  return 0;
}

}  // extern "C"

#endif
