// Buffers of the application on which ranks of several processes work in place: each is mapped by the processes of all others.
//
// All ranks register together: each describes its buffer, opens those of its peers, and uses them when all have opened all. An
// allocation of a peer is opened once, however many buffers lie in it. By the thread that issues operations.
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
  // What was opened of other processes; closed when no buffer needs it any more.
  using Opened = std::vector<std::shared_ptr<PeerMemory>>;

  RegisteredBuffers(int rank, int size) : rank_(rank), size_(size) {}

  // Begins to register memory of a device: what the peers need, and a descriptor for those of other processes; none where they
  // open a handle. The caller holds the guard of the device.
  Status describe(const MemoryRange& memory, int device, std::vector<uint8_t>& info, UniqueFd& descriptor);
  // Opens a peer's, by what it wrote; `here`: the address of its buffer in this process.
  Status open(int peer, bool inProcess, std::span<const uint8_t> info, UniqueFd descriptor, uint64_t& here);
  // All ranks have opened all; `there`: the address of this rank's buffer in the process of each peer.
  Status use(std::vector<uint64_t> there, uint64_t& number);
  // What was described is not used; the caller retires what it had opened.
  Opened drop() { return std::exchange(next_, {}).opened; }
  // A buffer is not used any more; false if there is none of this number.
  bool close(uint64_t number, Opened& opened);
  // None is; what all had opened.
  Opened closeAll();

  bool empty() const { return buffers_.empty(); }
  // Where the peers have a range of an allocation; false if no buffer covers it.
  bool find(const MemoryRange& memory, uint64_t allocation, std::vector<uint64_t>& there) const;

 private:
  struct Introduction;
  struct Buffer {
    MemoryRange memory;
    uint64_t allocation = 0;  // as the driver numbers it: never another's
    Opened opened;
    std::vector<uint64_t> there;  // by peer
  };

  const int rank_, size_;
  Buffer next_;  // the one that is being registered
  std::map<uint64_t, Buffer> buffers_;
  uint64_t numbers_ = 0;
  std::map<std::pair<int, uint64_t>, std::weak_ptr<PeerMemory>> known_;  // by peer and allocation
};

}  // namespace jccl::device
