#include "engine/shared_memory.h"

#include <algorithm>
#include <string>

#include "base/log.h"
#include "transport/shm_client.h"

namespace jccl {
namespace {

// Number of peers' host buffers that stay mapped: the larger one of kViews and kViewsPerRank times the number of ranks.
// One operation uses two buffers of each rank.
constexpr size_t kViews = 64;
constexpr size_t kViewsPerRank = 6;
constexpr size_t kViewsPerOperationAndRank = 2;

}  // namespace

Status SharedMemory::create(const EngineConfig& config, LastError& errors, std::unique_ptr<SharedMemory>* memory) {
  std::unique_ptr<SharedMemory> made(new SharedMemory(config, errors));
  if (Status status = ShmRegistry::acquire(&made->registry_); !status) return status;
  made->segment_ = std::make_shared<ShmSegment>();
  const size_t bytes = Engine::segmentShape(config).bytes();
  if (Status status = ShmSegment::create("communicator", bytes, ShmBacking::Auto, made->segment_.get()); !status) {
    return status;
  }
  const auto size = static_cast<size_t>(config.size);
  made->views_ = std::make_unique<ShmViews>(made->registry_, std::max(kViews, kViewsPerRank * size),
                                            kViewsPerOperationAndRank * size);
  *memory = std::move(made);
  return Status::ok();
}

SharedMemory::~SharedMemory() {
  if (id_ != 0) registry_->remove(id_);
}

void SharedMemory::offer() { id_ = registry_->add(segment_); }

Status SharedMemory::probe(const ShmProcess& process, uint64_t id) const {
  std::shared_ptr<ShmSegment> view;
  return registry_->import(process, id, segment_->bytes(), {}, &view);
}

Status SharedMemory::connect(int peer, uint64_t id, uint8_t** address) {
  std::shared_ptr<ShmSegment> view;
  if (Status status = registry_->import(processes_[peer], id, segment_->bytes(), {}, &view); !status) return status;
  *address = view->address();
  peers_[peer] = std::move(view);
  return Status::ok();
}

std::vector<std::shared_ptr<const void>> SharedMemory::mapped() const {
  std::vector<std::shared_ptr<const void>> all{segment_};
  all.insert(all.end(), peers_.begin(), peers_.end());
  return all;
}

bool SharedMemory::locate(const void* address, size_t bytes, uint64_t& segment, uint64_t& offset) {
  SharedRange range;
  if (!registry_->find(address, bytes, &range)) return false;
  segment = range.segment;
  offset = range.offset;
  return true;
}

uint8_t* SharedMemory::resolve(int peer, uint64_t segment, uint64_t offset, size_t bytes) {
  uint8_t* address = nullptr;
  if (Status status = views_->resolve(peer, processes_[peer], segment, offset, bytes, &address); !status) {
    errors_.set(status);
    return nullptr;
  }
  return address;
}

bool SharedMemory::isRunning(int peer) { return jccl::isRunning(processes_[peer]); }

void SharedMemory::isolate(int peer, void* address, size_t bytes, int64_t waitedNanos) {
  const Status isolated = registry_->isolate(address, bytes);
  const std::string text =
      "in place: peer=" + std::to_string(peer) + " pid=" + std::to_string(processes_[peer].pid) +
      " has not left the receive buffer of bytes=" + std::to_string(bytes) +
      " for millis=" + std::to_string(waitedNanos / 1'000'000) + ", expected less than 1; is that process stopped? " +
      (isolated ? "Its late stores go nowhere: the buffer has other pages now, and later operations do not use it in "
                  "place; allocate another for their full speed"
                : "It may still store into the buffer, do not use it again: " + isolated.message());
  logMessage(LogLevel::Warn, "shm", text);
  errors_.set(Status::transport(text));
}

}  // namespace jccl
