#include "engine/network_slots.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"

namespace jccl {

Status NetworkSlots::make(const ConnectionShape& shape, ConnectionMemory& end) {
  auto memory = std::make_shared<MappedMemory>();
  if (Status status = MappedMemory::mapAnonymous(shape.blockBytes(), *memory); !status) return status;
  end = {memory->base(), reinterpret_cast<HeadLine*>(memory->base() + shape.headOffset()), shape};
  const std::lock_guard lock(mutex_);
  memory_.push_back(std::move(memory));
  return Status::ok();
}

ZeroCopySlot* NetworkSlots::makeZeroCopySlots() { return zeroCopySlots_.emplace_back(new ZeroCopySlot[kSlots]).get(); }

Status NetworkSlots::useDevice(DeviceSlots slots) {
  const size_t needed = slots.uses.size() * shape_.simpleSlotsBytes();
  if (slots.memory.bytes < needed) {
    return Status::invalid("device slots: bytes=" + std::to_string(slots.memory.bytes) + ", expected at least " +
                           std::to_string(needed) + " for connections=" + std::to_string(slots.uses.size()));
  }
  device_ = std::move(slots);
  return Status::ok();
}

void NetworkSlots::reach(NetTransport& network) {
  if (device_.uses.empty()) return;
  std::set<int> adapters;
  for (const DeviceSlots::Use& use : device_.uses) adapters.insert(use.adapter);
  const Status reached = network.setDeviceMemory(device_.memory, adapters);
  const std::string connections = "connections=" + std::to_string(device_.uses.size());
  if (reached) {
    logMessage(LogLevel::Info, "net", "GPUDirect RDMA: " + connections + " have their slots in memory of the GPU");
    return;
  }
  logMessage(LogLevel::Warn, "net",
             "GPUDirect RDMA: " + connections + " go through memory of the host instead: " + reached.message());
  device_ = {};
}

uint8_t* NetworkSlots::onDevice(int peer, int channel, bool sends) const {
  const auto& uses = device_.uses;
  const auto found = std::find_if(uses.begin(), uses.end(), [&](const DeviceSlots::Use& use) {
    return use.peer == peer && use.channel == channel && use.sends == sends;
  });
  if (found == uses.end()) return nullptr;
  return static_cast<uint8_t*>(device_.memory.address) +
         static_cast<size_t>(found - uses.begin()) * shape_.simpleSlotsBytes();
}

size_t NetworkSlots::bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& memory : memory_) bytes += memory->bytes();
  return bytes;
}

void NetworkSlots::addTo(std::vector<std::shared_ptr<const void>>& all) const {
  const std::lock_guard lock(mutex_);
  all.insert(all.end(), memory_.begin(), memory_.end());
}

}  // namespace jccl
