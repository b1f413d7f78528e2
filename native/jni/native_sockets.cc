// Natives of io.jccl.nativelib.NativeSockets.
#include "io_jccl_nativelib_NativeSockets.h"
#include "jni/jni_support.h"
#include "transport/socket_options.h"

namespace {

// Of a channel of the JDK, whose class has no public access to it; -1 where it keeps it elsewhere.
jint descriptorOf(JNIEnv* env, jobject channel) {
  const jfieldID field = env->GetFieldID(env->GetObjectClass(channel), "fdVal", "I");
  if (env->ExceptionCheck()) {
    env->ExceptionClear();
    return -1;
  }
  return env->GetIntField(channel, field);
}

}  // namespace

JNIEXPORT jboolean JNICALL Java_io_jccl_nativelib_NativeSockets_bound(JNIEnv* env, jclass, jobject channel) {
  return jccl::jni::guarded<jboolean>(JNI_FALSE, [&]() -> jboolean {
    const jint socket = descriptorOf(env, channel);
    if (socket < 0 || !jccl::keepOpen(socket)) return JNI_FALSE;
    return jccl::boundRepetitions(socket) ? JNI_TRUE : JNI_FALSE;
  });
}
