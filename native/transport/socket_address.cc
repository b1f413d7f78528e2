#include "transport/socket_address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netdb.h>

#include <cstring>

namespace jccl {
namespace {

constexpr uint8_t kMagic[4] = {'J', 'N', 'A', '1'};
constexpr size_t kMaxAddresses = 16;

const sockaddr_in* v4(const sockaddr_storage& storage) { return reinterpret_cast<const sockaddr_in*>(&storage); }
const sockaddr_in6* v6(const sockaddr_storage& storage) { return reinterpret_cast<const sockaddr_in6*>(&storage); }

}  // namespace

Status SocketAddress::parse(const std::string& numeric, uint16_t port, SocketAddress* address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(numeric.c_str(), nullptr, &hints, &found);
  if (error != 0 || found == nullptr || found->ai_addrlen > sizeof(sockaddr_storage)) {
    return Status::invalid("address='" + numeric + "': expected a numeric IPv4 or IPv6 address (" +
                           ::gai_strerror(error) + ")");
  }
  std::memcpy(&address->storage_, found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  address->setPort(port);
  return Status::ok();
}

SocketAddress SocketAddress::localOf(int socket) {
  SocketAddress address;
  socklen_t bytes = sizeof address.storage_;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage_), &bytes);
  return address;
}

SocketAddress SocketAddress::peerOf(int socket) {
  SocketAddress address;
  socklen_t bytes = sizeof address.storage_;
  ::getpeername(socket, reinterpret_cast<sockaddr*>(&address.storage_), &bytes);
  return address;
}

uint16_t SocketAddress::port() const {
  return ntohs(family() == AF_INET ? v4(storage_)->sin_port : v6(storage_)->sin6_port);
}

void SocketAddress::setPort(uint16_t port) {
  if (family() == AF_INET) {
    reinterpret_cast<sockaddr_in*>(&storage_)->sin_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in6*>(&storage_)->sin6_port = htons(port);
  }
}

void SocketAddress::adoptInterface(const SocketAddress& local) {
  if (family() != AF_INET6 || local.family() != AF_INET6) return;
  if (!IN6_IS_ADDR_LINKLOCAL(&v6(storage_)->sin6_addr)) return;
  reinterpret_cast<sockaddr_in6*>(&storage_)->sin6_scope_id = v6(local.storage_)->sin6_scope_id;
}

bool SocketAddress::sameHost(const SocketAddress& other) const {
  if (family() != other.family()) return false;
  if (family() == AF_INET) return v4(storage_)->sin_addr.s_addr == v4(other.storage_)->sin_addr.s_addr;
  return IN6_ARE_ADDR_EQUAL(&v6(storage_)->sin6_addr, &v6(other.storage_)->sin6_addr) &&
         v6(storage_)->sin6_scope_id == v6(other.storage_)->sin6_scope_id;
}

std::string SocketAddress::toString() const {
  char text[INET6_ADDRSTRLEN] = "?";
  if (family() == AF_INET) {
    ::inet_ntop(AF_INET, &v4(storage_)->sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(port());
  }
  if (family() != AF_INET6) return "(no address)";
  ::inet_ntop(AF_INET6, &v6(storage_)->sin6_addr, text, sizeof text);
  std::string result = "[";
  result += text;
  char interface[IF_NAMESIZE] = "";
  const uint32_t scope = v6(storage_)->sin6_scope_id;
  if (scope != 0 && ::if_indextoname(scope, interface) != nullptr) {
    result += '%';
    result += interface;
  }
  result += "]:";
  result += std::to_string(port());
  return result;
}

void SocketAddress::encode(uint8_t* wire) const {
  std::memset(wire, 0, kWireBytes);
  wire[0] = family() == AF_INET ? 4 : 6;
  wire[1] = static_cast<uint8_t>(device_ + 1);
  wire[2] = static_cast<uint8_t>(port() >> 8);
  wire[3] = static_cast<uint8_t>(port());
  if (family() == AF_INET) {
    std::memcpy(wire + 4, &v4(storage_)->sin_addr, 4);
  } else {
    std::memcpy(wire + 4, &v6(storage_)->sin6_addr, 16);
  }
}

Status SocketAddress::decode(const uint8_t* wire, SocketAddress* address) {
  SocketAddress read;
  if (wire[0] == 4) {
    auto* to = reinterpret_cast<sockaddr_in*>(&read.storage_);
    to->sin_family = AF_INET;
    std::memcpy(&to->sin_addr, wire + 4, 4);
  } else if (wire[0] == 6) {
    auto* to = reinterpret_cast<sockaddr_in6*>(&read.storage_);
    to->sin6_family = AF_INET6;
    std::memcpy(&to->sin6_addr, wire + 4, 16);
  } else {
    return Status::transport("address family=" + std::to_string(wire[0]) + ", expected 4 or 6");
  }
  read.setPort(static_cast<uint16_t>(wire[2] << 8 | wire[3]));
  if (read.port() == 0) return Status::transport("address=" + read.toString() + ": port 0 cannot be connected to");
  read.setDevice(wire[1] - 1);
  *address = read;
  return Status::ok();
}

std::vector<int> devicesOf(const std::vector<SocketAddress>& addresses) {
  std::vector<int> numbers;
  numbers.reserve(addresses.size());
  for (const SocketAddress& address : addresses) numbers.push_back(address.device());
  return numbers;
}

std::vector<uint8_t> encodeAddresses(const std::vector<SocketAddress>& addresses) {
  std::vector<uint8_t> wire(kMagic, kMagic + sizeof kMagic);
  wire.push_back(static_cast<uint8_t>(addresses.size()));
  for (const SocketAddress& address : addresses) {
    wire.resize(wire.size() + SocketAddress::kWireBytes);
    address.encode(wire.data() + wire.size() - SocketAddress::kWireBytes);
  }
  return wire;
}

Status decodeAddresses(const uint8_t* wire, size_t bytes, std::vector<SocketAddress>* addresses) {
  const size_t head = sizeof kMagic + 1;
  const bool known = bytes > head && std::memcmp(wire, kMagic, sizeof kMagic) == 0;
  const size_t count = known ? wire[sizeof kMagic] : 0;
  if (count == 0 || count > kMaxAddresses || bytes != head + count * SocketAddress::kWireBytes) {
    return Status::transport("socket connect information: bytes=" + std::to_string(bytes) +
                             ": not what this version of JCCL writes; do all ranks run the same version?");
  }
  std::vector<SocketAddress> read(count);
  for (size_t i = 0; i < count; ++i) {
    Status one = SocketAddress::decode(wire + head + i * SocketAddress::kWireBytes, &read[i]);
    if (!one) return one;
  }
  *addresses = std::move(read);
  return Status::ok();
}

}  // namespace jccl
