// Memory that communicators no longer use, and that waits to be returned to the driver. Returning it waits for every
// kernel on the device, even for one that waits for a rank whose thread makes the call. So memory is returned when no
// kernel of this process's communicators is in flight.
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
    static auto* memory = new RetiredMemory();  // never destroyed: communicators may end until the process does
    return *memory;
  }

  // Held while a kernel is put on a stream; meanwhile no memory is returned.
  std::shared_lock<std::shared_mutex> launching() { return std::shared_lock(launching_); }
  // begun() counts a launch, while launching() is held; ended() is called when the launch is known to have ended.
  void begun() { ++inFlight_; }
  void ended() { --inFlight_; }
  // Takes over the event of a launch whose communicator is destroyed before the launch has ended. Polls the event to
  // learn when the launch ends.
  void orphan(int device, Event event) {
    const std::lock_guard lock(mutex_);
    orphans_.emplace_back(device, event);
  }

  // Retires an object whose destructor returns the memory, under the guard of its device.
  template <class Owner>
  void retire(int device, Owner owner) {
    const std::lock_guard lock(mutex_);
    retired_.push_back(std::make_unique<Held<Owner>>(device, std::move(owner)));
  }

  // Calls body() if no kernel is in flight; none begins meanwhile. Otherwise returns false without calling body().
  template <class Body>
  bool whenQuiet(Body&& body) {
    const std::unique_lock quiet(launching_, std::try_to_lock);
    if (!quiet.owns_lock()) return false;
    reapOrphans();
    if (inFlight_ != 0) return false;
    body();
    return true;
  }

  // Returns all retired memory to the driver. Returns false, and keeps it, if a kernel is in flight.
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
  // Destroys the events of orphaned launches that have ended. On a device that has failed, all launches count as ended.
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
  std::vector<std::pair<int, Event>> orphans_;  // each with the number of its device
};

}  // namespace jccl::device
