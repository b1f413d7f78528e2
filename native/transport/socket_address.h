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

  // Parses an address such as "10.0.0.1", "fe80::1%eth0" or "::1". Does not resolve names.
  static Status parse(const std::string& numeric, uint16_t port, SocketAddress* address);
  static SocketAddress localOf(int socket);
  static SocketAddress peerOf(int socket);

  int family() const { return storage_.ss_family; }
  uint16_t port() const;
  void setPort(uint16_t port);
  // For the link-local address of a peer: sets its interface to that of `local`, the local address that reaches the
  // peer.
  void adoptInterface(const SocketAddress& local);
  // Compares IP addresses only; ports are ignored. Returns true if the IP addresses are equal. Then both are addresses
  // of this host if one of them is.
  bool sameHost(const SocketAddress& other) const;
  // Number of the address's network device in plans; NetDeviceNumbers::kUnknown if it has none.
  int device() const { return device_; }
  void setDevice(int number) { device_ = number; }
  std::string toString() const;  // "10.0.0.1:4711", "[::1]:4711"

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t bytes() const { return family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6); }

  // Wire format, 20 bytes: family (4 or 6), device + 1, port (big-endian), 16 bytes of address. The interface of a
  // link-local address means something only on this host, and is not sent.
  static constexpr size_t kWireBytes = 20;
  void encode(uint8_t* wire) const;
  static Status decode(const uint8_t* wire, SocketAddress* address);

 private:
  sockaddr_storage storage_{};
  int device_ = -1;
};

// Returns the device() of each address.
std::vector<int> devicesOf(const std::vector<SocketAddress>& addresses);

// Wire format of a listener's addresses: magic, whose last byte is the version, number of addresses, addresses.
std::vector<uint8_t> encodeAddresses(const std::vector<SocketAddress>& addresses);
Status decodeAddresses(const uint8_t* wire, size_t bytes, std::vector<SocketAddress>* addresses);

}  // namespace jccl
