// Natives of io.jccl.nativelib.DeviceEngine for CollNet.
#include "cuda/collnet/coll_net_algorithm.h"
#include "cuda/jni/device_handle.h"
#include "io_jccl_nativelib_DeviceEngine.h"
#include "jni/rows.h"

namespace {

using namespace jccl;
using namespace jccl::jni;

device::CollNetAlgorithm& collNetOf(jlong handle) { return communicatorOf(handle).added<device::CollNetAlgorithm>(); }

}  // namespace

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceEngine_setChain(JNIEnv*, jclass, jlong handle, jint channel,
                                                                    jint up, jint down, jint after, jint before,
                                                                    jint ranks, jint place) {
  return guardedCode([&] {
    return codeOf(collNetOf(handle).setChain(channel, {up, down, after, before, ranks, place}));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceEngine_setHostTree(JNIEnv* env, jclass, jlong handle, jint channel,
                                                                       jint up, jintArray down) {
  return guardedCode([&]() -> jint {
    std::vector<int32_t> children;
    if (!copyInts(env, down, children)) return static_cast<jint>(Code::Invalid);
    return codeOf(collNetOf(handle).setHostTree(channel, up, children));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_nativelib_DeviceEngine_connectCollNet(JNIEnv* env, jclass, jlong handle,
                                                                          jlongArray rows, jlong memory) {
  const std::unique_ptr<std::shared_ptr<const void>> shared(reinterpret_cast<std::shared_ptr<const void>*>(memory));
  return guardedCode([&]() -> jint {
    std::vector<int64_t> numbers;
    if (!copyLongs(env, rows, numbers) || numbers.empty()) return static_cast<jint>(Code::Invalid);
    const auto& common = *reinterpret_cast<const CollNetOffer*>(numbers[0]);
    const std::vector<StagedEnds> ends = stagedEnds(std::span<const int64_t>(numbers).subspan(1));
    return codeOf(collNetOf(handle).connect(ends, common, std::move(*shared)));
  });
}

JNIEXPORT void JNICALL Java_io_jccl_nativelib_DeviceEngine_dropCollNet(JNIEnv*, jclass, jlong handle) {
  guarded<bool>(false, [&] {
    collNetOf(handle).drop();
    return true;
  });
}
