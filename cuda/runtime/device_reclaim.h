// Returns a rank's buffers to the application after an operation in place has failed: kernels of peers may still access
// them. Peers in this process are asked directly, those in other processes through access pages.
//
// Any thread may use the object, except for the functions that join peers and make pages.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "cuda/runtime/access_page.h"
#include "cuda/runtime/device_completion.h"
#include "cuda/runtime/device_config.h"
#include "cuda/runtime/device_order.h"
#include "cuda/runtime/keep_alive_group.h"

namespace jccl::device {

class DeviceReclaim {
 public:
  DeviceReclaim(const DeviceCommunicatorConfig& config, DeviceCompletion& completion, DeviceOrder& order)
      : config_(config), completion_(completion), order_(order), keepAlive_(KeepAliveGroup::of(config.token)) {}

  // Lets the ranks of this process find this one, before it operates in place.
  void join() { keepAlive_->join(*this); }
  // Expects ranks in other processes; then each of them can get a page.
  void usePages() { pages_.resize(config_.size); }
  bool usesPages() const { return !pages_.empty(); }
  // Makes this rank's page, once. `descriptor` is for the other ranks.
  Status makePage(UniqueFd& descriptor);
  // Opens the page of a peer in another process, once.
  Status openPage(int peer, UniqueFd descriptor);

  // Returns true when the buffers of a failed operation belong to the application again: no kernel of a peer accesses
  // them, now or later. Also returns true if peers do not end their kernels in time.
  bool reclaimBuffers();
  // Called for a peer whose operation in place has failed. From then on kernels of this rank begin nothing; running ones
  // end after the chunk that they move. Returns true if no operation in place is in flight.
  bool releaseBuffers();
  // Answers peers in other processes, which ask through this rank's page after their operations in place have failed.
  void answerPeers();
  int rank() const { return config_.rank; }

  // At the end, in this order. leave() returns when no peer visits this object any more. keep() keeps memory until all
  // ranks of the communicator in this process are closed. close() answers peers for good.
  void leave() { keepAlive_->leave(*this); }
  void keep(std::shared_ptr<DeviceSegment> memory) { keepAlive_->keep(config_.device, std::move(memory)); }
  void close();

 private:
  const DeviceCommunicatorConfig& config_;
  DeviceCompletion& completion_;
  DeviceOrder& order_;
  std::shared_ptr<KeepAliveGroup> keepAlive_;
  std::atomic<bool> hasPage_{false};  // true when this rank has a page, so that others may ask
  std::mutex pagesMutex_;             // guards pages_
  std::vector<AccessPage> pages_;     // by rank; empty if all ranks are threads of one process
};

}  // namespace jccl::device
