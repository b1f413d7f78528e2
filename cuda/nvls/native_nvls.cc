// Natives of io.jccl.nvls.NativeNvls.
#include "cuda/jni/device_handle.h"
#include "cuda/nvls/nvls_algorithm.h"
#include "cuda/nvls/nvls_kernels.h"
#include "io_jccl_nvls_NativeNvls.h"

namespace {

using namespace jccl;
using namespace jccl::jni;

device::NvlsAlgorithm& nvlsOf(jlong handle) { return communicatorOf(handle).added<device::NvlsAlgorithm>(); }

}  // namespace

JNIEXPORT jbyteArray JNICALL Java_io_jccl_nvls_NativeNvls_create(JNIEnv* env, jclass, jlong handle, jint slotBytes) {
  return guarded<jbyteArray>(nullptr, [&]() -> jbyteArray {
    std::vector<uint8_t> info;
    if (!nvlsOf(handle).create(static_cast<uint32_t>(slotBytes), info)) return nullptr;
    return newBytes(env, info.data(), info.size());
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nvls_NativeNvls_takeDescriptor(JNIEnv*, jclass, jlong handle) {
  return guarded<jint>(-1, [&] { return nvlsOf(handle).takeDescriptor(); });
}

JNIEXPORT jint JNICALL Java_io_jccl_nvls_NativeNvls_join(JNIEnv* env, jclass, jlong handle, jint slotBytes,
                                                         jbyteArray info, jint descriptor) {
  UniqueFd owned(descriptor);
  return guardedCode([&]() -> jint {
    std::vector<uint8_t> bytes;
    if (!copyBytes(env, info, bytes)) return static_cast<jint>(Code::Invalid);
    return codeOf(nvlsOf(handle).join(static_cast<uint32_t>(slotBytes), bytes, owned.release()));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nvls_NativeNvls_bind(JNIEnv*, jclass, jlong handle) {
  return guardedCode([&] { return codeOf(nvlsOf(handle).bind()); });
}

JNIEXPORT jint JNICALL Java_io_jccl_nvls_NativeNvls_test(JNIEnv*, jclass, jlong handle, jlong timeoutNanos) {
  return guardedCode([&] { return codeOf(nvlsOf(handle).test(timeoutNanos)); });
}

JNIEXPORT void JNICALL Java_io_jccl_nvls_NativeNvls_drop(JNIEnv*, jclass, jlong handle) {
  guarded<bool>(false, [&] {
    nvlsOf(handle).drop();
    return true;
  });
}

JNIEXPORT jbyteArray JNICALL Java_io_jccl_nvls_NativeNvls_createWindow(JNIEnv* env, jclass, jlong handle,
                                                                       jlong window) {
  return guarded<jbyteArray>(nullptr, [&]() -> jbyteArray {
    std::vector<uint8_t> info;
    if (!nvlsOf(handle).createWindow(reinterpret_cast<const uint8_t*>(window), info)) return nullptr;
    return newBytes(env, info.data(), info.size());
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nvls_NativeNvls_joinWindow(JNIEnv* env, jclass, jlong handle, jlong window,
                                                               jbyteArray info, jint descriptor) {
  UniqueFd owned(descriptor);
  return guardedCode([&]() -> jint {
    std::vector<uint8_t> bytes;
    if (!copyBytes(env, info, bytes)) return static_cast<jint>(Code::Invalid);
    return codeOf(nvlsOf(handle).joinWindow(reinterpret_cast<const uint8_t*>(window), bytes, owned.release()));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nvls_NativeNvls_bindWindow(JNIEnv*, jclass, jlong handle, jlong window) {
  return guardedCode([&] { return codeOf(nvlsOf(handle).bindWindow(reinterpret_cast<const uint8_t*>(window))); });
}

JNIEXPORT void JNICALL Java_io_jccl_nvls_NativeNvls_dropWindow(JNIEnv*, jclass, jlong handle, jlong window) {
  guarded<bool>(false, [&] {
    nvlsOf(handle).dropWindow(reinterpret_cast<const uint8_t*>(window));
    return true;
  });
}

JNIEXPORT jboolean JNICALL Java_io_jccl_nvls_NativeNvls_executes(JNIEnv*, jclass, jint operation) {
  return device::nvlsExecutes(OperationCode::decode(operation)) ? JNI_TRUE : JNI_FALSE;
}
