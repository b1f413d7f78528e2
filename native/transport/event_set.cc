#include "transport/event_set.h"

#include <sys/epoll.h>

#include <array>
#include <string>

namespace jccl {

Status EventSet::open() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  return epoll_ ? Status::ok() : Status::system("epoll_create1", "event set");
}

Status EventSet::add(int fd, EventHandler* handler) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = handler;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return Status::ok();
  return Status::system("epoll_ctl(ADD)", "fd=" + std::to_string(fd));
}

void EventSet::remove(int fd) { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

int EventSet::dispatch() {
  // The next call reports events that do not fit into this array. A handler never removes another one while it is
  // called.
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    static_cast<EventHandler*>(events[static_cast<size_t>(i)].data.ptr)
        ->onEvents(events[static_cast<size_t>(i)].events);
  }
  return count < 0 ? 0 : count;
}

}  // namespace jccl
