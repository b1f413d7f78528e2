#include "transport/shm_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/thread.h"
#include "transport/shm_socket.h"

namespace jccl {
namespace {

constexpr int kBacklog = 128;
constexpr size_t kMaxClients = 64;
constexpr int64_t kRequestTimeoutNanos = 1'000'000'000;
constexpr int kTickMillis = 250;
constexpr int64_t kWarnNanos = 10'000'000'000;

uint64_t descriptorLimit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

bool sendAnswer(int socket, const ShmAnswer& answer, int fd) {
  ShmAnswer copy = answer;
  iovec part = {&copy, sizeof copy};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof copy;
}

}  // namespace

ShmServer::~ShmServer() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  while (::write(stop_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
}

Status ShmServer::start() {
  const std::string name = process_.socketName();
  listener_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_) return Status::system("socket", "shared memory server");
  const AbstractAddress address(name);
  if (::bind(listener_.get(), address.get(), address.bytes()) != 0) return Status::system("bind", "socket=@" + name);
  if (::listen(listener_.get(), kBacklog) != 0) return Status::system("listen", "socket=@" + name);
  stop_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_) return Status::system("eventfd", "shared memory server");
  keepSpare();
  const LogScope logs(nullptr);  // log lines name no communicator, because the thread serves all communicators
  return startQuietThread(
      "jccl-shm", [this] { serve(); }, &thread_);
}

void ShmServer::drop(const std::string& why) {
  dropped_.fetch_add(1, std::memory_order_relaxed);
  logMessage(LogLevel::Debug, "shm", "dropped a client of the shared memory server: " + why);
}

void ShmServer::keepSpare() {
  if (!spare_) spare_.reset(::fcntl(listener_.get(), F_DUPFD_CLOEXEC, 0));
}

// Returns an empty descriptor, with errno set, on failure.
UniqueFd ShmServer::acceptOne() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket || (errno != EMFILE && errno != ENFILE) || !spare_) return socket;
  spare_.reset();
  return UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

bool ShmServer::accept() {
  for (;;) {
    UniqueFd socket = acceptOne();
    if (!socket) {
      const int error = errno;
      if (error == EAGAIN || error == EINTR || error == ECONNABORTED) return true;
      if (monotonicNanos() >= warnAgainNanos_) {
        warnAgainNanos_ = monotonicNanos() + kWarnNanos;
        logMessage(LogLevel::Warn, "shm",
                   Status::system("accept", "shared memory server, trying again", error).message());
      }
      return false;
    }
    uint32_t uid = 0;
    if (!peerUser(socket.get(), &uid) || uid != process_.uid) {
      drop("it belongs to another user");
      continue;
    }
    if (clients_.size() == kMaxClients) {
      drop("too many others wait");
      clients_.erase(clients_.begin());
    }
    clients_.push_back({std::move(socket), monotonicNanos() + kRequestTimeoutNanos});
  }
}

// Returns true if the client is finished: served or dropped.
bool ShmServer::answer(int socket) {
  ShmRequest request;
  const ssize_t got = ::recv(socket, &request, sizeof request, MSG_TRUNC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got != sizeof request || request.magic != ShmRequest::kMagic || request.version != 1) {
    drop(got == 0 ? "it left without a request" : "not a request");
    return true;
  }
  if (!equalInConstantTime(request.token.data(), process_.token.data(), process_.token.size())) {
    drop("wrong token");
    return true;
  }
  const ShmOffer offer = lookup_(request.segment);
  ShmAnswer reply;
  reply.result = offer.fd >= 0         ? ShmAnswer::kGranted
                 : offer.noDescriptors ? ShmAnswer::kNoDescriptors
                                       : ShmAnswer::kUnknownSegment;
  reply.bytes = offer.noDescriptors ? descriptorLimit() : offer.bytes;
  if (!sendAnswer(socket, reply, offer.fd)) {
    drop(Status::system("sendmsg", "it did not take the answer").message());
  } else {
    served_.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

void ShmServer::serve() {
  std::vector<pollfd> polled;
  bool accepting = true;
  repeatRounds("jccl-shm", [&] { return serveRound(polled, &accepting); });
}

bool ShmServer::serveRound(std::vector<pollfd>& polled, bool* accepting) {
  keepSpare();
  // If accepting fails for lack of descriptors, the listener stays readable. So it is not polled for one tick.
  polled.assign({{stop_.get(), POLLIN, 0}, {*accepting ? listener_.get() : -1, POLLIN, 0}});
  for (const Client& client : clients_) polled.push_back({client.socket.get(), POLLIN, 0});
  // An idle server has no client and sleeps until one connects.
  const int ready = ::poll(polled.data(), polled.size(), clients_.empty() && *accepting ? -1 : kTickMillis);
  if (ready < 0 && errno == ENOMEM) throw std::bad_alloc();
  if (ready < 0 && errno != EINTR) {
    logMessage(LogLevel::Error, "shm", Status::system("poll", "shared memory server stops").message());
    return false;
  }
  if (polled[0].revents != 0) return false;
  const int64_t now = monotonicNanos();
  for (size_t i = clients_.size(); i-- > 0;) {
    bool done = ready > 0 && polled[2 + i].revents != 0 && answer(clients_[i].socket.get());
    if (!done && now >= clients_[i].deadlineNanos) {
      drop("it said nothing");
      done = true;
    }
    if (done) clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  *accepting = ready <= 0 || polled[1].revents == 0 || accept();
  return true;
}

}  // namespace jccl
