// Passes descriptors of shared memory to processes that know the token.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "transport/shm_process.h"
#include "transport/shm_segment.h"

namespace jccl {

// What the server sends: a descriptor that `owner` keeps open, or -1 if nothing is offered under the id.
struct ShmOffer {
  std::shared_ptr<const void> owner;
  int fd = -1;
  size_t bytes = 0;            // size of the memory; 0: the receiver learns the size elsewhere
  bool noDescriptors = false;  // something is offered, but this process has no free descriptor
};

// A server with one thread on one abstract Unix socket. A client sends one request and receives one answer. A client is
// dropped without an answer if it belongs to another user, sends anything but a request with the right token, or sends
// nothing for a second. If too many clients wait for an answer, the oldest is dropped.
class ShmServer {
 public:
  using Lookup = std::function<ShmOffer(uint64_t segment)>;

  ShmServer(const ShmProcess& process, Lookup lookup) : process_(process), lookup_(std::move(lookup)) {}
  ~ShmServer();

  Status start();

  uint64_t servedRequests() const { return served_.load(std::memory_order_relaxed); }
  uint64_t droppedClients() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Client {
    UniqueFd socket;
    int64_t deadlineNanos;
  };

  void serve();
  bool serveRound(std::vector<pollfd>& polled, bool* accepting);
  bool accept();  // returns false if accepting must be tried again later
  UniqueFd acceptOne();
  void keepSpare();
  bool answer(int socket);
  void drop(const std::string& why);

  const ShmProcess process_;
  const Lookup lookup_;
  UniqueFd listener_;
  UniqueFd stop_;
  // reserved descriptor, closed to accept a client when no other descriptor is free, so that the client receives an
  // answer
  UniqueFd spare_;
  int64_t warnAgainNanos_ = 0;
  std::vector<Client> clients_;  // oldest first; used by the server's thread only
  std::thread thread_;
  std::atomic<uint64_t> served_{0};
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace jccl
