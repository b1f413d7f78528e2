// Memory of a GPU that network adapters read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/fd.h"
#include "base/status.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_heap.h"

namespace jccl::device {

// Has two owners: the communicator whose kernels use it, and the host's engine, whose adapters may write into it until its
// connections have ended. Only then it goes back to the heap.
class AdapterMemory {
 public:
  // Of the current device, not initialised.
  static Status make(size_t bytes, std::shared_ptr<AdapterMemory>& memory) {
    auto made = std::make_shared<AdapterMemory>();
    if (Status status = HeapMemory::device(bytes, made->memory_); !status) return status;
    int descriptor = -1;
    if (exportDmabuf(made->base(), made->bytes(), descriptor)) made->dmabuf_.reset(descriptor);
    memory = std::move(made);
    return Status::ok();
  }

  uint8_t* base() const { return memory_.base(); }
  size_t bytes() const { return memory_.bytes(); }
  // For the adapters' drivers; -1 where the GPU's driver makes none, and they may know the memory by its address.
  int dmabuf() const { return dmabuf_.get(); }
  // Never goes back: a kernel may still use it.
  void leak() { memory_.leak(); }

 private:
  HeapMemory memory_;
  UniqueFd dmabuf_;
};

}  // namespace jccl::device
