// Natives of io.jccl.nativelib.NativeNetPlugin.
#include <algorithm>

#include "io_jccl_nativelib_NativeNetPlugin.h"
#include "jni/java_constants.h"
#include "jni/jni_support.h"
#include "plugin/net_devices.h"
#include "transport/coll_net.h"

#define JAVA(name) io_jccl_nativelib_NativeNetPlugin_##name

namespace {

static_assert(jccl::jni::isLayout({JAVA(DEVICE_GUID), JAVA(DEVICE_PORT), JAVA(DEVICE_SPEED), JAVA(DEVICE_LATENCY_NANOS),
                                   JAVA(DEVICE_CONNECTIONS), JAVA(DEVICE_REACHES_GPUS)},
                                  JAVA(DEVICE_LENGTH)));

constexpr float kMaxLatencyMicros = 1e6F;

// Returns the text as a line of the answer. Replaces all bytes except printable ASCII, because texts of plug-ins can
// contain any bytes.
std::string lineOf(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return text + '\n';
}

}  // namespace

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeNetPlugin_probe(JNIEnv* env, jclass, jstring plugin,
                                                                          jlong limitNanos, jobjectArray texts) {
  return jccl::jni::guarded<jlongArray>(nullptr, [&]() -> jlongArray {
    std::string name;
    if (!jccl::jni::copyString(env, plugin, name)) return nullptr;
    jccl::plugin::NetDevices found;
    const jccl::Status probed = jccl::plugin::probeNetDevices(name, limitNanos, &found);
    std::vector<std::int64_t> numbers;
    std::string lines = probed ? "" : lineOf(probed.message());
    if (probed) {
      lines = lineOf(found.plugin->name()) + lineOf(found.plugin->file());
      numbers.push_back(found.plugin->version());
      for (const jccl::plugin::DeviceProperties& one : found.devices) {
        lines += lineOf(one.name) + lineOf(one.pciPath);
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

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_NativeNetPlugin_probeReducing(JNIEnv* env, jclass, jstring plugin,
                                                                               jlong limitNanos) {
  return jccl::jni::guarded<jstring>(nullptr, [&]() -> jstring {
    std::string name;
    if (!jccl::jni::copyString(env, plugin, name)) return nullptr;
    std::unique_ptr<jccl::CollNet> opened;
    if (!jccl::CollNet::open(name, 0, {limitNanos, limitNanos}, &opened)) return nullptr;
    std::string lines;
    for (const jccl::plugin::DeviceProperties& one : opened->devices()) lines += lineOf(one.name) + lineOf(one.pciPath);
    return jccl::jni::newString(env, lines);
  });
}
