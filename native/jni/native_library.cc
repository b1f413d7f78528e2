// Natives of io.jccl.nativelib.NativeLibrary.
#include "base/build_id.h"
#include "io_jccl_nativelib_NativeLibrary.h"
#include "jni/jni_support.h"
#include "primitives/reduce.h"

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_NativeLibrary_buildId(JNIEnv* env, jclass) {
  return jccl::jni::guarded<jstring>(nullptr, [&] { return jccl::jni::newString(env, jccl::buildId()); });
}

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_NativeLibrary_instructionSet(JNIEnv* env, jclass) {
  return jccl::jni::guarded<jstring>(nullptr, [&] { return jccl::jni::newString(env, jccl::nameOf(jccl::bestIsa())); });
}
