// Memory that communicators no longer use, and that waits to be returned to the driver. Returning it waits for every
// kernel on the devices that have mapped it, even for one that waits for a rank whose thread makes the call. So memory
// is returned when no kernel of this process's communicators is in flight on these devices.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_context.h"

namespace jccl::device {

using DeviceNumbers = std::vector<int>;

class RetiredMemory {
 public:
  static RetiredMemory& ofThisProcess() {
    static auto* memory = new RetiredMemory();  // never destroyed: communicators may end until the process does
    return *memory;
  }

  // Kernels of this process's communicators on one device.
  class Launches {
   public:
    // Held while a kernel is put on a stream of the device; meanwhile no memory that the device uses is returned.
    std::shared_lock<std::shared_mutex> launching() { return std::shared_lock(launching_); }
    // begun() counts a launch, while launching() is held; ended() is called when the launch is known to have ended.
    void begun() { ++inFlight_; }
    void ended() { --inFlight_; }

   private:
    friend class RetiredMemory;
    std::shared_mutex launching_;
    std::atomic<int64_t> inFlight_{0};
  };

  // Returns the launches on a device, which live until the process ends. A communicator keeps the reference, so that no
  // operation takes a lock of all devices.
  Launches& of(int device) {
    const std::lock_guard lock(devicesMutex_);
    while (devices_.size() <= static_cast<size_t>(device)) devices_.emplace_back();
    return devices_[device];
  }
  // Communicators learn that launches have ended when somebody asks them. `refresh` lets all of them look; it is called
  // before every check for kernels in flight.
  void refreshBy(void (*refresh)()) { refresh_ = refresh; }
  // Takes over launches whose communicator is destroyed before they have ended. They end when the word `ended`, which is
  // never freed, reaches `number`. `event` has passed; asking for it shows whether the device has failed.
  void orphan(int device, int launches, const uint64_t* ended, uint64_t number, Event event) {
    const std::lock_guard lock(mutex_);
    orphans_.push_back({device, launches, ended, number, event});
  }

  // Retires an object whose destructor returns the memory, under the guard of `device`. The devices in `users` have
  // mapped the memory.
  template <class Owner>
  void retire(int device, DeviceNumbers users, Owner owner) {
    const std::lock_guard lock(mutex_);
    retired_.push_back(std::make_unique<Held<Owner>>(device, std::move(users), std::move(owner)));
  }

  // Calls body() if no kernel is in flight on the devices; none begins there meanwhile. Otherwise returns false without
  // calling body().
  template <class Body>
  bool whenQuiet(const DeviceNumbers& devices, Body&& body) {
    if (const auto refresh = refresh_.load()) refresh();
    std::vector<std::unique_lock<std::shared_mutex>> quiet;
    for (const int device : devices) {
      if (!quiet.emplace_back(of(device).launching_, std::try_to_lock).owns_lock()) return false;
    }
    reapOrphans();
    for (const int device : devices) {
      if (of(device).inFlight_ != 0) return false;
    }
    body();
    return true;
  }

  // Returns the retired memory to the driver whose devices have no kernel in flight, and keeps the rest.
  void collect() {
    std::vector<std::unique_ptr<Any>> all;
    {
      const std::lock_guard lock(mutex_);
      all.swap(retired_);
    }
    for (std::unique_ptr<Any>& one : all) {
      if (whenQuiet(one->users, [&] {
            const DeviceGuard guard(one->device);
            one.reset();
          })) {
        continue;
      }
      const std::lock_guard lock(mutex_);
      retired_.push_back(std::move(one));
    }
  }

 private:
  struct Orphan {
    int device, launches;
    const uint64_t* ended;
    uint64_t number;
    Event event;
  };

  // Forgets orphaned launches that have ended. On a device that has failed, all launches count as ended.
  void reapOrphans() {
    const std::lock_guard lock(mutex_);
    std::erase_if(orphans_, [this](const Orphan& orphan) {
      const DeviceGuard guard(orphan.device);
      bool passed = false;
      const bool works = guard.status() && queryEvent(orphan.event, passed);
      if (works && __atomic_load_n(orphan.ended, __ATOMIC_ACQUIRE) < orphan.number) return false;
      (void)destroyEvent(orphan.event);
      for (int i = 0; i < orphan.launches; ++i) of(orphan.device).ended();
      return true;
    });
  }

  struct Any {
    Any(int device, DeviceNumbers users) : device(device), users(std::move(users)) {}
    virtual ~Any() = default;
    const int device;
    const DeviceNumbers users;
  };
  template <class Owner>
  struct Held : Any {
    Held(int device, DeviceNumbers users, Owner held) : Any(device, std::move(users)), owner(std::move(held)) {}
    Owner owner;
  };

  std::mutex devicesMutex_;
  std::deque<Launches> devices_;  // by number
  std::mutex mutex_;              // guards the members below
  std::vector<std::unique_ptr<Any>> retired_;
  std::vector<Orphan> orphans_;
  std::atomic<void (*)()> refresh_{nullptr};
};

}  // namespace jccl::device
