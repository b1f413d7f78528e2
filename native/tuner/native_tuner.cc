// Natives of io.jccl.tuner.NativeTuner.
#include "io_jccl_tuner_NativeTuner.h"
#include "jni/jni_support.h"
#include "plugin/plugin_file.h"
#include "tuner/tuner_library.h"

namespace {

using namespace jccl;
using namespace jccl::jni;
using plugin::TunerPlugin;

thread_local LastFailure lastFailure;

TunerPlugin& tunerOf(jlong handle) { return **reinterpret_cast<std::shared_ptr<TunerPlugin>*>(handle); }

}  // namespace

JNIEXPORT jlong JNICALL Java_io_jccl_tuner_NativeTuner_openPlugin(JNIEnv* env, jclass, jstring name,
                                                                  jboolean ofNetwork) {
  return guarded<jlong>(0, [&]() -> jlong {
    std::string text;
    if (!copyString(env, name, text)) return 0;
    auto tuner = std::make_unique<std::shared_ptr<TunerPlugin>>();
    const Status opened = ofNetwork == JNI_TRUE ? plugin::openTunerPluginOfNetwork(text, tuner.get())
                                                : plugin::openTunerPlugin(text, tuner.get());
    return lastFailure.codeOf(opened) == 0 ? reinterpret_cast<jlong>(tuner.release()) : 0;
  });
}

JNIEXPORT jstring JNICALL Java_io_jccl_tuner_NativeTuner_description(JNIEnv* env, jclass, jlong handle) {
  return guarded<jstring>(nullptr, [&] {
    const TunerPlugin& tuner = tunerOf(handle);
    return newString(env, plugin::describePlugin("tuner", tuner.name(), tuner.file(), tuner.version()));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_tuner_NativeTuner_init(JNIEnv*, jclass, jlong handle, jlong id, jint ranks,
                                                           jint hosts, jint minLocalRanks, jint maxLocalRanks) {
  return guardedCode([&]() -> jint {
    plugin::TunerCommunicator communicator;
    communicator.id = static_cast<uint64_t>(id);
    communicator.ranks = static_cast<size_t>(ranks);
    communicator.hosts = static_cast<size_t>(hosts);
    communicator.minLocalRanks = minLocalRanks;
    communicator.maxLocalRanks = maxLocalRanks;
    return lastFailure.codeOf(tunerOf(handle).init(communicator));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_tuner_NativeTuner_ask(JNIEnv* env, jclass, jlong handle, jint function, jlong bytes,
                                                          jfloatArray costs, jintArray channels) {
  return guardedCode([&]() -> jint {
    // The plug-in learns of only half of this table. The rest protects memory from a newer plug-in that writes more
    // rows.
    float table[2 * plugin::kTunerCosts];
    for (float& cost : table) cost = plugin::kIgnoredCost;
    env->GetFloatArrayRegion(costs, 0, plugin::kTunerCosts, table);
    if (env->ExceptionCheck()) return static_cast<jint>(Code::Invalid);
    int number = 0;
    const Status asked =
        tunerOf(handle).ask(function, static_cast<size_t>(bytes),
                            std::span<float, plugin::kTunerCosts>(table, plugin::kTunerCosts), &number);
    env->SetFloatArrayRegion(costs, 0, plugin::kTunerCosts, table);
    const jint found = number;
    env->SetIntArrayRegion(channels, 0, 1, &found);
    return lastFailure.codeOf(asked);
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_tuner_NativeTuner_askChunk(JNIEnv*, jclass, jlong handle, jint function,
                                                                jlong bytes, jint algorithm, jint protocol,
                                                                jint channels, jlong chunkBytes) {
  return guarded<jlong>(-1, [&]() -> jlong {
    auto chunk = static_cast<size_t>(chunkBytes);
    const Status asked =
        tunerOf(handle).askChunk(function, static_cast<size_t>(bytes), algorithm, protocol, channels, &chunk);
    return lastFailure.codeOf(asked) == 0 ? static_cast<jlong>(chunk) : -1;
  });
}

JNIEXPORT void JNICALL Java_io_jccl_tuner_NativeTuner_close(JNIEnv*, jclass, jlong handle) {
  guarded<int>(0, [&] {
    const std::unique_ptr<std::shared_ptr<TunerPlugin>> tuner(reinterpret_cast<std::shared_ptr<TunerPlugin>*>(handle));
    (*tuner)->finalize();
    return 0;
  });
}

JNIEXPORT jstring JNICALL Java_io_jccl_tuner_NativeTuner_lastError(JNIEnv* env, jclass) {
  return guarded<jstring>(nullptr, [&] { return newString(env, reasonOr(lastFailure.text())); });
}
