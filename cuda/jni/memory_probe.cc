// Natives of io.jccl.nativelib.MemoryProbe.
#include "cuda/jni/device_handle.h"
#include "cuda/runtime/peer_probe.h"
#include "io_jccl_nativelib_MemoryProbe.h"

#define JAVA(name) io_jccl_nativelib_MemoryProbe_##name

namespace {

using namespace jccl;
using namespace jccl::jni;

}  // namespace

static_assert(JAVA(STEPS) == device::DeviceCommunicator::kProbeSteps);
static_assert(JAVA(READS) == device::PeerProbe::kReads && JAVA(WRITES) == device::PeerProbe::kWrites);

JNIEXPORT jbyteArray JNICALL Java_io_jccl_nativelib_MemoryProbe_probe(JNIEnv* env, jclass, jlong handle, jint step,
                                                                      jintArray peers, jlong timeoutNanos) {
  return guarded<jbyteArray>(nullptr, [&]() -> jbyteArray {
    std::vector<int32_t> ranks;
    std::vector<uint8_t> failures;
    if (!copyInts(env, peers, ranks)) return nullptr;
    if (!communicatorOf(handle).probe(step, ranks, timeoutNanos, failures)) return nullptr;
    return newBytes(env, failures.data(), failures.size());
  });
}
