// Natives of io.jccl.nativelib.DeviceRegistration.
#include "cuda/jni/device_handle.h"
#include "io_jccl_nativelib_DeviceRegistration.h"

namespace {

using namespace jccl;
using namespace jccl::jni;

}  // namespace

JNIEXPORT jbyteArray JNICALL Java_io_jccl_nativelib_DeviceRegistration_describeBuffer(JNIEnv* env, jclass, jlong handle,
                                                                                      jlong address, jlong bytes) {
  return guarded<jbyteArray>(nullptr, [&]() -> jbyteArray {
    std::vector<uint8_t> info;
    const auto* memory = reinterpret_cast<const void*>(address);
    if (!communicatorOf(handle).describeBuffer(memory, static_cast<size_t>(bytes), info)) return nullptr;
    return newBytes(env, info.data(), info.size());
  });
}

JNIEXPORT jintArray JNICALL Java_io_jccl_nativelib_DeviceRegistration_takeBufferDescriptors(JNIEnv* env, jclass,
                                                                                            jlong handle) {
  return guarded<jintArray>(nullptr, [&]() -> jintArray {
    device::BufferDescriptors taken = communicatorOf(handle).takeBufferDescriptors();
    jintArray both = newInts(env, {taken.buffer.get(), taken.page.get()});
    if (both != nullptr) {
      (void)taken.buffer.release();
      (void)taken.page.release();
    }
    return both;
  });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceRegistration_openBuffer(JNIEnv* env, jclass, jlong handle,
                                                                             jint peer, jbyteArray info, jint buffer,
                                                                             jint page, jlong timeoutNanos) {
  device::BufferDescriptors got{UniqueFd(buffer), UniqueFd(page)};
  uint64_t here = 0;
  const jint code = guardedCode([&]() -> jint {
    std::vector<uint8_t> bytes;
    if (!copyBytes(env, info, bytes)) return static_cast<jint>(Code::Invalid);
    return codeOf(communicatorOf(handle).openBuffer(peer, bytes, std::move(got), timeoutNanos, here));
  });
  return code == 0 ? static_cast<jlong>(here) : code;
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceRegistration_useBuffer(JNIEnv* env, jclass, jlong handle,
                                                                            jlongArray there) {
  uint64_t number = 0;
  const jint code = guardedCode([&]() -> jint {
    std::vector<int64_t> addresses;
    if (!copyLongs(env, there, addresses)) return static_cast<jint>(Code::Invalid);
    return codeOf(communicatorOf(handle).useBuffer({addresses.begin(), addresses.end()}, number));
  });
  return code == 0 ? static_cast<jlong>(number) : code;
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceRegistration_dropBuffer(JNIEnv*, jclass, jlong handle,
                                                                            jlong timeoutNanos) {
  return guardedCode([&] { return codeOf(communicatorOf(handle).dropBuffer(timeoutNanos)); });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceRegistration_closeBuffer(JNIEnv*, jclass, jlong handle,
                                                                             jlong number, jlong timeoutNanos) {
  return guardedCode(
      [&] { return codeOf(communicatorOf(handle).closeBuffer(static_cast<uint64_t>(number), timeoutNanos)); });
}

JNIEXPORT jlong JNICALL Java_io_jccl_nativelib_DeviceRegistration_allocateWindow(JNIEnv*, jclass, jlong handle,
                                                                                 jlong bytes, jlong timeoutNanos) {
  return guarded<jlong>(static_cast<jlong>(Code::Internal), [&]() -> jlong {
    uint8_t* memory = nullptr;
    const Status status = communicatorOf(handle).allocateWindow(static_cast<size_t>(bytes), timeoutNanos, memory);
    return status ? reinterpret_cast<jlong>(memory) : codeOf(status);
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceRegistration_useWindow(JNIEnv* env, jclass, jlong handle,
                                                                           jlong address, jlongArray here,
                                                                           jlongArray there) {
  return guardedCode([&]() -> jint {
    std::vector<int64_t> ours, theirs;
    if (!copyLongs(env, here, ours) || !copyLongs(env, there, theirs)) return static_cast<jint>(Code::Invalid);
    return codeOf(communicatorOf(handle).useWindow(reinterpret_cast<const uint8_t*>(address),
                                                   {ours.begin(), ours.end()}, {theirs.begin(), theirs.end()}));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceRegistration_freeWindow(JNIEnv*, jclass, jlong handle,
                                                                            jlong address) {
  return guardedCode([&] { return codeOf(communicatorOf(handle).freeWindow(reinterpret_cast<uint8_t*>(address))); });
}
