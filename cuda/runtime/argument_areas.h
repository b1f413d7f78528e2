// Where a launch finds what does not fit into its descriptor: the tasks of an exchange, the counts of a v-form, the
// buffers of peers. Pinned memory that the kernels read in place, so that no copy has to be ordered with them; an area
// is used again when its operation is over.
#pragma once

#include <memory>
#include <vector>

#include "cuda/kernels/launch.h"
#include "cuda/runtime/device_heap.h"

namespace jccl::device {

class ArgumentArea {
 public:
  Status make(size_t bytes) { return HeapMemory::pinned(bytes, memory_); }
  size_t bytes() const { return memory_.bytes(); }
  uint8_t* base() const { return memory_.base(); }

 private:
  HeapMemory memory_;
};

// The arguments of one launch: in its descriptor, or in an area where it was given one.
class LaunchArguments {
 public:
  // Where the host writes values, and what the descriptor has for a pointer to them.
  template <class T>
  struct Placed {
    T* here;
    T* there;
  };

  LaunchArguments(InlineArguments& inlined, ArgumentArea* area) : inlined_(inlined), area_(area) {}

  // Space for so many values; there has to be enough.
  template <class T>
  Placed<T> put(size_t count) {
    used_ = (used_ + kAlignment - 1) / kAlignment * kAlignment;
    const size_t begin = used_;
    used_ += count * sizeof(T);
    if (area_ == nullptr) {
      return {reinterpret_cast<T*>(inlined_.bytes + begin), InlineArguments::place<T>(begin)};
    }
    T* place = reinterpret_cast<T*>(area_->base() + begin);
    return {place, place};
  }
  template <class T>
  static size_t bytesFor(size_t count) {
    return (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }

 private:
  static constexpr size_t kAlignment = 16;
  InlineArguments& inlined_;
  ArgumentArea* area_;
  size_t used_ = 0;
};

// The areas of one communicator; by one thread at a time.
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
  // A free one of at least so many bytes; null if there is none.
  std::unique_ptr<ArgumentArea> take(size_t bytes) {
    for (auto& candidate : free_) {
      if (candidate->bytes() < bytes) continue;
      std::unique_ptr<ArgumentArea> area = std::move(candidate);
      candidate = std::move(free_.back());
      free_.pop_back();
      return area;
    }
    return nullptr;
  }
  void giveBack(std::unique_ptr<ArgumentArea> area) {
    if (area != nullptr) free_.push_back(std::move(area));
  }

 private:
  std::vector<std::unique_ptr<ArgumentArea>> free_;
};

}  // namespace jccl::device
