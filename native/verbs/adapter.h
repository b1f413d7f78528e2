// The adapters of this host: the ports that are up, their addresses, and the events that they report.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "verbs/memory_cache.h"
#include "verbs/queue_pair.h"
#include "verbs/verbs_objects.h"

namespace jccl::verbs {

struct AdapterSettings {
  std::string library = kDefaultLibrary;
  std::string hca;    // the value of JCCL_IB_HCA; see DeviceFilter
  int gidIndex = -1;  // index of the GID to use; -1: chosen automatically
  int roceVersion = 2;
  bool ipv6 = false;  // prefers IPv6 to IPv4 addresses if the GID index is chosen automatically
  int timeout = 20;
  int retryCount = 7;
  int trafficClass = 0;
  int serviceLevel = 0;
  int pkeyIndex = 0;
  bool relaxedOrdering = true;
};

// A port that is up.
struct Port {
  std::string label;  // "mlx5_0:1"
  uint8_t number = 1;
  PortAttributes attributes{};
  Gid gid{};
  int speedMbps = 0;
  std::string pciPath;

  bool isEthernet() const { return attributes.linkLayer == LinkLayer::Ethernet; }
};

// One port of a device, with everything that its queue pairs share. Used under one lock.
class Adapter {
 public:
  Adapter(std::shared_ptr<OpenDevice> device, Port port, const PathSettings& path, bool relaxedOrdering);

  const Port& port() const { return port_; }
  const PathSettings& path() const { return path_; }
  const std::shared_ptr<OpenDevice>& device() const { return device_; }
  MemoryCache& memory() { return memory_; }

  // Reads and logs the events that a device reports about itself. `ports`: all its ports, which share one descriptor of
  // events.
  static void watch(const std::vector<Adapter*>& ports, int64_t nowNanos);
  int eventFd() const { return device_->context()->asyncFd; }

  // Returns ok, or why this port will not carry data any more: the adapter failed or was removed, or the port has been
  // down for longer than queue pairs retry.
  Status health(int64_t nowNanos) const;
  // Returns the time at which the result of health() may change without an event; INT64_MAX: never.
  int64_t nextDeadlineNanos() const;

 private:
  // Records and logs an event about this port or the whole device. Returns false for any other event.
  bool take(int event, int port, const std::string& text, int64_t nowNanos);
  // Returns the time for which a port may be down before its connections fail.
  int64_t graceNanos() const;

  std::shared_ptr<OpenDevice> device_;
  Port port_;
  PathSettings path_;
  MemoryCache memory_;
  int64_t downSinceNanos_ = -1;  // -1: the port is up
  std::string fatal_;            // why the adapter has failed; empty: it works
};

// Opens all ports that the settings allow and that are up. Fails with the reason if there is none. `sysfs` is "/sys",
// except in tests.
Status openAdapters(const AdapterSettings& settings, const std::string& sysfs,
                    std::vector<std::unique_ptr<Adapter>>* adapters);

}  // namespace jccl::verbs
