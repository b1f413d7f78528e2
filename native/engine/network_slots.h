// The memory of a rank's network connections: the slots of both ends in memory of the host, and the data of SIMPLE slots
// in memory of a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/mapped_memory.h"
#include "base/status.h"
#include "engine/staging.h"
#include "primitives/connection.h"
#include "transport/net_transport.h"

namespace jccl {

// One thread at a time may call it; any thread may call bytes() at any time.
class NetworkSlots {
 public:
  explicit NetworkSlots(const ConnectionShape& shape) : shape_(shape) {}

  // Allocates the slots of one end of a connection, with the layout of a block in the segment. The operating system
  // provides their pages at first use.
  Status make(ConnectionMemory& end) { return make(shape_, end); }
  Status make(const ConnectionShape& shape, ConnectionMemory& end);
  ZeroCopySlot* makeZeroCopySlots();

  // Puts SIMPLE slots into memory of a GPU, which must outlive this object. Must precede reach().
  Status useDevice(DeviceSlots slots);
  // Registers the memory of the GPU with the network. If that fails, connections use memory of the host, and a warning
  // is logged. Each end of a connection decides alone, because it need not know where the slots of the other end are.
  void reach(NetTransport& network);
  // Returns the GPU's memory for a connection; null if its slots are in memory of the host.
  uint8_t* onDevice(int peer, int channel, bool sends) const;

  size_t bytes() const;
  // Adds the memory of all slots of the host.
  void addTo(std::vector<std::shared_ptr<const void>>& all) const;

 private:
  const ConnectionShape shape_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<MappedMemory>> memory_;  // guarded by `mutex_`
  std::vector<std::unique_ptr<ZeroCopySlot[]>> zeroCopySlots_;
  DeviceSlots device_;
};

}  // namespace jccl
