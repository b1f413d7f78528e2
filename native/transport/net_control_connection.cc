#include "transport/net_control_connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "transport/socket_options.h"

namespace jccl {
namespace {

constexpr uint8_t kFin = 'G';

// Bytes of records for a peer that does not read, after which no more are made.
constexpr size_t kMaxUnsentBytes = 64 * 1024;

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
  if (sendSome(info, bytes) == static_cast<ssize_t>(bytes)) return Status::ok();
  const int error = errno;
  return Status::transport("net: lost " + describe() + ": send errno=" + std::to_string(error) + " (" +
                           errorText(error) + "): " + socketHint(error));
}

// Sends a message, as one record if the connection is encrypted. Returns `bytes` if the kernel has accepted all of it. A
// record that the kernel does not accept goes before the next one, because the other end opens records in order.
ssize_t NetControlConnection::sendSome(const void* data, size_t bytes) {
  if (records_ == nullptr) return ::send(socket_.get(), data, bytes, MSG_NOSIGNAL);
  const size_t before = unsent_.size();
  unsent_.resize(before + bytes + crypto::Records::kOverheadBytes);
  const std::array<std::span<const uint8_t>, 1> parts = {std::span(static_cast<const uint8_t*>(data), bytes)};
  size_t recordBytes = 0;
  if (before > kMaxUnsentBytes || !records_->seal(parts, unsent_.data() + before, &recordBytes)) {
    unsent_.resize(before);
    errno = before > kMaxUnsentBytes ? EAGAIN : EIO;
    return -1;
  }
  const ssize_t sent = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
  if (sent < 0) return -1;
  unsent_.erase(unsent_.begin(), unsent_.begin() + sent);
  if (unsent_.empty()) return static_cast<ssize_t>(bytes);
  errno = EAGAIN;
  return -1;
}

// Sets *got to the number of bytes that were received; like recv() 0 at the end, and -1 with errno on failure. Fails if
// a record was changed or cut.
Status NetControlConnection::receiveSome(uint8_t* to, size_t bytes, ssize_t* got) {
  if (records_ == nullptr) {
    *got = ::recv(socket_.get(), to, bytes, 0);
    return Status::ok();
  }
  while (plainTaken_ == plain_.size()) {
    constexpr size_t kLengthBytes = crypto::Records::kLengthBytes;
    size_t needed = kLengthBytes;
    if (sealed_.size() >= kLengthBytes) needed = crypto::Records::bytesOf(sealed_.data());
    if (needed == 0) return Status::transport("net: " + describe() + " sent something that is no encrypted record");
    if (sealed_.size() < needed) {
      const size_t before = sealed_.size();
      sealed_.resize(needed);
      *got = ::recv(socket_.get(), sealed_.data() + before, needed - before, 0);
      const int error = errno;
      sealed_.resize(before + static_cast<size_t>(std::max<ssize_t>(*got, 0)));
      errno = error;
      if (*got == 0 && before > 0) {
        return Status::transport("net: lost " + describe() + ": the connection ended within an encrypted record");
      }
      if (*got <= 0) return Status::ok();
      continue;
    }
    plain_.resize(needed - crypto::Records::kOverheadBytes);
    plainTaken_ = 0;
    if (Status opened = records_->open(sealed_.data(), plain_.data()); !opened) {
      plain_.clear();
      return Status::transport("net: lost " + describe() + ": " + opened.message());
    }
    sealed_.clear();
  }
  const size_t moved = std::min(bytes, plain_.size() - plainTaken_);
  std::memcpy(to, plain_.data() + plainTaken_, moved);
  plainTaken_ += moved;
  *got = static_cast<ssize_t>(moved);
  return Status::ok();
}

void NetControlConnection::sendFin() {
  // The result is ignored. If the other end is gone, no process waits for the FIN. If the send buffer is full because
  // the other end does not read, the other end sees the connection end without a FIN.
  [[maybe_unused]] const ssize_t sent = sendSome(&kFin, 1);
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
    uint8_t* to = readsInfo ? info_.data() + received_ : byte.data();
    ssize_t got = 0;
    if (Status read = receiveSome(to, readsInfo ? info_.size() - received_ : 1, &got); !read) return read;
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
