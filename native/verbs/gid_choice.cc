#include "verbs/gid_choice.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <utility>

namespace jccl::verbs {
namespace {

constexpr int kMaxGids = 1024;
// Number of empty entries in a row that ends the search. Tables are sparse, but used entries come first.
constexpr int kEmptyInARow = 32;

using AddressBytes = std::string;  // 16 bytes

AddressBytes bytesOf(const Gid& gid) { return {reinterpret_cast<const char*>(gid.raw), sizeof gid.raw}; }

bool isMapped(const Gid& gid) {
  static constexpr uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(gid.raw, kPrefix, sizeof kPrefix) == 0;
}

bool isLinkLocal(const Gid& gid) {
  if (isMapped(gid)) return gid.raw[12] == 169 && gid.raw[13] == 254;
  return gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
}

bool isEmpty(const Gid& gid) { return gid.halves[0] == 0 && gid.halves[1] == 0; }

// Returns all addresses of this host with their interfaces. IPv4 addresses are mapped to IPv6, as in GIDs.
std::set<std::pair<std::string, AddressBytes>> interfaceAddresses() {
  std::set<std::pair<std::string, AddressBytes>> found;
  ifaddrs* raw = nullptr;
  if (::getifaddrs(&raw) != 0) return found;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> list(raw, &::freeifaddrs);
  for (const ifaddrs* one = list.get(); one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr) continue;
    Gid gid{};
    if (one->ifa_addr->sa_family == AF_INET) {
      gid.raw[10] = gid.raw[11] = 0xff;
      std::memcpy(gid.raw + 12, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, 4);
    } else if (one->ifa_addr->sa_family == AF_INET6) {
      std::memcpy(gid.raw, &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr, 16);
    } else {
      continue;
    }
    found.emplace(one->ifa_name, bytesOf(gid));
  }
  return found;
}

std::string lineOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

int chooseGid(std::span<const GidEntry> entries, const GidPreference& preference) {
  int best = -1;
  int bestScore = -1;
  for (size_t i = 0; i < entries.size(); ++i) {
    const GidEntry& entry = entries[i];
    int score = 0;
    if (entry.roceVersion == preference.roceVersion) score += 8;
    if (!isLinkLocal(entry.gid)) score += 4;
    if (entry.isInterfaceAddress) score += 2;
    if (isMapped(entry.gid) != preference.ipv6) score += 1;
    if (score > bestScore) {
      best = static_cast<int>(i);
      bestScore = score;
    }
  }
  return best;
}

std::vector<GidEntry> readGids(const std::string& root, const std::string& device, int port) {
  const std::filesystem::path folder =
      std::filesystem::path(root) / "class/infiniband" / device / "ports" / std::to_string(port);
  const auto addresses = interfaceAddresses();
  std::vector<GidEntry> entries;
  int empty = 0;
  for (int index = 0; index < kMaxGids && empty < kEmptyInARow; ++index) {
    const std::string number = std::to_string(index);
    GidEntry entry;
    entry.index = index;
    const std::string text = lineOf(folder / "gids" / number);
    if (::inet_pton(AF_INET6, text.c_str(), entry.gid.raw) != 1 || isEmpty(entry.gid)) {
      ++empty;
      continue;
    }
    empty = 0;
    const std::string type = lineOf(folder / "gid_attrs/types" / number);
    entry.roceVersion = type == "RoCE v2" ? 2 : type == "IB/RoCE v1" ? 1 : 0;
    entry.interface = lineOf(folder / "gid_attrs/ndevs" / number);
    entry.isInterfaceAddress = addresses.count({entry.interface, bytesOf(entry.gid)}) != 0;
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace jccl::verbs
