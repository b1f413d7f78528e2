// Natives of io.jccl.nativelib.DeviceStaging.
#include "cuda/runtime/device_staging.h"
#include "io_jccl_nativelib_DeviceStaging.h"
#include "jni/java_constants.h"
#include "jni/jni_support.h"

#define JAVA(name) io_jccl_nativelib_DeviceStaging_##name

namespace {

using namespace jccl;
using namespace jccl::jni;
using device::DeviceStaging;
using device::StagingStep;

static_assert(JAVA(FIRST) == DeviceStaging::kFirst);
static_assert(JAVA(COPY) == static_cast<int>(StagingStep::Kind::Copy));
static_assert(JAVA(SIGNAL) == static_cast<int>(StagingStep::Kind::Signal));
static_assert(JAVA(WAIT) == static_cast<int>(StagingStep::Kind::Wait));
static_assert(isLayout({JAVA(STEP_KIND), JAVA(STEP_TO), JAVA(STEP_FROM), JAVA(STEP_NUMBER)}, JAVA(STEP_LENGTH)));

// The last failure of this thread to create a staging object. It is kept here because there is no object that could
// keep it.
thread_local LastFailure createError;

DeviceStaging& stagingOf(jlong handle) { return *reinterpret_cast<DeviceStaging*>(handle); }

}  // namespace

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceStaging_createStaging(JNIEnv*, jclass, jint device, jint rank,
                                                                           jlong idHigh, jlong idLow,
                                                                           jlong timeoutNanos) {
  return guarded<jlong>(0, [&]() -> jlong {
    const DeviceStaging::Config config{rank, device, {static_cast<uint64_t>(idHigh), static_cast<uint64_t>(idLow)}};
    std::unique_ptr<DeviceStaging> staging;
    createError.set(DeviceStaging::create(config, timeoutNanos, staging));
    return reinterpret_cast<jlong>(staging.release());
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceStaging_ownStream(JNIEnv*, jclass, jlong handle) {
  return reinterpret_cast<jlong>(stagingOf(handle).ownStream());
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceStaging_area(JNIEnv*, jclass, jlong handle, jlong bytes) {
  return guarded<jlong>(0, [&]() -> jlong {
    void* memory = nullptr;
    const bool had = stagingOf(handle).area(static_cast<size_t>(bytes), memory).isOk();
    return had ? reinterpret_cast<jlong>(memory) : 0;
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceStaging_areaBytes(JNIEnv*, jclass, jlong handle) {
  return guarded<jlong>(0, [&] { return static_cast<jlong>(stagingOf(handle).areaBytes()); });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceStaging_put(JNIEnv* env, jclass, jlong handle, jlongArray rows,
                                                                jint length, jlong stream) {
  return guardedCode([&]() -> jint {
    std::vector<int64_t> numbers;
    if (!copyLongs(env, rows, numbers)) return static_cast<jint>(Code::Invalid);
    const size_t needed = static_cast<size_t>(length) * JAVA(STEP_LENGTH);
    if (length < 0 || needed > numbers.size()) return static_cast<jint>(Code::Invalid);
    std::vector<StagingStep> steps;
    for (size_t at = 0; at < needed; at += JAVA(STEP_LENGTH)) {
      const int64_t* row = &numbers[at];
      steps.push_back({static_cast<StagingStep::Kind>(row[JAVA(STEP_KIND)]),
                       reinterpret_cast<void*>(row[JAVA(STEP_TO)]), reinterpret_cast<const void*>(row[JAVA(STEP_FROM)]),
                       static_cast<uint64_t>(row[JAVA(STEP_NUMBER)])});
    }
    size_t done = 0;
    const Status status = stagingOf(handle).put(steps, reinterpret_cast<device::Stream>(stream), done);
    return !status && done == 0 ? static_cast<jint>(status.code()) : static_cast<jint>(done);
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceStaging_await(JNIEnv*, jclass, jlong handle, jlong signal,
                                                                  jlong nanos) {
  return guardedCode([&]() -> jint {
    bool reached = false;
    const Status status = stagingOf(handle).await(static_cast<uint64_t>(signal), nanos, reached);
    return !status ? static_cast<jint>(status.code()) : reached ? JAVA(REACHED) : JAVA(PENDING);
  });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_DeviceStaging_open(JNIEnv*, jclass, jlong handle, jlong wait) {
  guarded<bool>(false, [&] {
    stagingOf(handle).open(static_cast<uint64_t>(wait));
    return true;
  });
}

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_DeviceStaging_lastError(JNIEnv* env, jclass, jlong handle) {
  return guarded<jstring>(nullptr, [&] {
    return newString(env, reasonOr(handle == 0 ? createError.text() : stagingOf(handle).lastError()));
  });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_DeviceStaging_destroy(JNIEnv*, jclass, jlong handle) {
  guarded<bool>(false, [&] {
    delete reinterpret_cast<DeviceStaging*>(handle);
    return true;
  });
}
