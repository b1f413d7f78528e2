// A set of file descriptors that a thread waits for.
#pragma once

#include <cstdint>

#include "base/fd.h"
#include "base/status.h"

namespace jccl {

// Called under the lock of the set's owner when the handler's descriptor has become readable or writable. The handler
// only records the event; the set's owner does the work after dispatch().
class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void onEvents(uint32_t epollEvents) = 0;
};

// An edge-triggered epoll set. Each change is reported once, so unread data that is not needed yet causes no more
// events. The set's own descriptor is readable when dispatch() has something to report, so that a thread can wait for
// several sets.
class EventSet {
 public:
  Status open();

  // Watches `fd` for becoming readable, writable or closed. The handler must remove `fd` before the handler is
  // destroyed or `fd` is closed.
  Status add(int fd, EventHandler* handler);
  void remove(int fd);

  // Calls the handlers of all descriptors that have events and returns their number. Never blocks.
  int dispatch();

  int fd() const { return epoll_.get(); }

 private:
  UniqueFd epoll_;
};

}  // namespace jccl
