// A rank's shared memory: its segment, which it offers to peers of its host, and the segments and buffers of those
// peers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/last_error.h"
#include "engine/zero_copy.h"
#include "transport/shm_process.h"
#include "transport/shm_registry.h"
#include "transport/shm_segment.h"
#include "transport/shm_views.h"

namespace jccl {

// Thread-safe, except that one thread at a time may call offer and connect.
class SharedMemory final : public BufferResolver {
 public:
  // `errors` gets the failures of operations in place. It must outlive this object.
  static Status create(const EngineConfig& config, LastError& errors, std::unique_ptr<SharedMemory>* memory);
  ~SharedMemory() override;

  // Offers the segment to peers. Must follow the engine's creation, so that a peer that maps the segment finds the
  // header.
  void offer();
  // Stops offering the segment, because all peers have mapped it. Saves its descriptor.
  void withdraw() { registry_->withdraw(id_); }
  uint64_t id() const { return id_; }
  const ShmSegment& segment() const { return *segment_; }
  ShmRegistry& registry() const { return *registry_; }
  size_t residentBytes() const { return segment_->residentBytes(); }

  // Returns Ok if the memory that a peer offers under `id` can be mapped, otherwise the reason.
  Status probe(const ShmProcess& process, uint64_t id) const;
  // Sets a peer's process; every connection begins with this call.
  void setProcess(int peer, const ShmProcess& process) { processes_[peer] = process; }
  const ShmProcess& processOf(int peer) const { return processes_[peer]; }
  // Maps a peer's segment, which stays mapped as long as this object or the result of mapped() exists.
  Status connect(int peer, uint64_t id, uint8_t** address);
  // Returns the own segment and all mapped ones.
  std::vector<std::shared_ptr<const void>> mapped() const;

  bool locate(const void* address, size_t bytes, uint64_t& segment, uint64_t& offset) override;
  uint8_t* resolve(int peer, uint64_t segment, uint64_t offset, size_t bytes) override;
  bool isRunning(int peer) override;
  void isolate(int peer, void* address, size_t bytes, int64_t waitedNanos) override;

 private:
  SharedMemory(const EngineConfig& config, LastError& errors)
      : errors_(errors), processes_(config.size), peers_(config.size) {}

  LastError& errors_;
  std::shared_ptr<ShmRegistry> registry_;
  std::shared_ptr<ShmSegment> segment_;
  uint64_t id_ = 0;
  std::vector<ShmProcess> processes_;
  std::vector<std::shared_ptr<ShmSegment>> peers_;
  std::unique_ptr<ShmViews> views_;
};

}  // namespace jccl
