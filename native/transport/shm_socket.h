// Common parts of client and server of the shared memory exchange: abstract Unix addresses and the peer's user.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"

namespace jccl {

// A Unix address without a file: its name begins with a zero byte and disappears with its socket.
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

// Asks the kernel which user made the other end of the socket.
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
