// Numeric IPv4 and IPv6 addresses with a port.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace jccl {

class SocketAddress {
 public:
  SocketAddress() = default;

  // "10.0.0.1", "fe80::1%eth0", "::1". Names are not resolved.
  static Status parse(const std::string& numeric, uint16_t port, SocketAddress* address);
  static SocketAddress localOf(int socket);
  static SocketAddress peerOf(int socket);

  int family() const { return storage_.ss_family; }
  uint16_t port() const;
  void setPort(uint16_t port);
  // A link-local peer is behind the interface of the local address that reaches it.
  void adoptInterface(const SocketAddress& local);
  // The same address, whatever the ports: then it is this host, if one of the two is.
  bool sameHost(const SocketAddress& other) const;
  // The number that plans have for the network device behind it; NetDeviceNumbers::kUnknown where there is none.
  int device() const { return device_; }
  void setDevice(int number) { device_ = number; }
  std::string toString() const;  // "10.0.0.1:4711", "[::1]:4711"

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t bytes() const { return family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6); }

  // 20 bytes on the wire: family (4 or 6), device + 1, port (big-endian), 16 bytes of address. The interface of a link-local
  // address is local to this host and is not sent.
  static constexpr size_t kWireBytes = 20;
  void encode(uint8_t* wire) const;
  static Status decode(const uint8_t* wire, SocketAddress* address);

 private:
  sockaddr_storage storage_{};
  int device_ = -1;
};

// SocketAddress::device() of each.
std::vector<int> devicesOf(const std::vector<SocketAddress>& addresses);

// The addresses of a listener on the wire: magic, version, number, addresses.
std::vector<uint8_t> encodeAddresses(const std::vector<SocketAddress>& addresses);
Status decodeAddresses(const uint8_t* wire, size_t bytes, std::vector<SocketAddress>* addresses);

}  // namespace jccl
