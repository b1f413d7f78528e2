// Reads what the kernel reports about the host's network interfaces. Every value of sysfs is optional.
#include "transport/socket_devices.h"

#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>

#include <fstream>
#include <memory>

namespace jccl {
namespace {

int speedOf(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/speed");
  int speed = 0;
  return file >> speed && speed > 0 ? speed : 0;
}

std::string pciPathOf(const std::string& interface) {
  char resolved[PATH_MAX];
  return ::realpath(("/sys/class/net/" + interface + "/device").c_str(), resolved) != nullptr ? resolved : "";
}

}  // namespace

std::vector<NetDevice> socketDevices() {
  std::vector<NetDevice> devices;
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) return devices;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(raw, &::freeifaddrs);
  for (const ifaddrs* one = list.get(); one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char text[NI_MAXHOST];
    const socklen_t bytes = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(one->ifa_addr, bytes, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) continue;
    NetDevice device;
    device.name = one->ifa_name;
    device.address = text;
    device.speedMbps = speedOf(device.name);
    device.pciPath = pciPathOf(device.name);
    devices.push_back(std::move(device));
  }
  return devices;
}

std::string interfaceOf(const SocketAddress& address) {
  for (const NetDevice& device : socketDevices()) {
    SocketAddress its;
    if (!SocketAddress::parse(device.address, 0, &its) || !its.sameHost(address)) continue;
    return device.name.substr(0, device.name.find(':'));  // additional addresses have labels such as eth0:1
  }
  return "";
}

}  // namespace jccl
