// Creates a multicast object for the ranks behind one NVLink switch, and joins it.
#include <unistd.h>

#include <cstring>

#include "cuda/runtime/device_communicator.h"
#include "cuda/runtime/retired_memory.h"

namespace jccl::device {
namespace {

constexpr uint64_t kMagic = 0x4a43434c4e564c31;  // "JCCLNVL1"

}  // namespace

// Sent to the other ranks by the rank that created the object.
struct DeviceCommunicator::MulticastIntroduction {
  uint64_t magic;
  uint64_t token[2];
  int64_t process;
  uint64_t handle;  // valid in process `process`
  uint64_t bytes;
  uint32_t slotBytes;
  int32_t channels;
  int32_t shareable;
  int32_t unused;
};

Status DeviceCommunicator::createMulticast(std::vector<uint8_t>& info) {
  const DeviceGuard guard(config_.device);
  Status status = guard.status();
  if (status && config_.size > MulticastChannel::kMaxRanks) {
    status = Status::invalid("size=" + std::to_string(config_.size) + ", expected at most " +
                             std::to_string(MulticastChannel::kMaxRanks) + " ranks for NVLS");
  }
  constexpr uint32_t kWide = 16;
  if (status && config_.nvlsSlotBytes < kWide * static_cast<uint32_t>(config_.size)) {
    status = Status::invalid("nvlsSlotBytes=" + std::to_string(config_.nvlsSlotBytes) + ", expected at least " +
                             std::to_string(kWide) + " for each of " + std::to_string(config_.size) + " ranks");
  }
  if (status) status = MulticastMemory::supported();
  if (status) {
    status = multicast_.create(config_.size, NvlsLaunch::memoryBytes(config_.channels, config_.nvlsSlotBytes),
                               !allInProcess_);
  }
  if (status && !allInProcess_) {
    int descriptor = -1;
    status = multicast_.exportDescriptor(descriptor);
    multicastDescriptor_.reset(descriptor);
  }
  if (!status) {
    dropMulticast();
    return noted(status);
  }
  MulticastIntroduction own{};
  own.magic = kMagic;
  own.token[0] = config_.token[0];
  own.token[1] = config_.token[1];
  own.process = ::getpid();
  own.handle = multicast_.handle();
  own.bytes = multicast_.bytes();
  own.slotBytes = config_.nvlsSlotBytes;
  own.channels = config_.channels;
  own.shareable = allInProcess_ ? 0 : 1;
  info.resize(sizeof own);
  std::memcpy(info.data(), &own, sizeof own);
  return Status::ok();
}

Status DeviceCommunicator::joinMulticast(std::span<const uint8_t> info, int descriptor) {
  const UniqueFd owned(descriptor);
  const DeviceGuard guard(config_.device);
  if (!guard.status()) return noted(guard.status());
  MulticastIntroduction theirs{};
  if (info.size() == sizeof theirs) std::memcpy(&theirs, info.data(), sizeof theirs);
  if (theirs.magic != kMagic || std::memcmp(theirs.token, config_.token, sizeof theirs.token) != 0 ||
      theirs.slotBytes != config_.nvlsSlotBytes || theirs.channels != config_.channels ||
      theirs.bytes < NvlsLaunch::memoryBytes(config_.channels, config_.nvlsSlotBytes)) {
    return noted(Status::transport(
        "the multicast object of another rank has infoBytes=" + std::to_string(info.size()) +
        " slotBytes=" + std::to_string(theirs.slotBytes) + " channels=" + std::to_string(theirs.channels) +
        " bytes=" + std::to_string(theirs.bytes) + ", expected slotBytes=" + std::to_string(config_.nvlsSlotBytes) +
        " channels=" + std::to_string(config_.channels) +
        "; all ranks must run the same library with the same JCCL_NVLS_CHUNKSIZE"));
  }
  Status status = MulticastMemory::supported();
  if (status && multicast_.handle() == 0) {
    if (owned) {
      status = multicast_.import(owned.get(), theirs.bytes);
    } else if (theirs.process == ::getpid()) {
      multicast_.open(theirs.handle, theirs.bytes, theirs.shareable != 0);
    } else {
      status = Status::transport("the descriptor of the multicast object was not received");
    }
  }
  if (status) status = multicast_.join();
  return noted(status);
}

Status DeviceCommunicator::bindMulticast() {
  const DeviceGuard guard(config_.device);
  Status status = guard.status();
  if (status) status = multicast_.bind();
  // Zeroes the flags before any rank can set one.
  if (status) status = fillAsync(multicast_.memory(), 0, multicast_.bytes(), stream_);
  if (status) status = synchronize(stream_);
  return noted(status);
}

void DeviceCommunicator::dropMulticast() {
  const DeviceGuard guard(config_.device);
  multicastDescriptor_.reset();
  RetiredMemory& retired = RetiredMemory::ofThisProcess();
  retired.retire(config_.device, std::move(multicast_));
  retired.collect();
}

}  // namespace jccl::device
