// Reports of a rank on a GPU about itself, while its kernels run and after they have failed.
#include <algorithm>
#include <cmath>

#include "cuda/driver/driver.h"
#include "cuda/runtime/device_communicator.h"
#include "cuda/runtime/stream_owners.h"

namespace jccl::device {

std::string DeviceCommunicator::crowding() const {
  const int queues = driver::driver().hardwareQueues;
  const int streams = StreamOwners::ofThisProcess().countOn(config_.device);
  const std::string device = "device=" + std::to_string(config_.device);
  std::string text;
  if (streams > queues) {
    text = device + " streams=" + std::to_string(streams) + " hardwareQueues=" + std::to_string(queues) +
           ": ranks of this process use more streams than there are queues, and a kernel that waits holds up those "
           "behind it in its queue, of the rank for which it waits, too; set CUDA_DEVICE_MAX_CONNECTIONS=32 before "
           "anything uses the GPU, or use fewer streams";
  }
  SharedDevice& shared = SharedDevice::of(config_.device);
  const double shares = shared.sharesOfAll();
  if (shared.fits(shares)) return text;
  return text + (text.empty() ? "" : "; ") + device + " multiprocessors=" + std::to_string(shared.multiprocessors()) +
         ": the channels of all communicators of this process need " +
         std::to_string(static_cast<int>(std::ceil(shares))) +
         ", so operations that do not fit wait for those of other communicators that were issued before; issue the "
         "operations of all communicators in the same order on all ranks, or give communicators fewer channels "
         "(JCCL_MAX_NCHANNELS)";
}

size_t DeviceCommunicator::deviceBytes() const {
  size_t bytes = connections_.deviceBytes();
  for (const auto& one : added_) bytes += one->deviceBytes();
  return bytes;
}

std::string DeviceCommunicator::lastError() const {
  const std::string error = completion_.error();
  return describeFailure(failure(), error, "the time-out passed on the device", waiting());
}

std::vector<ChannelWait> DeviceCommunicator::waiting() const {
  std::vector<ChannelWait> waits;
  for (int channel = 0; channel < config_.channels; ++channel) {
    const ProgressRecord& record = completion_.records()[channel];
    const uint64_t sequence = __atomic_load_n(&record.sequence, __ATOMIC_ACQUIRE);
    if (sequence == 0) continue;
    WaitPlace place = ProgressRecord::decode(__atomic_load_n(&record.place, __ATOMIC_RELAXED));
    if (place.peer == config_.size) {  // the channel waits for its extra end
      for (const auto& one : added_) one->locate(channel, place);
    }
    waits.push_back(
        {channel, place, sequence - 1, static_cast<int64_t>(__atomic_load_n(&record.waitedNanos, __ATOMIC_RELAXED))});
  }
  return waits;
}

}  // namespace jccl::device
