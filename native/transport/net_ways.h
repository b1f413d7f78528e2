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

// The numbers that plans have for the devices of this machine, by name: "eth0", "mlx5_0:1".
class NetDeviceNumbers {
 public:
  static constexpr int kUnknown = -1;
  static constexpr int kMost = 254;  // larger ones do not travel with addresses, and count as unknown

  NetDeviceNumbers() = default;
  // Lines of a number, a space and a name.
  static Status parse(const std::string& lines, NetDeviceNumbers* numbers);

  int of(const std::string& name) const;

 private:
  std::map<std::string, int> byName_;
};

// One way of a channel: out of the machine of `from` by one device, into the machine of `to` by another.
struct NetWay {
  int channel = 0;
  int from = 0;
  int to = 0;
  int out = NetDeviceNumbers::kUnknown;
  int in = NetDeviceNumbers::kUnknown;
};

class NetWays {
 public:
  // Of one end of a connection: the device on this machine, and the one on the peer's.
  struct Ends {
    int local = NetDeviceNumbers::kUnknown;
    int remote = NetDeviceNumbers::kUnknown;
    const char* why = "no plan names one";  // for the log
  };

  NetWays() = default;
  // The first way of a connection counts. One from this rank to itself is for all connections of its channel without one.
  NetWays(int rank, const std::vector<NetWay>& ways);

  Ends sending(int peer, int channel) const { return find(sends_, peer, channel); }
  Ends receiving(int peer, int channel) const { return find(receives_, peer, channel); }
  // The devices of this machine that any way goes by.
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

// The place of the device with the wanted number in a list, if there is one.
std::optional<size_t> placeOf(const std::vector<int>& numbers, int wanted);

// What to say of the plan's devices that are not among those in use; empty where all are.
std::string missingText(const NetWays& ways, const std::vector<int>& inUse);

// Why a device was taken: `found` is whether the wanted one was there. For the log.
std::string reasonOf(const NetWays::Ends& ends, bool found);

}  // namespace jccl
