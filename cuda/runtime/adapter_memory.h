// GPU memory that network adapters read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/fd.h"
#include "base/status.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_heap.h"
#include "cuda/runtime/device_segment.h"
#include "cuda/runtime/retired_memory.h"

namespace jccl::device {

// Memory that two owners share: the communicator whose kernels use it, and the host's engine, whose adapters may write
// into it until its connections have ended. The memory returns to the heap when both owners have released it.
class AdapterMemory {
 public:
  // Allocates memory of the current device from the heap, not initialised.
  static Status make(size_t bytes, std::shared_ptr<AdapterMemory>& memory) {
    auto made = std::make_shared<AdapterMemory>();
    const Status status =
        servesAdapters() ? HeapMemory::device(bytes, made->memory_) : HeapMemory::exportable(bytes, made->memory_);
    if (!status) return status;
    made->describe(made->memory_.base(), made->memory_.bytes());
    memory = std::move(made);
    return Status::ok();
  }
  // Returns an object that refers to a part of a segment of the current device, and keeps the segment.
  static std::shared_ptr<AdapterMemory> in(std::shared_ptr<DeviceSegment> segment, int device, size_t offset,
                                           size_t bytes) {
    auto made = std::make_shared<AdapterMemory>();
    made->describe(segment->base() + offset, bytes);
    made->segment_ = std::move(segment);
    made->device_ = device;
    return made;
  }
  AdapterMemory() = default;
  ~AdapterMemory() {
    if (segment_ == nullptr) return;
    DeviceNumbers users = segment_->users();
    RetiredMemory::ofThisProcess().retire(device_, std::move(users), std::move(segment_));
    RetiredMemory::ofThisProcess().collect();
  }
  AdapterMemory(const AdapterMemory&) = delete;
  AdapterMemory& operator=(const AdapterMemory&) = delete;

  uint8_t* base() const { return base_; }
  size_t bytes() const { return bytes_; }
  // Returns the dma-buf for the adapters' drivers. -1: the GPU's driver creates none; adapters may still know the
  // memory by its address.
  int dmabuf() const { return dmabuf_.get(); }
  // Keeps the memory out of the heap for good, because a kernel may still use it.
  void leak() { memory_.leak(); }

 private:
  void describe(uint8_t* base, size_t bytes) {
    base_ = base;
    bytes_ = bytes;
    int descriptor = -1;
    if (exportDmabuf(base, bytes, descriptor)) dmabuf_.reset(descriptor);
  }

  HeapMemory memory_;
  std::shared_ptr<DeviceSegment> segment_;
  int device_ = 0;
  uint8_t* base_ = nullptr;
  size_t bytes_ = 0;
  UniqueFd dmabuf_;
};

}  // namespace jccl::device
