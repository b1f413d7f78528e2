// The network devices that the connections of a rank use, according to the plan of rings and trees.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace jccl {

// Maps the names of this host's network devices, such as "eth0" or "mlx5_0:1", to their numbers in plans.
class NetDeviceNumbers {
 public:
  static constexpr int kUnknown = -1;
  static constexpr int kMax = 254;  // larger numbers do not fit into an encoded address, and count as unknown

  NetDeviceNumbers() = default;
  // Parses lines that each contain a number, a space and a name.
  static Status parse(const std::string& lines, NetDeviceNumbers* numbers);

  int of(const std::string& name) const;

 private:
  std::map<std::string, int> byName_;
};

// The network devices of one connection: its data leaves the host of `from` through `out` and enters the host of `to`
// through `in`.
struct NetPath {
  int channel = 0;
  int from = 0;
  int to = 0;
  int out = NetDeviceNumbers::kUnknown;
  int in = NetDeviceNumbers::kUnknown;
};

class NetPaths {
 public:
  // The devices of one end of a connection: the one on this host, and the one on the peer's host.
  struct Ends {
    int local = NetDeviceNumbers::kUnknown;
    int remote = NetDeviceNumbers::kUnknown;
    const char* why = "no plan names one";  // reason for the choice of these devices, for the log
  };

  NetPaths() = default;
  // If several paths are for the same connection, the first one applies. A path from this rank to itself applies to all
  // connections of its channel that have no path.
  NetPaths(int rank, const std::vector<NetPath>& paths);

  Ends sending(int peer, int channel) const { return find(sends_, peer, channel); }
  Ends receiving(int peer, int channel) const { return find(receives_, peer, channel); }
  // Returns the devices of this host that the paths name. Does not include paths that an earlier path for the same
  // connection overrides.
  const std::set<int>& devices() const { return devices_; }

 private:
  // key: peer and channel; the entry with this rank as the peer is for all peers without an entry
  using Table = std::map<std::pair<int, int>, Ends>;

  void add(Table& table, const std::pair<int, int>& connection, const Ends& ends);
  Ends find(const Table& table, int peer, int channel) const;

  int rank_ = -1;
  Table sends_;
  Table receives_;
  std::set<int> devices_;
};

// Returns the index of the device with this number in a list, if the list contains it.
std::optional<size_t> placeOf(const std::vector<int>& numbers, int number);

// Returns a log text about the plan's devices that are not in use; empty if all are in use.
std::string missingText(const NetPaths& paths, const std::vector<int>& inUse);

// Returns the reason for the choice of a device, for the log. `found`: the planned device is in use.
std::string reasonOf(const NetPaths::Ends& ends, bool found);

}  // namespace jccl
