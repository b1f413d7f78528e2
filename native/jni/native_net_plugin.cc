// Natives of io.jccl.nativelib.NativeNetPlugin.
#include <algorithm>

#include "io_jccl_nativelib_NativeNetPlugin.h"
#include "jni/java_constants.h"
#include "jni/jni_support.h"
#include "plugin/net_devices.h"

#define JAVA(name) io_jccl_nativelib_NativeNetPlugin_##name

namespace {

static_assert(jccl::jni::isLayout({JAVA(DEVICE_GUID), JAVA(DEVICE_PORT), JAVA(DEVICE_SPEED), JAVA(DEVICE_LATENCY_NANOS),
                                   JAVA(DEVICE_CONNECTIONS), JAVA(DEVICE_REACHES_GPUS)},
                                  JAVA(DEVICE_LENGTH)));

constexpr float kMaxLatencyMicros = 1e6F;

}  // namespace

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeNetPlugin_probe(JNIEnv* env, jclass, jstring plugin,
                                                                          jlong limitNanos, jobjectArray texts) {
  return jccl::jni::guarded<jlongArray>(nullptr, [&]() -> jlongArray {
    std::string name;
    if (!jccl::jni::copyString(env, plugin, name)) return nullptr;
    jccl::plugin::NetDevices found;
    const jccl::Status probed = jccl::plugin::probeNetDevices(name, limitNanos, &found);
    std::vector<std::int64_t> numbers;
    std::string lines = probed ? "" : jccl::jni::lineOf(probed.message());
    if (probed) {
      lines = jccl::jni::lineOf(found.plugin->name()) + jccl::jni::lineOf(found.plugin->file());
      numbers.push_back(found.plugin->version());
      for (const jccl::plugin::DeviceProperties& one : found.devices) {
        lines += jccl::jni::lineOf(one.name) + jccl::jni::lineOf(one.pciPath);
        const std::size_t at = numbers.size();
        numbers.resize(at + JAVA(DEVICE_LENGTH));
        std::int64_t* row = &numbers[at];
        row[JAVA(DEVICE_GUID)] = static_cast<std::int64_t>(one.guid);
        row[JAVA(DEVICE_PORT)] = one.port;
        row[JAVA(DEVICE_SPEED)] = one.speedMbps;
        row[JAVA(DEVICE_LATENCY_NANOS)] =
            static_cast<std::int64_t>(std::min(one.latencyMicros, kMaxLatencyMicros) * 1000);
        row[JAVA(DEVICE_CONNECTIONS)] = one.maxComms;
        row[JAVA(DEVICE_REACHES_GPUS)] = one.reachesCuda ? 1 : 0;
      }
    }
    jstring text = jccl::jni::newString(env, lines);
    if (text == nullptr) return nullptr;
    env->SetObjectArrayElement(texts, 0, text);
    if (env->ExceptionCheck() || found.plugin == nullptr) return nullptr;
    return jccl::jni::newLongs(env, numbers);
  });
}
