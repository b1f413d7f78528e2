// Natives of io.jccl.nativelib.NativeSockets.
#include "crypto/crypto_library.h"
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

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_NativeSockets_cryptoObstacle(JNIEnv* env, jclass) {
  return jccl::jni::guarded<jstring>(nullptr, [&]() -> jstring {
    std::shared_ptr<const jccl::crypto::Library> library;
    const jccl::Status opened = jccl::crypto::Library::open(&library);
    return jccl::jni::newString(env, opened ? "" : opened.message());
  });
}
