// Memory that communicators no longer use, and that waits to be returned to the driver. Returning it waits for every
// kernel on the devices that have mapped it, even for one that waits for a rank whose thread makes the call. So memory
// is returned when no kernel of this process's communicators is in flight on these devices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_context.h"
#include "cuda/runtime/shared_device.h"

namespace jccl::device {

using DeviceNumbers = std::vector<int>;

class RetiredMemory {
 public:
  static RetiredMemory& ofThisProcess() {
    static auto* memory = new RetiredMemory();  // never destroyed: communicators may end until the process does
    return *memory;
  }

  // Takes over launches whose communicator is destroyed before they have ended. They end when the word `ended`, which is
  // never freed, reaches `number`. `event` has passed; asking for it shows whether the device has failed.
  void orphan(int device, const uint64_t* ended, uint64_t number, Event event) {
    const std::lock_guard lock(mutex_);
    orphans_.push_back({device, ended, number, event});
  }

  // Retires an object whose destructor returns the memory, under the guard of `device`. The devices in `users` have
  // mapped the memory.
  template <class Owner>
  void retire(int device, DeviceNumbers users, Owner owner) {
    const std::lock_guard lock(mutex_);
    retired_.push_back(std::make_unique<Held<Owner>>(device, std::move(users), std::move(owner)));
  }

  // Calls body() if no kernel is in flight on the devices; none begins there meanwhile. Otherwise, and inside of another
  // body(), returns false without calling body().
  template <class Body>
  bool whenQuiet(DeviceNumbers devices, Body&& body) {
    if (isInside()) return false;
    std::sort(devices.begin(), devices.end());
    devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
    std::vector<SharedDevice::Quiet> quiet(devices.size());
    for (size_t i = 0; i < devices.size(); ++i) {
      if (!SharedDevice::of(devices[i]).becomeQuiet(quiet[i])) return false;
    }
    if (hasOrphans(devices)) return false;
    const Inside inside;
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
  // Exists while this thread is in a body(), which may destroy objects that return memory themselves.
  struct Inside {
    Inside() { isInside() = true; }
    ~Inside() { isInside() = false; }
  };
  static bool& isInside() {
    static thread_local bool inside = false;
    return inside;
  }

  struct Orphan {
    int device;
    const uint64_t* ended;
    uint64_t number;
    Event event;
  };

  // Forgets orphaned launches that have ended; returns true if one is left on the devices. On a device that has failed,
  // all launches count as ended.
  bool hasOrphans(const DeviceNumbers& devices) {
    const std::lock_guard lock(mutex_);
    std::erase_if(orphans_, [](const Orphan& orphan) {
      const DeviceGuard guard(orphan.device);
      bool passed = false;
      const bool works = guard.status() && queryEvent(orphan.event, passed);
      if (works && __atomic_load_n(orphan.ended, __ATOMIC_ACQUIRE) < orphan.number) return false;
      (void)destroyEvent(orphan.event);
      return true;
    });
    return std::any_of(orphans_.begin(), orphans_.end(), [&](const Orphan& orphan) {
      return std::find(devices.begin(), devices.end(), orphan.device) != devices.end();
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

  std::mutex mutex_;  // guards the members below
  std::vector<std::unique_ptr<Any>> retired_;
  std::vector<Orphan> orphans_;
};

}  // namespace jccl::device
