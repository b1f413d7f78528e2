// The ranks of this process that share a device, and everything that they do because they share it.
//
// * Kernels wait for kernels of other ranks, so all that run must be resident at the same time. If the channels of all
//   communicators do not fit together, the device is full, and launches take turns: see device_order.cc.
// * Memory returns to the driver while no kernel is in flight on the device: see RetiredMemory.
//
// A rank that fits on its device next to all others, as a single one does, executes none of this for an operation: the
// operation locks the rank's own mutex, and reads isOrdered_. A rank that joins makes this safe. After it has set
// isOrdered_, it locks the mutex of each rank that is there. So launches that began before are on their streams, and
// later ones take turns, before the new rank launches anything.
//
// These mechanisms are elsewhere, because ranks need them whether they share a device or not, and outside of operations:
// StreamOwners is asked once for each stream. KeepAliveGroup and AccessPage serve ranks that access each other's
// buffers, at the end of a communicator and after a failure.
//
// Order of locks: turn_, the mutex of a rank, mutex_, the mutex of a DeviceCompletion.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cuda/runtime/device_api.h"

namespace jccl::device {

class DeviceOrder;

class SharedDevice {
 public:
  static constexpr double kRounding = 1e-6;  // tolerance for rounding errors in sums of shares

  // Held by a launch until it is on its stream. Only launches on a full device hold `alone`, one at a time.
  struct Turn {
    std::unique_lock<std::mutex> alone;
    std::unique_lock<std::mutex> rank;

    bool isAlone() const { return alone.owns_lock(); }
  };
  // Held while no kernel is in flight on the device and none begins.
  struct Quiet {
    std::unique_lock<std::mutex> members;
    std::vector<std::unique_lock<std::mutex>> ranks;
  };

  static SharedDevice& of(int device);

  // Adds a rank whose launches hold `issuing`. `share` is the number of multiprocessors that its channels occupy. The
  // caller holds the guard of the device, and no lock.
  Status join(DeviceOrder& rank, std::shared_ptr<std::mutex> issuing, double share, int multiprocessors);
  // Removes a rank, if it has joined. Returns when no thread visits the rank any more.
  void leave(const DeviceOrder& rank);

  // Begins a launch of the rank that joined with `issuing`.
  Turn takeTurn(std::mutex& issuing) {
    Turn turn{{}, std::unique_lock(issuing)};
    if (isOrdered_.load(std::memory_order_relaxed)) takeTurnAlone(turn);
    return turn;
  }
  // Returns false if a kernel is in flight, or if one is being launched.
  bool becomeQuiet(Quiet& quiet);

  // Returns the number of multiprocessors that the channels of all communicators occupy.
  double sharesOfAll() {
    const std::lock_guard lock(mutex_);
    return taken();
  }
  bool fits(double shares) const { return shares <= multiprocessors_ + kRounding; }
  int multiprocessors() const { return multiprocessors_; }
  // Returns how often launches took turns alone or visited other ranks.
  uint64_t entries() const { return entries_; }

  template <class Visit>
  void forAll(Visit&& visit) {
    ++entries_;
    const std::lock_guard lock(mutex_);
    for (const Member& member : members_) visit(*member.rank);
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
    return status;
  }

 private:
  struct Member {
    DeviceOrder* rank;
    std::shared_ptr<std::mutex> issuing;
    double share;
  };

  void takeTurnAlone(Turn& turn);
  // Both are for callers that hold the mutex.
  bool mustOrder() const { return !fits(taken()) || capturedOn_; }
  double taken() const;

  std::mutex turn_;
  // True while launches take turns alone. Written by a thread that holds turn_ and visits no rank.
  std::atomic<bool> isOrdered_{false};
  std::atomic<int> multiprocessors_{0};
  std::atomic<uint64_t> entries_{0};
  std::mutex mutex_;  // guards the members below
  std::vector<Member> members_;
  Stream stream_ = nullptr;
  Event last_ = nullptr;
  // Handle of the stream. Set by a thread that holds a turn alone; reset under the mutex, when there is no member.
  std::optional<uint64_t> capturedOn_;
};

}  // namespace jccl::device
