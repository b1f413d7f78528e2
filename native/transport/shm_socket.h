// What client and server of the shared memory exchange have in common: abstract Unix addresses and the peer's user.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace jccl {

// An address without a file: the name starts with a zero byte and goes away with its socket.
class AbstractAddress {
 public:
  explicit AbstractAddress(const std::string& name) {
    address_.sun_family = AF_UNIX;
    const size_t length = std::min(name.size(), sizeof address_.sun_path - 1);
    std::copy_n(name.begin(), length, address_.sun_path + 1);
    bytes_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t bytes() const { return bytes_; }

 private:
  sockaddr_un address_{};
  socklen_t bytes_ = 0;
};

// The user who made the other end, as the kernel knows it.
inline Status peerUser(int socket, uint32_t* uid) {
  ucred credentials{};
  socklen_t bytes = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) {
    return Status::system("getsockopt(SO_PEERCRED)", "shared memory socket");
  }
  *uid = static_cast<uint32_t>(credentials.uid);
  return Status::ok();
}

}  // namespace jccl
