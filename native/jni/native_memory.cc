// Natives of io.jccl.nativelib.NativeMemory.
#include <cstring>

#include "io_jccl_nativelib_NativeMemory.h"
#include "jni/jni_support.h"

namespace {

using Fold = void (*)(const void* next, void* accumulator, int64_t bytes, void* context);

template <class T>
T pointer(jlong address) {
  return reinterpret_cast<T>(static_cast<intptr_t>(address));
}

}  // namespace

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeMemory_copy(JNIEnv*, jclass, jlong from, jlong to, jlong bytes) {
  std::memcpy(pointer<void*>(to), pointer<const void*>(from), static_cast<size_t>(bytes));
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_NativeMemory_fold(JNIEnv*, jclass, jlong function, jlong context,
                                                                jlong next, jlong accumulator, jlong bytes) {
  pointer<Fold>(function)(pointer<const void*>(next), pointer<void*>(accumulator), bytes, pointer<void*>(context));
}

JNIEXPORT jobject JNICALL Java_io_jccl_nativelib_NativeMemory_newDirectBuffer(JNIEnv* env, jclass, jlong address,
                                                                              jlong bytes) {
  return jccl::jni::guarded<jobject>(nullptr, [&] { return env->NewDirectByteBuffer(pointer<void*>(address), bytes); });
}
