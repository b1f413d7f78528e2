#include "transport/net_control_connection.h"

#include <sys/socket.h>

#include <array>

#include "transport/socket_options.h"

namespace jccl {
namespace {

constexpr uint8_t kFin = 'G';
static_assert(kFin >= NetControlConnection::kNoticeKinds);

}  // namespace

NetControlConnection::~NetControlConnection() {
  if (events_ != nullptr) events_->remove(socket_.get());
}

Status NetControlConnection::watch(EventSet& events) {
  if (events_ != nullptr) events_->remove(socket_.get());
  events_ = nullptr;
  if (Status added = events.add(socket_.get(), this); !added) return added;
  events_ = &events;
  readable_ = true;
  return Status::ok();
}

std::string NetControlConnection::describe() const {
  return "rank " + std::to_string(peer_) + " at " + SocketAddress::peerOf(socket_.get()).toString() + " from " +
         SocketAddress::localOf(socket_.get()).toString();
}

Status NetControlConnection::send(const void* info, size_t bytes) {
  // The send buffer of a new connection always has space for this message.
  if (::send(socket_.get(), info, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes)) return Status::ok();
  const int error = errno;
  return Status::transport("net: lost " + describe() + ": send errno=" + std::to_string(error) + " (" +
                           errorText(error) + "): " + socketHint(error));
}

void NetControlConnection::sendFin() {
  // The result is ignored. If the other end is gone, no process waits for the FIN. If the send buffer is full because
  // the other end does not read, the other end sees the connection end without a FIN.
  [[maybe_unused]] const ssize_t sent = ::send(socket_.get(), &kFin, 1, MSG_NOSIGNAL);
  ::shutdown(socket_.get(), SHUT_WR);
}

Status NetControlConnection::notify(uint8_t kind, uint64_t value) {
  Notice notice{kind, {}};
  std::memcpy(notice.value.data(), &value, sizeof value);
  return send(notice);
}

void NetControlConnection::cut() { ::shutdown(socket_.get(), SHUT_RDWR); }

Status NetControlConnection::progress(int* work) {
  while (readable_) {
    std::array<uint8_t, 1> byte{};
    const bool readsInfo = !hasInfo();
    void* to = readsInfo ? info_.data() + received_ : byte.data();
    const ssize_t got = ::recv(socket_.get(), to, readsInfo ? info_.size() - received_ : 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      readable_ = false;
      return Status::ok();
    }
    if (got < 0) {
      const int error = errno;
      return Status::transport("net: lost " + describe() + ": recv errno=" + std::to_string(error) + " (" +
                               errorText(error) + "): " + socketHint(error));
    }
    if (got == 0) {
      readable_ = false;
      if (ended_) return Status::ok();
      return Status::transport(
          "net: lost " + describe() +
          ": the connection was closed without a FIN message: the peer's process ended or was killed; "
          "see its log");
    }
    ++*work;
    if (readsInfo) {
      received_ += static_cast<size_t>(got);
      continue;
    }
    if (Status known = read(byte[0]); !known) return known;
  }
  return Status::ok();
}

Status NetControlConnection::read(uint8_t byte) {
  if (noticeBytes_ > 0 && !ended_) {
    notice_.value[noticeBytes_++ - 1] = byte;
    if (noticeBytes_ <= notice_.value.size()) return Status::ok();
    uint64_t value = 0;
    std::memcpy(&value, notice_.value.data(), sizeof value);
    notices_[notice_.kind] = value;
    noticeBytes_ = 0;
    return Status::ok();
  }
  if (!ended_ && byte < kNoticeKinds) {
    notice_.kind = byte;
    noticeBytes_ = 1;
    return Status::ok();
  }
  if (ended_ || byte != kFin) {
    return Status::transport("net: " + describe() +
                             " sent an unknown byte; do all ranks run the same version of JCCL?");
  }
  ended_ = true;
  return Status::ok();
}

}  // namespace jccl
