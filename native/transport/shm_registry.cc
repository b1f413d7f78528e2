#include "transport/shm_registry.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "transport/shm_client.h"
#include "transport/shm_server.h"

namespace jccl {

Status ShmRegistry::acquire(std::shared_ptr<ShmRegistry>* registry) {
  static std::mutex mutex;
  static std::weak_ptr<ShmRegistry> current;
  const std::lock_guard lock(mutex);
  std::shared_ptr<ShmRegistry> alive = current.lock();
  // A forked child has inherited the registry but not the server's thread, so the child makes a registry of its own.
  if (alive == nullptr || alive->process_.pid != static_cast<uint32_t>(::getpid())) {
    alive.reset(new ShmRegistry());
    if (Status made = ShmProcess::ofThisProcess(&alive->process_); !made) return made;
    ShmRegistry* self = alive.get();
    alive->server_ = std::make_unique<ShmServer>(alive->process_, [self](uint64_t id) { return self->offer(id); });
    if (Status started = alive->server_->start(); !started) return started;
    current = alive;
  }
  *registry = std::move(alive);
  return Status::ok();
}

ShmRegistry::~ShmRegistry() = default;

uint64_t ShmRegistry::add(std::shared_ptr<ShmSegment> segment) {
  const std::lock_guard lock(mutex_);
  const uint64_t id = nextId_++;
  byAddress_[reinterpret_cast<uintptr_t>(segment->address())] = {id, segment->bytes(), 0, nullptr};
  byId_[id] = std::move(segment);
  return id;
}

uint64_t ShmRegistry::add(std::shared_ptr<AdoptedMemory> memory) {
  const std::lock_guard lock(mutex_);
  const uint64_t id = nextId_++;
  byId_[id] = memory->segment();
  const auto begin = reinterpret_cast<uintptr_t>(memory->begin());
  byAddress_[begin] = {id, memory->bytes(), memory->offset(), std::move(memory)};
  return id;
}

bool ShmRegistry::overlaps(const void* address, size_t bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  for (auto above = byAddress_.lower_bound(begin + bytes); above != byAddress_.begin();) {
    const auto& [start, place] = *--above;
    if (start + place.bytes > begin && (place.adopted == nullptr || place.adopted->isInPlace())) return true;
  }
  return false;
}

uint64_t ShmRegistry::addDescriptor(UniqueFd fd) {
  const std::lock_guard lock(mutex_);
  const uint64_t id = nextId_++;
  descriptors_[id] = std::make_shared<const UniqueFd>(std::move(fd));
  return id;
}

void ShmRegistry::remove(uint64_t id) {
  std::shared_ptr<ShmSegment> last;  // destroyed, and so unmapped, after the lock is released
  const std::lock_guard lock(mutex_);
  descriptors_.erase(id);
  const auto found = byId_.find(id);
  if (found == byId_.end()) return;
  last = std::move(found->second);
  std::erase_if(byAddress_, [id](const auto& one) { return one.second.id == id; });
  byId_.erase(found);
}

void ShmRegistry::withdraw(uint64_t id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = byId_.find(id); found != byId_.end()) found->second->closeDescriptor();
}

std::shared_ptr<ShmSegment> ShmRegistry::segment(uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = byId_.find(id);
  return found == byId_.end() ? nullptr : found->second;
}

ShmOffer ShmRegistry::offer(uint64_t id) const {
  const std::lock_guard lock(mutex_);
  if (const auto segment = byId_.find(id); segment != byId_.end()) {
    // Copies the descriptor, because the segment closes its own when its memory is discarded.
    auto copy = std::make_shared<const UniqueFd>(::fcntl(segment->second->fd(), F_DUPFD_CLOEXEC, 0));
    const int fd = copy->get();
    return {std::move(copy), fd, segment->second->bytes(), fd < 0 && segment->second->fd() >= 0};
  }
  const auto found = descriptors_.find(id);
  return found == descriptors_.end() ? ShmOffer{} : ShmOffer{found->second, found->second->get(), 0};
}

// Returns the place that contains all of the memory, or end().
ShmRegistry::Places::const_iterator ShmRegistry::holder(uintptr_t address, size_t bytes) const {
  auto found = byAddress_.upper_bound(address);
  if (found == byAddress_.begin()) return byAddress_.end();
  --found;
  const size_t offset = address - found->first;
  return offset > found->second.bytes || bytes > found->second.bytes - offset ? byAddress_.end() : found;
}

bool ShmRegistry::find(const void* address, size_t bytes, SharedRange* range) const {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  const auto found = holder(begin, bytes);
  if (found == byAddress_.end()) return false;
  const Place& place = found->second;
  const ShmSegment& segment = *byId_.at(place.id);
  if (place.adopted == nullptr ? !segment.isShared() : !place.adopted->isInPlace()) return false;
  *range = {place.id, begin - found->first + place.offset, segment.bytes()};
  return true;
}

Status ShmRegistry::isolate(const void* address, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const std::lock_guard lock(mutex_);
  const auto found = holder(begin, bytes);
  if (found == byAddress_.end()) {
    return Status::invalid("address=" + std::to_string(begin) + " bytes=" + std::to_string(bytes) +
                           ": expected memory of HostBuffer.allocate or registered memory");
  }
  const size_t offset = begin - found->first;
  const Place& place = found->second;
  return place.adopted == nullptr ? byId_.at(place.id)->isolate(offset, bytes) : place.adopted->isolate(offset, bytes);
}

Status ShmRegistry::import(const ShmProcess& peer, uint64_t id, size_t expectedBytes,
                           std::span<const uint8_t> expectedHeader, std::shared_ptr<ShmSegment>* view) const {
  std::shared_ptr<ShmSegment> found;
  if (isThisProcess(peer)) {
    found = segment(id);
    if (found == nullptr) {
      return Status::transport("shm: segment=" + std::to_string(id) + ": this process no longer shares it");
    }
  } else {
    if (Status reachable = process_.reachable(peer); !reachable) return reachable;
    UniqueFd fd;
    if (Status fetched = fetchShmDescriptor(peer, id, &fd); !fetched) return fetched;
    found = std::make_shared<ShmSegment>();
    if (Status mapped = ShmSegment::map(std::move(fd), expectedBytes, found.get()); !mapped) return mapped;
  }
  if (expectedBytes > found->bytes()) {
    return Status::transport("shm: segment=" + std::to_string(id) + " bytes=" + std::to_string(found->bytes()) +
                             " expected_bytes=" + std::to_string(expectedBytes));
  }
  if (expectedHeader.size() > found->bytes() ||
      (!expectedHeader.empty() && std::memcmp(found->address(), expectedHeader.data(), expectedHeader.size()) != 0)) {
    return Status::transport("shm: segment=" + std::to_string(id) + " peer_pid=" + std::to_string(peer.pid) +
                             ": its header is not the expected one; do all ranks run the same build of JCCL?");
  }
  *view = std::move(found);
  return Status::ok();
}

}  // namespace jccl
