// By which network devices the connections of a rank go, as the plan of rings and trees has it.
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

// The numbers that plans have for the devices of this host, by name: "eth0", "mlx5_0:1".
class NetDeviceNumbers {
 public:
  static constexpr int kUnknown = -1;
  static constexpr int kMax = 254;  // larger ones are not sent with addresses, and count as unknown

  NetDeviceNumbers() = default;
  // Lines of a number, a space and a name.
  static Status parse(const std::string& lines, NetDeviceNumbers* numbers);

  int of(const std::string& name) const;

 private:
  std::map<std::string, int> byName_;
};

// The network devices of one connection: it leaves the host of `from` by `out` and enters the host of `to` by `in`.
struct NetPath {
  int channel = 0;
  int from = 0;
  int to = 0;
  int out = NetDeviceNumbers::kUnknown;
  int in = NetDeviceNumbers::kUnknown;
};

class NetPaths {
 public:
  // Of one end of a connection: the device on this host, and the one on the peer's.
  struct Ends {
    int local = NetDeviceNumbers::kUnknown;
    int remote = NetDeviceNumbers::kUnknown;
    const char* why = "no plan names one";  // for the log
  };

  NetPaths() = default;
  // The first path of a connection counts. One from this rank to itself is for all connections of its channel without one.
  NetPaths(int rank, const std::vector<NetPath>& paths);

  Ends sending(int peer, int channel) const { return find(sends_, peer, channel); }
  Ends receiving(int peer, int channel) const { return find(receives_, peer, channel); }
  // The devices of this host that any path goes by.
  const std::set<int>& devices() const { return devices_; }

 private:
  using Table = std::map<std::pair<int, int>, Ends>;  // by peer and channel; this rank stands for all others

  void add(Table& table, const std::pair<int, int>& connection, const Ends& ends);
  Ends find(const Table& table, int peer, int channel) const;

  int rank_ = -1;
  Table sends_;
  Table receives_;
  std::set<int> devices_;
};

// The place of the device with this number in a list, if there is one.
std::optional<size_t> placeOf(const std::vector<int>& numbers, int number);

// The log text about the plan's devices that are not among those in use; empty where all are.
std::string missingText(const NetPaths& paths, const std::vector<int>& inUse);

// Why a device was taken: `found` is whether the planned one was there. For the log.
std::string reasonOf(const NetPaths::Ends& ends, bool found);

}  // namespace jccl
