// The communicators of this process that share a device. Their kernels wait for those of other ranks, so all that run have to be
// resident together. Where all channels do not fit, the device is full, and launches are ordered: see device_order.cc.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "cuda/runtime/device_api.h"

namespace jccl::device {

class DeviceCommunicator;

class SharedDevice {
 public:
  static constexpr double kRounding = 1e-6;  // of sums of shares

  // What a launch holds until it is on its stream; on a full device, no other does.
  struct Turn {
    std::shared_lock<std::shared_mutex> beside;
    std::unique_lock<std::shared_mutex> alone;
  };

  static SharedDevice& of(int device) {
    static std::mutex mutex;
    static auto* devices = new std::deque<SharedDevice>();  // communicators may end until the process does
    const std::lock_guard lock(mutex);
    while (devices->size() <= static_cast<size_t>(device)) devices->emplace_back();
    return (*devices)[device];
  }

  // `share`: of how many multiprocessors the communicator's channels take all. The caller holds the device's guard.
  Status join(DeviceCommunicator& communicator, double share, int multiprocessors) {
    const std::unique_lock turn(turn_);
    const std::lock_guard lock(mutex_);
    multiprocessors_ = multiprocessors;
    if (last_ == nullptr && !fits(taken() + share)) {
      // For capture(), which may not make them.
      Status status = createStream(stream_);
      if (status) status = createEvent(last_);
      if (!status) return status;
    }
    members_.push_back({&communicator, share});
    return Status::ok();
  }

  // Returns when no thread visits the communicator any more. One that has not joined may leave.
  void leave(const DeviceCommunicator& communicator) {
    const std::lock_guard lock(mutex_);
    std::erase_if(members_, [&](const Member& member) { return member.communicator == &communicator; });
    if (members_.empty()) capturedOn_.reset();
  }

  Turn takeTurn() {
    Turn turn{std::shared_lock(turn_), {}};
    {
      const std::lock_guard lock(mutex_);
      if (fits(taken()) && !capturedOn_) return turn;
    }
    turn.beside.unlock();
    turn.alone = std::unique_lock(turn_);
    return turn;
  }

  // Of how many multiprocessors communicators take all.
  double sharesOfAll() {
    const std::lock_guard lock(mutex_);
    return taken();
  }
  bool fits(double shares) const { return shares <= multiprocessors_ + kRounding; }
  int multiprocessors() const { return multiprocessors_; }

  template <class Visit>
  void forAll(Visit&& visit) {
    const std::lock_guard lock(mutex_);
    for (const Member& member : members_) visit(*member.communicator);
  }

  // What follows is for who holds a turn alone.

  // Since something was captured on the full device, all launches wait for an event and record it, and so do replays.
  bool hasCaptured() const { return capturedOn_.has_value(); }
  Event last() const { return last_; }
  // `behindAll` has a stream wait for all launches before.
  template <class BehindAll>
  Status capture(uint64_t stream, BehindAll&& behindAll) {
    if (capturedOn_ && capturedOn_ != stream) {
      return Status::invalid(
          "operations of this device's communicators, which do not fit on it together, were captured on another stream "
          "before; capture those of all on one stream, or give the communicators fewer channels (JCCL_MAX_NCHANNELS)");
    }
    if (capturedOn_) return Status::ok();
    Status status = behindAll(stream_);
    if (status) status = recordEvent(last_, stream_);
    if (status) capturedOn_ = stream;
    return status;
  }

 private:
  struct Member {
    DeviceCommunicator* communicator;
    double share;
  };

  double taken() const {
    double sum = 0;
    for (const Member& member : members_) sum += member.share;
    return sum;
  }

  std::shared_mutex turn_;
  std::atomic<int> multiprocessors_{0};
  std::mutex mutex_;  // of what follows
  std::vector<Member> members_;
  Stream stream_ = nullptr;
  Event last_ = nullptr;
  std::optional<uint64_t> capturedOn_;  // its handle
};

}  // namespace jccl::device
