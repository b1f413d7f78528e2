// Natives of io.jccl.nativelib.NativeSockets.
#include "io_jccl_nativelib_NativeSockets.h"
#include "jni/jni_support.h"
#include "transport/socket_options.h"

namespace {

// Returns the file descriptor of a socket channel, read from a private field of the JDK's object; -1 if the JDK has no
// such field.
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
