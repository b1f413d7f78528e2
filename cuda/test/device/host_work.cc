#include "cuda/test/device/host_work.h"

#include "cuda/test/device/emulated_driver.h"
#include "cuda/test/device/stream_captures.h"

int jccl_emulated_host_work(void* stream, JcclHostWork work, void* data) {
  using namespace jccl::emulator;
  jccl::driver::Result result = jccl::driver::Result::Success;
  EmulatedGpu::Stream* known =
      EmulatedDriver::ofThisProcess().streamOf(static_cast<jccl::driver::Stream>(stream), result);
  if (known == nullptr) return static_cast<int>(result);
  if (result = usable(known); result != jccl::driver::Result::Success) return static_cast<int>(result);
  StreamCaptures::ofThisProcess().put(known);
  return EmulatedGpu::ofThisProcess().hold(known, [=] { return work(data) != 0; }) ? 0 : 1;
}
