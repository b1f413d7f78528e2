#include "transport/shm_client.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cstring>
#include <string>

#include "transport/shm_socket.h"

namespace jccl {
namespace {

constexpr timeval kAnswerTimeout = {5, 0};
// Number of attempts if the server ends the connection without an answer. A server drops the oldest of too many
// clients. In addition, Linux looks for a message and then for the end of the connection, without one lock around both:
// a reader that looks while the server answers and closes may find only the end.
constexpr int kAttempts = 3;

std::string describe(const ShmProcess& peer, uint64_t segment) {
  return "shm: peer_pid=" + std::to_string(peer.pid) + " segment=" + std::to_string(segment) + " socket=@" +
         peer.socketName();
}

bool isDropped(ssize_t moved) { return moved == 0 || (moved < 0 && (errno == ECONNRESET || errno == EPIPE)); }

// Returns the error for a descriptor that the peer has sent but the kernel has not passed to this process.
Status notPassed(int socket, const std::string& what) {
  const UniqueFd another(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (!another) return Status::system("recvmsg(SCM_RIGHTS)", what);
  return Status::transport(what +
                           ": the kernel has not passed the descriptor; was a limit of this process reached for a "
                           "moment (ulimit -n), or does SELinux or AppArmor forbid it?");
}

Status takeAnswer(int socket, uint32_t pid, const std::string& what, UniqueFd* fd, bool* dropped) {
  ShmAnswer answer;
  answer.magic = 0;
  iovec part = {&answer, sizeof answer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do {
    got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  *dropped = isDropped(got);
  if (*dropped) return Status::transport(what + ": the process closed the connection without an answer");
  if (got < 0 && errno == EAGAIN) {
    return Status::transport(what + ": no answer in seconds=" + std::to_string(kAnswerTimeout.tv_sec) +
                             "; is the process stopped, or has it no processor?");
  }
  if (got < 0) return Status::system("recvmsg", what);
  UniqueFd received;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int raw;
    std::memcpy(&raw, CMSG_DATA(header), sizeof raw);
    received.reset(raw);
  }
  if (got != sizeof answer || answer.magic != ShmAnswer::kMagic) {
    return Status::transport(what + " bytes=" + std::to_string(got) +
                             ": not an answer; do all ranks run the same build of JCCL?");
  }
  if (answer.result == ShmAnswer::kNoDescriptors) {
    return Status::transport(what + ": the peer has used all its file descriptors: RLIMIT_NOFILE=" +
                             std::to_string(answer.bytes) + " of pid=" + std::to_string(pid) +
                             "; raise it (ulimit -n, LimitNOFILE= of a service, --ulimit nofile= of a container)");
  }
  if (answer.result != ShmAnswer::kGranted) return Status::transport(what + ": the peer no longer shares it");
  if (!received) return notPassed(socket, what);
  *fd = std::move(received);
  return Status::ok();
}

Status ask(const ShmProcess& peer, uint64_t segment, UniqueFd* fd, bool* dropped) {
  *dropped = false;
  const std::string what = describe(peer, segment);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return Status::system("socket", what);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kAnswerTimeout, sizeof kAnswerTimeout);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kAnswerTimeout, sizeof kAnswerTimeout);
  const AbstractAddress address(peer.socketName());
  int connected;
  do {
    connected = ::connect(socket.get(), address.get(), address.bytes());
  } while (connected != 0 && errno == EINTR);
  if (connected != 0) {
    const int error = errno;
    const char* hint = error == EAGAIN         ? ": too many others wait for an answer"
                       : error == ECONNREFUSED ? ": has the process ended?"
                                               : "";
    return Status::system("connect", what + hint, error);
  }
  uint32_t uid = 0;
  if (Status known = peerUser(socket.get(), &uid); !known) return known;
  if (uid != peer.uid) {
    return Status::transport(what + " uid=" + std::to_string(uid) + " expected_uid=" + std::to_string(peer.uid) +
                             ": another user answers on this socket");
  }
  ShmRequest request;
  request.token = peer.token;
  request.segment = segment;
  const ssize_t sent = ::send(socket.get(), &request, sizeof request, MSG_NOSIGNAL);
  *dropped = isDropped(sent);
  return sent == sizeof request ? takeAnswer(socket.get(), peer.pid, what, fd, dropped) : Status::system("send", what);
}

}  // namespace

Status fetchShmDescriptor(const ShmProcess& peer, uint64_t segment, UniqueFd* fd) {
  bool dropped = true;
  Status status;
  for (int attempt = 0; dropped && attempt < kAttempts; ++attempt) status = ask(peer, segment, fd, &dropped);
  return status;
}

bool isRunning(const ShmProcess& peer) {
  // A refused connection shows that no thread of the process runs any more, because the kernel closes the process's
  // listener only after the last thread has ended.
  const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const AbstractAddress address(peer.socketName());
  return !socket || ::connect(socket.get(), address.get(), address.bytes()) == 0 || errno != ECONNREFUSED;
}

}  // namespace jccl
