// Natives of io.jccl.nativelib.NativeDevice: devices, their memory and their streams.
#include <cstring>

#include "base/build_id.h"
#include "cuda/driver/driver.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_communicator.h"
#include "io_jccl_nativelib_NativeDevice.h"
#include "jni/java_constants.h"
#include "jni/jni_support.h"

#define JAVA(name) io_jccl_nativelib_NativeDevice_##name

namespace {

using namespace jccl;
using namespace jccl::jni;

static_assert(isLayout({JAVA(UUID_HIGH), JAVA(UUID_LOW), JAVA(CAPABILITY), JAVA(MULTIPROCESSORS), JAVA(MEMORY_BYTES),
                        JAVA(PCI_DOMAIN), JAVA(PCI_BUS), JAVA(PCI_DEVICE), JAVA(SERVED_BY_MPS)},
                       JAVA(DESCRIPTION_LENGTH)));
static_assert(isLayout({JAVA(BUDGET_BLOCKS), JAVA(BUDGET_FREE)}, JAVA(BUDGET_LENGTH)));

thread_local LastFailure lastFailure;

device::Stream streamOf(jlong handle) { return reinterpret_cast<device::Stream>(handle); }

// Runs the body with a current device; returns the code of its status.
template <typename Body>
jint onDevice(jint ordinal, Body&& body) {
  return guardedCode([&]() -> jint {
    const device::DeviceGuard guard(ordinal);
    return lastFailure.codeOf(guard.status() ? body() : guard.status());
  });
}

}  // namespace

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_NativeDevice_buildId(JNIEnv* env, jclass) {
  return guarded<jstring>(nullptr, [&] { return newString(env, buildId()); });
}

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_NativeDevice_lastError(JNIEnv* env, jclass) {
  return guarded<jstring>(nullptr, [&] { return newString(env, reasonOr(lastFailure.text())); });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeDevice_count(JNIEnv*, jclass) {
  return guardedCode([&]() -> jint {
    int count = 0;
    const Status status = device::countDevices(count);
    return status ? count : lastFailure.codeOf(status);
  });
}

JNIEXPORT jstring JNICALL Java_io_jccl_nativelib_NativeDevice_driver(JNIEnv* env, jclass) {
  return guarded<jstring>(nullptr, [&]() -> jstring {
    int count = 0;
    if (lastFailure.codeOf(device::countDevices(count)) != 0) return nullptr;
    return newString(env, device::describeDriver());
  });
}

JNIEXPORT jboolean JNICALL Java_io_jccl_nativelib_NativeDevice_compilesKernels(JNIEnv*, jclass) {
  return guarded<bool>(false, [&] { return device::compilesKernels(); }) ? JNI_TRUE : JNI_FALSE;
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeDevice_loadKernels(JNIEnv*, jclass, jint ordinal) {
  return onDevice(ordinal, [] { return device::loadKernels(); });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeDevice_describe(JNIEnv* env, jclass, jint ordinal) {
  return guarded<jlongArray>(nullptr, [&]() -> jlongArray {
    device::DeviceProperties properties;
    if (lastFailure.codeOf(device::describeDevice(ordinal, properties)) != 0) return nullptr;
    int64_t uuid[2];
    std::memcpy(uuid, properties.uuid, sizeof uuid);
    std::vector<int64_t> row(JAVA(DESCRIPTION_LENGTH));
    row[JAVA(UUID_HIGH)] = uuid[0];
    row[JAVA(UUID_LOW)] = uuid[1];
    row[JAVA(CAPABILITY)] = properties.capability;
    row[JAVA(MULTIPROCESSORS)] = properties.multiprocessors;
    row[JAVA(MEMORY_BYTES)] = static_cast<int64_t>(properties.memoryBytes);
    row[JAVA(PCI_DOMAIN)] = properties.pciDomain;
    row[JAVA(PCI_BUS)] = properties.pciBus;
    row[JAVA(PCI_DEVICE)] = properties.pciDevice;
    row[JAVA(SERVED_BY_MPS)] = properties.servedByMps ? 1 : 0;
    return newLongs(env, row);
  });
}

JNIEXPORT jlongArray JNICALL Java_io_jccl_nativelib_NativeDevice_blockBudget(JNIEnv* env, jclass, jint ordinal,
                                                                             jint threads) {
  return guarded<jlongArray>(nullptr, [&]() -> jlongArray {
    int blocks = 0, free = 0;
    if (lastFailure.codeOf(device::DeviceCommunicator::blockBudget(ordinal, threads, blocks, free)) != 0)
      return nullptr;
    std::vector<int64_t> row(JAVA(BUDGET_LENGTH));
    row[JAVA(BUDGET_BLOCKS)] = blocks;
    row[JAVA(BUDGET_FREE)] = free;
    return newLongs(env, row);
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeDevice_enter(JNIEnv*, jclass, jint ordinal) {
  return guardedCode([&]() -> jint {
    driver::Context context = nullptr;
    Status status = device::primaryContext(ordinal, context);
    if (status) status = driver::statusOf("cuCtxPushCurrent", driver::driver().pushContext(context));
    return lastFailure.codeOf(status);
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeDevice_leave(JNIEnv*, jclass) {
  return guardedCode([&]() -> jint {
    driver::Context context = nullptr;
    return lastFailure.codeOf(driver::statusOf("cuCtxPopCurrent", driver::driver().popContext(&context)));
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeDevice_allocate(JNIEnv*, jclass, jint ordinal, jlong bytes) {
  void* memory = nullptr;
  const jint code = onDevice(ordinal, [&] { return device::allocate(static_cast<size_t>(bytes), memory); });
  return code == 0 ? reinterpret_cast<jlong>(memory) : 0;
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeDevice_clear(JNIEnv*, jclass, jint ordinal, jlong address,
                                                                 jlong bytes) {
  return onDevice(ordinal, [&]() -> Status {
    const Status status =
        device::fillAsync(reinterpret_cast<void*>(address), 0, static_cast<size_t>(bytes), device::Stream{});
    return status ? device::synchronize(device::Stream{}) : status;
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeDevice_free(JNIEnv*, jclass, jint ordinal, jlong memory) {
  return onDevice(ordinal, [&] { return device::release(reinterpret_cast<void*>(memory)); });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeDevice_createStream(JNIEnv*, jclass, jint ordinal) {
  device::Stream stream = nullptr;
  const jint code = onDevice(ordinal, [&] { return device::createStream(stream); });
  return code == 0 ? reinterpret_cast<jlong>(stream) : 0;
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeDevice_destroyStream(JNIEnv*, jclass, jint ordinal, jlong stream) {
  return onDevice(ordinal, [&] { return device::destroyStream(streamOf(stream)); });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeDevice_synchronize(JNIEnv*, jclass, jint ordinal, jlong stream) {
  return onDevice(ordinal, [&] { return device::synchronize(streamOf(stream)); });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeDevice_copy(JNIEnv*, jclass, jint ordinal, jlong to, jlong from,
                                                                jlong bytes, jlong stream) {
  return onDevice(ordinal, [&] {
    return device::copyAsync(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from),
                             static_cast<size_t>(bytes), streamOf(stream));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeDevice_beginCapture(JNIEnv*, jclass, jint ordinal, jlong stream) {
  // Most applications use the capture mode Global, which forbids the most calls.
  return onDevice(ordinal, [&] { return device::beginCapture(streamOf(stream), device::CaptureMode::Global); });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_NativeDevice_endCapture(JNIEnv*, jclass, jint ordinal, jlong stream) {
  device::Graph graph = nullptr;
  const jint code = onDevice(ordinal, [&] { return device::endCapture(streamOf(stream), graph); });
  return code == 0 ? reinterpret_cast<jlong>(graph) : 0;
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeDevice_replay(JNIEnv*, jclass, jint ordinal, jlong graph,
                                                                  jlong stream) {
  return onDevice(ordinal,
                  [&] { return device::launchGraph(reinterpret_cast<device::Graph>(graph), streamOf(stream)); });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_NativeDevice_destroyGraph(JNIEnv*, jclass, jint ordinal, jlong graph) {
  return onDevice(ordinal, [&] { return device::destroyGraph(reinterpret_cast<device::Graph>(graph)); });
}
