// Buffers of the application on which ranks of several processes work in place. Every process maps the buffers of all
// other processes.
//
// All ranks register together: each describes its buffer, opens the buffers of its peers, and uses them when all ranks
// have opened all buffers. A peer's allocation is opened once, however many buffers are in it. Used by the thread that
// issues operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "cuda/runtime/device_operation.h"
#include "cuda/runtime/device_segment.h"

namespace jccl::device {

class RegisteredBuffers {
 public:
  // Memory of other processes that was opened; closed when no buffer needs it any more.
  using Opened = std::vector<std::shared_ptr<PeerMemory>>;

  RegisteredBuffers(int rank, int size) : rank_(rank), size_(size) {}

  // Begins to register memory of a device. Writes `info` for the peers, and sets `descriptor` to a descriptor for other
  // processes; `descriptor` stays empty if they open a legacy handle. The caller holds the guard of the device.
  Status describe(const MemoryRange& memory, int device, std::vector<uint8_t>& info, UniqueFd& descriptor);
  // Opens a peer's buffer by its `info`. Sets `here` to the address of the buffer in this process.
  Status open(int peer, bool inProcess, std::span<const uint8_t> info, UniqueFd descriptor, uint64_t& here);
  // Completes the registration when all ranks have opened all buffers. `there` contains, by peer, the address of this
  // rank's buffer in the peer's process. Sets `number` to the number of the buffer.
  Status use(std::vector<uint64_t> there, uint64_t& number);
  // Cancels the registration. Returns the memory that was opened for it, which the caller retires.
  Opened drop() { return std::exchange(next_, {}).opened; }
  // Ends the use of a buffer. Sets `opened` to the memory that was opened for it; returns false if no buffer has this
  // number.
  bool close(uint64_t number, Opened& opened);
  // Ends the use of all buffers. Returns the memory that was opened for them.
  Opened closeAll();

  bool empty() const { return buffers_.empty(); }
  // Sets `there` to the addresses of a range of an allocation in the peers' processes. Returns false if no buffer
  // covers the range.
  bool find(const MemoryRange& memory, uint64_t allocation, std::vector<uint64_t>& there) const;

 private:
  struct Introduction;
  struct Buffer {
    MemoryRange memory;
    uint64_t allocation = 0;  // number of the allocation, unique in the life of the process
    Opened opened;
    std::vector<uint64_t> there;  // by peer
  };

  const int rank_, size_;
  Buffer next_;  // the buffer that is being registered
  std::map<uint64_t, Buffer> buffers_;
  uint64_t numbers_ = 0;
  std::map<std::pair<int, uint64_t>, std::weak_ptr<PeerMemory>> known_;  // by peer and allocation
};

}  // namespace jccl::device
