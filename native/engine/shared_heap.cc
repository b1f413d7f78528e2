#include "engine/shared_heap.h"

#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "base/log.h"
#include "transport/registration_refusal.h"

namespace jccl {
namespace {

// Huge pages take memory for the whole buffer, also for parts that are never used. A buffer larger than a quarter of
// the available memory gets none, as other programs may need that memory.
constexpr size_t kMaxPartOfMemory = 4;
// a smaller buffer always gets huge pages, without reading /proc/meminfo
constexpr size_t kAlwaysBytes = size_t{64} << 20;

bool fitsAtOnce(size_t bytes) {
  if (bytes <= kAlwaysBytes) return true;
  std::ifstream facts("/proc/meminfo");
  std::string name;
  size_t kib = 0;
  for (std::string line; std::getline(facts, line);) {
    std::istringstream words(line);
    if (words >> name >> kib && name == "MemAvailable:") return bytes / 1024 <= kib / kMaxPartOfMemory;
  }
  return false;
}

}  // namespace

SharedHeap& SharedHeap::ofThisProcess() {
  // Never destroyed: buffers may be freed while the process ends.
  static SharedHeap* heap = new SharedHeap();
  return *heap;
}

Status SharedHeap::allocate(size_t bytes, void*& memory) {
  const std::lock_guard lock(mutex_);
  if (Status status = start(); !status) return status;
  auto segment = std::make_shared<ShmSegment>();
  // A word after the user's bytes shows other processes that the segment is in use.
  if (Status status = ShmSegment::create("HostBuffer", bytes + sizeof(uint64_t), ShmBacking::Auto, segment.get());
      !status) {
    return status;
  }
  if (fitsAtOnce(bytes)) segment->takeHugePages(0, bytes);
  segment->markLive();
  memory = segment->address();
  const uint64_t id = registry_->add(segment);
  buffers_[memory] = {std::move(segment), id};
  return Status::ok();
}

Status SharedHeap::start() { return registry_ == nullptr ? ShmRegistry::acquire(&registry_) : Status::ok(); }

void SharedHeap::stopUnlessUsed() {
  if (buffers_.empty() && adopted_.empty()) registry_.reset();
}

Status SharedHeap::adopt(const void* address, size_t bytes, uint64_t& id) {
  const std::lock_guard lock(mutex_);
  if (Status status = start(); !status) return status;
  Status status = adoptUnlocked(address, bytes, id);
  if (!status) stopUnlessUsed();
  return status;
}

Status SharedHeap::adoptUnlocked(const void* address, size_t bytes, uint64_t& id) {
  if (registry_->overlaps(address, bytes)) return refusal::registeredAlready(address, bytes);
  if (bytes < refusal::kMinBytes) return refusal::tooSmall(address, bytes);
  MallocChunk chunk;
  if (Status status = MallocChunk::of(address, bytes, chunk); !status) return status;
  std::unique_ptr<AdoptedMemory> made;
  if (Status status = AdoptedMemory::adopt(chunk, made); !status) return status;
  std::shared_ptr<AdoptedMemory> memory = std::move(made);
  id = registry_->add(memory);
  adopted_[id] = std::move(memory);
  return Status::ok();
}

Status SharedHeap::giveBack(uint64_t id, bool& freed) {
  const std::lock_guard lock(mutex_);
  const auto found = adopted_.find(id);
  if (found == adopted_.end()) return Status::invalid("registration=" + std::to_string(id) + ": it has been closed");
  if (Status status = found->second->giveBack(freed); !status) return status;
  registry_->remove(id);
  adopted_.erase(found);
  stopUnlessUsed();
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
  stopUnlessUsed();
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
