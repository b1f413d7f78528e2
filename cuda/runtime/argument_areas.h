// Memory for the arguments of a launch that do not fit into its descriptor: tasks of an exchange, counts of a v-form,
// buffers of peers. It is pinned memory that the kernels read directly, so no copy has to be ordered with them. An area
// is used again when its operation has ended.
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

// The arguments of one launch, in its descriptor or in an area.
class LaunchArguments {
 public:
  // Pointers to placed values: the host writes them through `here`; the descriptor contains `there`.
  template <class T>
  struct Placed {
    T* here;
    T* there;
  };

  LaunchArguments(InlineArguments& inlined, ArgumentArea* area) : inlined_(inlined), area_(area) {}

  // Places `count` values. The caller ensures that there is enough space.
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

// The areas of one communicator. Used by one thread at a time.
class ArgumentAreas {
 public:
  // Creates `count` areas in advance, because creating one later may wait for the device.
  Status provide(int count, size_t bytes) {
    for (int i = 0; i < count; ++i) {
      auto area = std::make_unique<ArgumentArea>();
      if (Status status = area->make(bytes); !status) return status;
      free_.push_back(std::move(area));
    }
    return Status::ok();
  }
  // Returns a free area of at least `bytes`; null if there is none.
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
