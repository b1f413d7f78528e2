#include "engine/shared_heap.h"

#include <algorithm>
#include <string>

namespace jccl {

SharedHeap& SharedHeap::ofThisProcess() {
  // Never destroyed: buffers may be freed while the process ends.
  static SharedHeap* heap = new SharedHeap();
  return *heap;
}

Status SharedHeap::allocate(size_t bytes, void*& memory) {
  const std::lock_guard lock(mutex_);
  if (registry_ == nullptr) {
    if (Status status = ShmRegistry::acquire(&registry_); !status) return status;
  }
  auto segment = std::make_shared<ShmSegment>();
  if (Status status = ShmSegment::create("HostBuffer", std::max<size_t>(bytes, 1), ShmBacking::Auto, segment.get());
      !status) {
    return status;
  }
  memory = segment->address();
  ids_[memory] = registry_->add(std::move(segment));
  return Status::ok();
}

Status SharedHeap::free(void* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = ids_.find(memory);
  if (found == ids_.end()) {
    return Status::invalid("address=" + std::to_string(reinterpret_cast<uintptr_t>(memory)) +
                           ": no buffer of sharedAlloc begins here, or it has been freed");
  }
  registry_->remove(found->second);
  ids_.erase(found);
  if (ids_.empty()) registry_.reset();
  return Status::ok();
}

}  // namespace jccl
