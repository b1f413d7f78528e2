// The communicators of this process that share a device. Their kernels wait for kernels of other ranks, so all that run
// must be resident at the same time. If the channels of all communicators do not fit together, the device is full, and
// launches are ordered: see device_order.cc.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "cuda/runtime/device_api.h"

namespace jccl::device {

class DeviceOrder;

class SharedDevice {
 public:
  static constexpr double kRounding = 1e-6;  // tolerance for rounding errors in sums of shares

  // Held by a launch until it is on its stream. On a full device, one launch at a time holds a turn (`alone`);
  // otherwise any number do (`beside`).
  struct Turn {
    std::shared_lock<std::shared_mutex> beside;
    std::unique_lock<std::shared_mutex> alone;
  };

  static SharedDevice& of(int device) {
    static std::mutex mutex;
    // Never destroyed: communicators may end until the process does.
    static auto* devices = new std::deque<SharedDevice>();
    const std::lock_guard lock(mutex);
    while (devices->size() <= static_cast<size_t>(device)) devices->emplace_back();
    return (*devices)[device];
  }

  // Adds a communicator. `share` is the number of multiprocessors that its channels occupy. The caller holds the guard
  // of the device.
  Status join(DeviceOrder& communicator, double share, int multiprocessors) {
    const std::unique_lock turn(turn_);
    const std::lock_guard lock(mutex_);
    multiprocessors_ = multiprocessors;
    if (last_ == nullptr && !fits(taken() + share)) {
      // Creates the stream and the event in advance, because capture() must not create them.
      Status status = createStream(stream_);
      if (status) status = createEvent(last_);
      if (!status) return status;
    }
    members_.push_back({&communicator, share});
    noteIfOrdered();
    return Status::ok();
  }

  // Removes a communicator, if it has joined. Returns when no thread visits the communicator any more.
  void leave(const DeviceOrder& communicator) {
    const std::lock_guard lock(mutex_);
    std::erase_if(members_, [&](const Member& member) { return member.communicator == &communicator; });
    if (members_.empty()) capturedOn_.reset();
    noteIfOrdered();
  }

  Turn takeTurn() {
    Turn turn{std::shared_lock(turn_), {}};
    if (!isOrdered_) return turn;
    turn.beside.unlock();
    turn.alone = std::unique_lock(turn_);
    return turn;
  }

  // Returns the number of multiprocessors that the channels of all communicators occupy.
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

  // The functions below are for a thread that holds a turn alone.

  // Returns true if something was captured on the full device. From then on, all launches and replays wait for last()
  // and record it.
  bool hasCaptured() const { return capturedOn_.has_value(); }
  Event last() const { return last_; }
  // Marks the full device as captured on `stream`; a second stream is refused. `behindAll` makes a stream wait for all
  // earlier launches.
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
    const std::lock_guard lock(mutex_);
    noteIfOrdered();
    return status;
  }

 private:
  struct Member {
    DeviceOrder* communicator;
    double share;
  };

  // The caller holds the mutex.
  void noteIfOrdered() { isOrdered_ = !fits(taken()) || capturedOn_; }

  double taken() const {
    double sum = 0;
    for (const Member& member : members_) sum += member.share;
    return sum;
  }

  std::shared_mutex turn_;
  std::atomic<int> multiprocessors_{0};
  std::atomic<bool> isOrdered_{false};  // true while launches need turns alone: the device is full
  std::mutex mutex_;                    // guards the members below
  std::vector<Member> members_;
  Stream stream_ = nullptr;
  Event last_ = nullptr;
  std::optional<uint64_t> capturedOn_;  // handle of the stream
};

}  // namespace jccl::device
