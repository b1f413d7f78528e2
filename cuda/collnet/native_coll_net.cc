// Natives of io.jccl.collnet.NativeDeviceCollNet.
#include "cuda/collnet/coll_net_algorithm.h"
#include "cuda/jni/device_handle.h"
#include "io_jccl_collnet_NativeDeviceCollNet.h"
#include "jni/rows.h"

namespace {

using namespace jccl;
using namespace jccl::jni;

device::CollNetAlgorithm& collNetOf(jlong handle) { return communicatorOf(handle).added<device::CollNetAlgorithm>(); }

}  // namespace

JNIEXPORT jint JNICALL Java_io_jccl_collnet_NativeDeviceCollNet_setChain(JNIEnv* env, jclass, jlong handle,
                                                                         jint channel, jintArray place) {
  return guardedCode([&]() -> jint {
    std::vector<int32_t> at;
    if (!copyInts(env, place, at) || at.size() != 6) return static_cast<jint>(Code::Invalid);
    return codeOf(collNetOf(handle).setChain(channel, {at[0], at[1], at[2], at[3], at[4], at[5]}));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_collnet_NativeDeviceCollNet_setHostTree(JNIEnv* env, jclass, jlong handle,
                                                                            jint channel, jint up, jintArray down) {
  return guardedCode([&]() -> jint {
    std::vector<int32_t> children;
    if (!copyInts(env, down, children)) return static_cast<jint>(Code::Invalid);
    return codeOf(collNetOf(handle).setHostTree(channel, up, children));
  });
}

JNIEXPORT jint JNICALL Java_io_jccl_collnet_NativeDeviceCollNet_connect(JNIEnv* env, jclass, jlong handle,
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

JNIEXPORT void JNICALL Java_io_jccl_collnet_NativeDeviceCollNet_drop(JNIEnv*, jclass, jlong handle) {
  guarded<bool>(false, [&] {
    collNetOf(handle).drop();
    return true;
  });
}
