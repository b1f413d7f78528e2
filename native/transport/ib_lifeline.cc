#include "transport/ib_lifeline.h"

#include <sys/socket.h>

#include <array>

#include "transport/socket_options.h"

namespace jccl {
namespace {

constexpr uint8_t kGoodbye = 'G';

}  // namespace

IbLifeline::~IbLifeline() {
  if (events_ != nullptr) events_->remove(socket_.get());
}

Status IbLifeline::watch(EventSet& events) {
  if (events_ != nullptr) events_->remove(socket_.get());
  events_ = nullptr;
  if (Status added = events.add(socket_.get(), this); !added) return added;
  events_ = &events;
  readable_ = true;
  return Status::ok();
}

std::string IbLifeline::describe() const {
  return "rank " + std::to_string(peer_) + " at " + SocketAddress::peerOf(socket_.get()).toString() + " from " +
         SocketAddress::localOf(socket_.get()).toString();
}

Status IbLifeline::tell(const verbs::ConnectionInfo& info) {
  // The send buffer of a new connection has room for so little.
  if (::send(socket_.get(), &info, sizeof info, MSG_NOSIGNAL) == sizeof info) return Status::ok();
  const int error = errno;
  return Status::transport("net: lost " + describe() + ": send errno=" + std::to_string(error) + " (" +
                           errorText(error) + "): " + socketHint(error));
}

void IbLifeline::sayGoodbye() {
  // Refused when the other end has gone: then there is nobody to tell.
  [[maybe_unused]] const ssize_t sent = ::send(socket_.get(), &kGoodbye, 1, MSG_NOSIGNAL);
  ::shutdown(socket_.get(), SHUT_WR);
}

Status IbLifeline::progress(int* work) {
  while (readable_) {
    std::array<uint8_t, 1> byte{};
    const bool wantsInfo = !hasInfo();
    void* to = wantsInfo ? reinterpret_cast<uint8_t*>(&info_) + infoBytes_ : byte.data();
    const ssize_t got = ::recv(socket_.get(), to, wantsInfo ? sizeof info_ - infoBytes_ : 1, 0);
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
      return Status::transport("net: lost " + describe() +
                               ": the connection was closed without a goodbye: the peer's process ended or was killed; "
                               "see its log");
    }
    ++*work;
    if (wantsInfo) {
      infoBytes_ += static_cast<size_t>(got);
      continue;
    }
    if (ended_ || byte[0] != kGoodbye) {
      return Status::transport("net: " + describe() + " sent nonsense; do all ranks run the same version of JCCL?");
    }
    ended_ = true;
  }
  return Status::ok();
}

}  // namespace jccl
