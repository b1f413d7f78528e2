// Where a launch finds what does not fit into its descriptor: the tasks of an exchange, the counts of a v-form, the
// buffers of peers. Pinned memory that the kernels read in place, so that no copy has to be ordered with them; an area
// is used again when its operation is over.
#pragma once

#include <memory>
#include <vector>

#include "cuda/runtime/device_heap.h"

namespace jccl::device {

class ArgumentArea {
 public:
  Status make(size_t bytes) {
    used_ = 0;
    return HeapMemory::pinned(bytes, memory_);
  }
  size_t bytes() const { return memory_.bytes(); }
  void clear() { used_ = 0; }
  // Space for so many values; the area was taken for enough.
  template <class T>
  T* put(size_t count) {
    used_ = (used_ + kAlignment - 1) / kAlignment * kAlignment;
    T* place = memory_.as<T>(used_);
    used_ += count * sizeof(T);
    return place;
  }
  template <class T>
  static size_t bytesFor(size_t count) {
    return count * sizeof(T) + kAlignment;
  }

 private:
  static constexpr size_t kAlignment = 16;
  HeapMemory memory_;
  size_t used_ = 0;
};

// Those of one communicator; by one thread at a time.
class ArgumentAreas {
 public:
  // So many areas of this size from the beginning: to make one later may wait for the device.
  Status provide(int count, size_t bytes) {
    for (int i = 0; i < count; ++i) {
      auto area = std::make_unique<ArgumentArea>();
      if (Status status = area->make(bytes); !status) return status;
      free_.push_back(std::move(area));
    }
    return Status::ok();
  }
  Status take(size_t bytes, std::unique_ptr<ArgumentArea>& area) {
    for (auto& candidate : free_) {
      if (candidate->bytes() < bytes) continue;
      area = std::move(candidate);
      candidate = std::move(free_.back());
      free_.pop_back();
      area->clear();
      return Status::ok();
    }
    area = std::make_unique<ArgumentArea>();
    return area->make(bytes);
  }
  void giveBack(std::unique_ptr<ArgumentArea> area) {
    if (area != nullptr) free_.push_back(std::move(area));
  }

 private:
  std::vector<std::unique_ptr<ArgumentArea>> free_;
};

}  // namespace jccl::device
