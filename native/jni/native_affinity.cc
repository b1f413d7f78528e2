// Natives of io.jccl.nativelib.NativeAffinity.
#include <sched.h>

#include <cerrno>

#include "io_jccl_nativelib_NativeAffinity.h"
#include "jni/jni_support.h"

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeAffinity_bind(JNIEnv* env, jclass, jlong thread, jlongArray mask) {
  return jccl::jni::guarded<jint>(ENOMEM, [&]() -> jint {
    std::vector<int64_t> words;
    if (!jccl::jni::copyLongs(env, mask, words)) return EINVAL;
    const auto* cpus = reinterpret_cast<const cpu_set_t*>(words.data());
    const size_t bytes = words.size() * sizeof words[0];
    return sched_setaffinity(static_cast<pid_t>(thread), bytes, cpus) == 0 ? 0 : errno;
  });
}
