// File descriptors that a thread waits for.
#pragma once

#include <cstdint>

#include "base/fd.h"
#include "base/status.h"

namespace jccl {

// Called when its descriptor became readable or writable, under the lock of the set's owner; only notes the fact, the
// work happens later.
class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void onEvents(uint32_t epollEvents) = 0;
};

// An epoll set, edge-triggered: each change is reported once, so a set with data that is not needed yet stays quiet. Its own
// descriptor is readable when dispatch() has something to report, so sets can be waited for together.
class EventSet {
 public:
  Status open();

  // Watches for readable, writable and closed. The handler must remove the descriptor before either goes away.
  Status add(int fd, EventHandler* handler);
  void remove(int fd);

  // Calls the handlers of what happened. Returns how many were called; never blocks.
  int dispatch();

  int fd() const { return epoll_.get(); }

 private:
  UniqueFd epoll_;
};

}  // namespace jccl
