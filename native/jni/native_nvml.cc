// Natives of io.jccl.nativelib.NativeNvml.
#include "io_jccl_nativelib_NativeNvml.h"
#include "jni/jni_support.h"
#include "nvml/nvml_report.h"

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeNvml_read(JNIEnv* env, jclass, jstring library,
                                                                    jobjectArray remarks) {
  return jccl::jni::guarded<jlongArray>(nullptr, [&]() -> jlongArray {
    std::string name;
    if (!jccl::jni::copyString(env, library, name)) return nullptr;
    const jccl::nvml::Report report = jccl::nvml::readReport(name);
    std::string lines;
    for (const std::string& remark : report.remarks) lines += remark + '\n';
    jstring text = jccl::jni::newString(env, lines);
    if (text == nullptr) return nullptr;
    env->SetObjectArrayElement(remarks, 0, text);
    if (env->ExceptionCheck() || !report.available) return nullptr;
    return jccl::jni::newLongs(env, report.numbers);
  });
}
