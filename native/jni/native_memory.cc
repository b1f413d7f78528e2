// Natives of io.jccl.nativelib.NativeMemory.
#include "io_jccl_nativelib_NativeMemory.h"
#include "jni/jni_support.h"

JNIEXPORT jobject JNICALL Java_io_jccl_nativelib_NativeMemory_newDirectBuffer(JNIEnv* env, jclass, jlong address,
                                                                              jlong bytes) {
  return jccl::jni::guarded<jobject>(nullptr, [&] {
    return env->NewDirectByteBuffer(reinterpret_cast<void*>(static_cast<intptr_t>(address)), bytes);
  });
}
