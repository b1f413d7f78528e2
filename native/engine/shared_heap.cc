#include "engine/shared_heap.h"

#include <string>
#include <utility>

#include "base/log.h"

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
  // The word behind the user's bytes shows processes that have mapped the segment that it is in use.
  if (Status status = ShmSegment::create("HostBuffer", bytes + sizeof(uint64_t), ShmBacking::Auto, segment.get());
      !status) {
    return status;
  }
  segment->markLive();
  memory = segment->address();
  const uint64_t id = registry_->add(segment);
  buffers_[memory] = {std::move(segment), id};
  return Status::ok();
}

Status SharedHeap::retire(void* memory) {
  const std::lock_guard lock(mutex_);
  std::map<void*, Buffer>::iterator found;
  if (Status status = find(memory, found); !status) return status;
  withdraw(found->second, true);
  return Status::ok();
}

Status SharedHeap::free(void* memory) {
  const std::lock_guard lock(mutex_);
  std::map<void*, Buffer>::iterator found;
  if (Status status = find(memory, found); !status) return status;
  withdraw(found->second, false);
  buffers_.erase(found);
  if (buffers_.empty()) registry_.reset();
  return Status::ok();
}

void SharedHeap::withdraw(Buffer& buffer, bool keepsAddresses) {
  if (buffer.id == 0) return;
  registry_->remove(std::exchange(buffer.id, 0));
  if (Status status = buffer.segment->discard(keepsAddresses); !status) {
    logMessage(LogLevel::Warn, "shm", "host buffer: its memory is given back later: " + status.message());
  }
}

Status SharedHeap::find(void* memory, std::map<void*, Buffer>::iterator& found) {
  found = buffers_.find(memory);
  if (found != buffers_.end()) return Status::ok();
  return Status::invalid("address=" + std::to_string(reinterpret_cast<uintptr_t>(memory)) +
                         ": no buffer of sharedAlloc begins here, or it has been freed");
}

}  // namespace jccl
