// Memory and ranks that the ranks of one communicator in this process share.
//
// A closed rank's memory must not be used again while a peer's kernel may still be at the end of its last operation,
// which writes there. The group keeps such memory until all ranks of the communicator in this process are closed.
//
// Ranks whose kernels access each other's buffers join the group, so that a rank whose operation has failed finds its
// peers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda/runtime/device_segment.h"
#include "cuda/runtime/retired_memory.h"

namespace jccl::device {

class DeviceReclaim;

class KeepAliveGroup {
 public:
  ~KeepAliveGroup() {
    for (auto& [device, memory] : kept_) {
      DeviceNumbers users = memory->users();
      RetiredMemory::ofThisProcess().retire(device, std::move(users), std::move(memory));
    }
  }

  // Returns the group of the ranks of one communicator, by its token.
  static std::shared_ptr<KeepAliveGroup> of(const uint64_t token[2]) {
    static std::mutex mutex;
    static auto* groups = new std::map<std::pair<uint64_t, uint64_t>, std::weak_ptr<KeepAliveGroup>>();
    const std::lock_guard lock(mutex);
    std::erase_if(*groups, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<KeepAliveGroup>& known = (*groups)[{token[0], token[1]}];
    std::shared_ptr<KeepAliveGroup> group = known.lock();
    if (group == nullptr) {
      group = std::make_shared<KeepAliveGroup>();
      known = group;
    }
    return group;
  }

  void keep(int device, std::shared_ptr<DeviceSegment> memory) {
    const std::lock_guard lock(mutex_);
    kept_.emplace_back(device, std::move(memory));
  }

  void join(DeviceReclaim& rank) {
    const std::lock_guard lock(mutex_);
    std::erase(ranks_, &rank);  // the rank may have joined before
    ranks_.push_back(&rank);
  }

  // Removes a rank, if it has joined. Returns when no thread visits the rank any more.
  void leave(const DeviceReclaim& rank) {
    const std::lock_guard lock(mutex_);
    std::erase(ranks_, &rank);
  }

  // Calls visit(peer) for all joined ranks except `self`. The caller must not hold its own mutex.
  template <class Visit>
  void forPeers(const DeviceReclaim& self, Visit&& visit) {
    const std::lock_guard lock(mutex_);
    for (DeviceReclaim* rank : ranks_) {
      if (rank != &self) visit(*rank);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<int, std::shared_ptr<DeviceSegment>>> kept_;  // each with the number of its device
  std::vector<DeviceReclaim*> ranks_;
};

}  // namespace jccl::device
