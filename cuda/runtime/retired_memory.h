// Memory that communicators have used, whose return to the driver waits for every kernel on the device: also for one that
// waits for the rank whose thread would return it. It goes back when no kernel of this process's communicators is in flight.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_context.h"

namespace jccl::device {

class RetiredMemory {
 public:
  static RetiredMemory& ofThisProcess() {
    static auto* memory = new RetiredMemory();  // communicators may end until the process does
    return *memory;
  }

  // Held while a kernel is put on a stream: then nothing goes back.
  std::shared_lock<std::shared_mutex> launching() { return std::shared_lock(launching_); }
  // Of a launch, while launching() is held; and when it is known to have ended.
  void begun() { ++inFlight_; }
  void ended() { --inFlight_; }
  // The communicator ends before the launch: whether that has ended, its event says.
  void orphan(int device, Event event) {
    const std::lock_guard lock(mutex_);
    orphans_.emplace_back(device, event);
  }

  // Anything that goes back with its destructor, under the guard of its device.
  template <class Owner>
  void retire(int device, Owner owner) {
    const std::lock_guard lock(mutex_);
    retired_.push_back(std::make_unique<Held<Owner>>(device, std::move(owner)));
  }

  // Does what waits for every kernel, and no kernel begins meanwhile; false where some are in flight, and nothing was done.
  template <class Body>
  bool whenQuiet(Body&& body) {
    const std::unique_lock quiet(launching_, std::try_to_lock);
    if (!quiet.owns_lock()) return false;
    reapOrphans();
    if (inFlight_ != 0) return false;
    body();
    return true;
  }

  // Whether all that was retired before has gone back.
  bool collect() {
    return whenQuiet([this] {
      std::vector<std::unique_ptr<Any>> all;
      {
        const std::lock_guard lock(mutex_);
        all.swap(retired_);
      }
      for (std::unique_ptr<Any>& one : all) {
        const DeviceGuard guard(one->device);
        one.reset();
      }
    });
  }

 private:
  // On a device that has failed nothing is in flight any more.
  void reapOrphans() {
    const std::lock_guard lock(mutex_);
    std::erase_if(orphans_, [this](const std::pair<int, Event>& orphan) {
      const DeviceGuard guard(orphan.first);
      bool done = false;
      if (guard.status() && queryEvent(orphan.second, done) && !done) return false;
      (void)destroyEvent(orphan.second);
      ended();
      return true;
    });
  }

  struct Any {
    explicit Any(int device) : device(device) {}
    virtual ~Any() = default;
    const int device;
  };
  template <class Owner>
  struct Held : Any {
    Held(int device, Owner held) : Any(device), owner(std::move(held)) {}
    Owner owner;
  };

  std::shared_mutex launching_;
  std::atomic<int64_t> inFlight_{0};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Any>> retired_;
  std::vector<std::pair<int, Event>> orphans_;  // and the device of each
};

}  // namespace jccl::device
