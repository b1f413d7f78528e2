// Memory of this rank's device that all ranks of a communicator have allocated together: a rank knows at which address
// it reaches the windows of all peers. Used by the thread that issues operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "cuda/runtime/device_operation.h"
#include "cuda/runtime/device_segment.h"

namespace jccl::device {

class SymmetricWindows {
 public:
  // Adds memory that this rank has allocated.
  void add(std::shared_ptr<DeviceSegment> memory);
  // Lets operations use a window: all ranks do this together. `here` and `there` are the addresses of a WindowPlace.
  Status use(const uint8_t* memory, std::vector<uint64_t> here, std::vector<uint64_t> there);
  // Returns the memory of a window; null if there is none.
  const DeviceSegment* memoryOf(const uint8_t* memory) const {
    const auto found = windows_.find(memory);
    return found == windows_.end() ? nullptr : found->second.memory.get();
  }
  // Removes a window, and returns its memory; null if there is none.
  std::shared_ptr<DeviceSegment> remove(const uint8_t* memory);
  // Removes all windows, and returns their memory.
  std::vector<std::shared_ptr<DeviceSegment>> removeAll();

  // Returns true if a window was ever used; equal on all ranks between the same operations.
  bool everUsed() const { return used_ != 0; }
  // Returns the place of a range, if it is in a window that is used.
  WindowPlace find(const MemoryRange& range) const;

 private:
  struct Window {
    std::shared_ptr<DeviceSegment> memory;
    uint32_t number = 0;  // 0 until the window is used
    std::vector<uint64_t> here, there;
  };

  std::map<const uint8_t*, Window> windows_;  // by address
  uint32_t used_ = 0;                         // number of windows that were ever used
};

}  // namespace jccl::device
