#include "transport/socket_options.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <climits>

namespace jccl {
namespace {

// SO_SNDBUF of connections to the same host.
constexpr int kLocalSendBufferBytes = 256 * 1024;

constexpr int kLongestRepeatMillis = 1000;
constexpr int kTcpRtoMaxMillis = 44;  // TCP_RTO_MAX_MS, since Linux 6.15

Status set(int socket, int level, int option, int value, const char* name) {
  if (::setsockopt(socket, level, option, &value, sizeof value) == 0) return Status::ok();
  return Status::system("setsockopt", std::string(name) + "=" + std::to_string(value));
}

}  // namespace

Status openDataSocket(int family, Distance distance, const NetConfig& config, UniqueFd* socket) {
  socket->reset(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!*socket) return Status::system("socket", "family=" + std::to_string(family));
  // The kernel clips sizes beyond net.core.[rw]mem_max; that costs speed, not correctness.
  const bool local = config.sendBufferBytes == 0 && distance == Distance::SameHost;
  const int sendBufferBytes = local ? kLocalSendBufferBytes : config.sendBufferBytes;
  if (sendBufferBytes > 0) {
    if (Status s = set(socket->get(), SOL_SOCKET, SO_SNDBUF, sendBufferBytes, "SO_SNDBUF"); !s) return s;
  }
  if (config.receiveBufferBytes > 0) {
    if (Status s = set(socket->get(), SOL_SOCKET, SO_RCVBUF, config.receiveBufferBytes, "SO_RCVBUF"); !s) return s;
  }
  return Status::ok();
}

Status tuneDataSocket(int socket, const NetConfig& config) {
  const int millis = static_cast<int>(std::clamp<int64_t>(config.peerTimeoutNanos / 1'000'000, 1'000, 3'600'000));
  const int idleSeconds = std::max(1, millis / 3000);
  if (Status s = set(socket, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY"); !s) return s;
  if (Status s = set(socket, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE"); !s) return s;
  if (Status s = set(socket, IPPROTO_TCP, TCP_KEEPIDLE, idleSeconds, "TCP_KEEPIDLE"); !s) return s;
  if (Status s = set(socket, IPPROTO_TCP, TCP_KEEPINTVL, idleSeconds, "TCP_KEEPINTVL"); !s) return s;
  if (Status s = set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3, "TCP_KEEPCNT"); !s) return s;
  boundRepetitions(socket);
  return set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, millis, "TCP_USER_TIMEOUT");
}

bool keepOpen(int socket) { return set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, INT_MAX, "TCP_USER_TIMEOUT").isOk(); }

bool boundRepetitions(int socket) {
  return set(socket, IPPROTO_TCP, kTcpRtoMaxMillis, kLongestRepeatMillis, "TCP_RTO_MAX_MS").isOk();
}

const char* socketHint(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "no process listens there; has the peer ended?";
    case ECONNRESET:
    case EPIPE:
      return "the peer's process ended or was killed; see its log";
    case ETIMEDOUT:
      return "the peer's host stopped answering, or a firewall drops packets between the two";
    case EHOSTUNREACH:
    case ENETUNREACH:
      return "there is no route from the local address; choose the interface with JCCL_SOCKET_IFNAME";
    case EADDRNOTAVAIL:
      return "the local address is not on this host (any more), or all ports are in use";
    case EADDRINUSE:
      return "another socket has this port, or all ports are in use";
    default:
      return "the kernel refuses it";
  }
}

}  // namespace jccl
