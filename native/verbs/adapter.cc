#include "verbs/adapter.h"

#include <limits.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "base/log.h"
#include "verbs/device_filter.h"
#include "verbs/gid_choice.h"
#include "verbs/verbs_text.h"

namespace jccl::verbs {
namespace {

constexpr int64_t kMinGraceNanos = 1'000'000'000;
constexpr int64_t kMaxGraceNanos = 60'000'000'000;

// Reads a line such as "100 Gb/sec (4X EDR)".
int speedOf(const std::string& sysfs, const std::string& device, int port) {
  std::ifstream file(sysfs + "/class/infiniband/" + device + "/ports/" + std::to_string(port) + "/rate");
  double gigabits = 0;
  return file >> gigabits && gigabits > 0 && gigabits < 1e5 ? static_cast<int>(std::lround(gigabits * 1000)) : 0;
}

std::string pciPathOf(const std::string& sysfs, const std::string& device) {
  std::array<char, PATH_MAX> resolved{};
  const std::string link = sysfs + "/class/infiniband/" + device + "/device";
  return ::realpath(link.c_str(), resolved.data()) != nullptr ? resolved.data() : "";
}

// Sets the GID index of a port, and the address at which other ends reach the port.
Status addressPort(const AdapterSettings& settings, const std::string& sysfs, const OpenDevice& device, Port* port,
                   PathSettings* path) {
  int index = settings.gidIndex;
  if (index < 0 && port->isEthernet()) {
    const std::vector<GidEntry> entries = readGids(sysfs, device.name(), port->number);
    const int chosen = chooseGid(entries, {settings.roceVersion, settings.ipv6});
    if (chosen < 0) {
      return Status::transport(port->label + ": has no GID: does its network interface have an address?");
    }
    index = entries[static_cast<size_t>(chosen)].index;
  }
  index = std::max(index, 0);
  if (index >= port->attributes.gidTableLength || index > UINT8_MAX) {
    return Status::invalid("JCCL_IB_GID_INDEX=" + std::to_string(index) + ": " + port->label + " has " +
                           std::to_string(port->attributes.gidTableLength) + " GIDs, counted from 0");
  }
  path->gidIndex = static_cast<uint8_t>(index);
  const Return code = device.library().queryGid(device.context(), port->number, index, &port->gid);
  return code == 0 ? Status::ok() : device.failed("ibv_query_gid", "index=" + std::to_string(index));
}

class Opener {
 public:
  Opener(const AdapterSettings& settings, const std::string& sysfs, std::shared_ptr<const Library> library,
         std::vector<std::unique_ptr<Adapter>>* adapters)
      : settings_(settings), sysfs_(sysfs), library_(std::move(library)), adapters_(*adapters) {}

  Status open(Device* raw, const DeviceFilter& filter) {
    std::shared_ptr<OpenDevice> device;
    if (Status opened = OpenDevice::open(library_, raw, &device); !opened) {
      return skip(LogLevel::Warn, opened.message());
    }
    for (int number = 1; number <= device->attributes().ports; ++number) {
      Status added =
          filter.accepts(device->name(), number)
              ? add(device, number)
              : skip(LogLevel::Info, device->name() + ":" + std::to_string(number) + " is not in JCCL_IB_HCA");
      if (!added) return added;
    }
    return Status::ok();
  }

  const std::string& remarks() const { return remarks_; }

 private:
  // Continues without a device. Logs the reason now, and keeps it for the error if no device is left. The loss of a
  // device must not stay unnoticed, because communication is slower without it.
  Status skip(LogLevel level, const std::string& text) {
    logMessage(level, "net", "ib: continues without a device: " + text);
    if (!remarks_.empty()) remarks_ += "; ";
    remarks_ += text;
    return Status::ok();
  }

  Status add(const std::shared_ptr<OpenDevice>& device, int number) {
    Port port;
    port.number = static_cast<uint8_t>(number);
    port.label = device->name() + ":" + std::to_string(number);
    if (library_->queryPort(device->context(), port.number, &port.attributes) != 0) {
      return skip(LogLevel::Warn, port.label + " cannot be queried");
    }
    if (port.attributes.state != kPortActive) return skip(LogLevel::Info, port.label + " is not active");
    PathSettings path;
    path.port = port.number;
    path.pkeyIndex = static_cast<uint16_t>(settings_.pkeyIndex);
    path.trafficClass = static_cast<uint8_t>(settings_.trafficClass);
    path.serviceLevel = static_cast<uint8_t>(settings_.serviceLevel);
    path.timeout = static_cast<uint8_t>(settings_.timeout);
    path.retryCount = static_cast<uint8_t>(settings_.retryCount);
    if (Status addressed = addressPort(settings_, sysfs_, *device, &port, &path); !addressed) {
      return addressed.code() == Code::Invalid ? addressed : skip(LogLevel::Warn, addressed.message());
    }
    port.speedMbps = speedOf(sysfs_, device->name(), number);
    port.pciPath = pciPathOf(sysfs_, device->name());
    adapters_.push_back(std::make_unique<Adapter>(device, port, path, settings_.relaxedOrdering));
    return Status::ok();
  }

  const AdapterSettings& settings_;
  const std::string& sysfs_;
  std::shared_ptr<const Library> library_;
  std::vector<std::unique_ptr<Adapter>>& adapters_;
  std::string remarks_;
};

}  // namespace

Adapter::Adapter(std::shared_ptr<OpenDevice> device, Port port, const PathSettings& path, bool relaxedOrdering)
    : device_(device), port_(std::move(port)), path_(path), memory_(std::move(device), relaxedOrdering) {}

int64_t Adapter::graceNanos() const {
  const int64_t tries = retryNanos(path_.timeout, path_.retryCount);
  return tries == 0 ? kMaxGraceNanos : std::clamp(tries, kMinGraceNanos, kMaxGraceNanos);
}

void Adapter::watch(const std::vector<Adapter*>& ports, int64_t nowNanos) {
  const OpenDevice& device = *ports.front()->device_;
  const Library& api = device.library();
  AsyncEvent event{};
  while (api.getAsyncEvent(device.context(), &event) == 0) {
    const char* name = api.eventText(event.type);
    const std::string text = "device=" + device.name() + " event=" + std::to_string(event.type) + " (" +
                             (name == nullptr ? "?" : name) + ")";
    const bool ofPort = event.type >= kEventPortActive && event.type <= kEventGidChange;
    const int number = ofPort ? event.port : 0;
    api.ackAsyncEvent(&event);
    bool taken = false;
    for (Adapter* port : ports) taken = port->take(event.type, number, text, nowNanos) || taken;
    // Failures of a queue pair or completion queue also come back as failed completions.
    if (!taken) logMessage(event.type <= kEventQpAccessError ? LogLevel::Warn : LogLevel::Info, "net", text);
  }
}

bool Adapter::take(int event, int port, const std::string& text, int64_t nowNanos) {
  if (event == kEventPortError && port == port_.number) {
    downSinceNanos_ = nowNanos;
    logMessage(LogLevel::Warn, "net",
               text + " port=" + port_.label + ": the link is down; connections fail if it does not return within " +
                   std::to_string(graceNanos() / 1'000'000) + " ms");
    return true;
  }
  if (event == kEventPortActive && port == port_.number) {
    downSinceNanos_ = -1;
    logMessage(LogLevel::Info, "net", text + " port=" + port_.label + ": the link is up");
    return true;
  }
  if (event != kEventDeviceFatal) return false;
  fatal_ = text + ": the adapter has failed or was removed; see the kernel log";
  logMessage(LogLevel::Error, "net", "port=" + port_.label + " " + fatal_);
  return true;
}

Status Adapter::health(int64_t nowNanos) const {
  if (!fatal_.empty()) return Status::transport("net: " + fatal_);
  if (downSinceNanos_ < 0 || nowNanos - downSinceNanos_ < graceNanos()) return Status::ok();
  return Status::transport("net: port=" + port_.label + " gid=" + gidText(port_.gid) + " has been down for " +
                           std::to_string((nowNanos - downSinceNanos_) / 1'000'000) +
                           " ms: check the cable, the switch and the interface");
}

int64_t Adapter::nextDeadlineNanos() const { return downSinceNanos_ < 0 ? INT64_MAX : downSinceNanos_ + graceNanos(); }

Status openAdapters(const AdapterSettings& settings, const std::string& sysfs,
                    std::vector<std::unique_ptr<Adapter>>* adapters) {
  DeviceFilter filter;
  if (Status parsed = DeviceFilter::parse(settings.hca, &filter); !parsed) return parsed;
  std::shared_ptr<const Library> library;
  if (Status opened = Library::open(settings.library, &library); !opened) {
    return Status::transport(settings.library + " " + opened.message());
  }
  int count = 0;
  const std::unique_ptr<Device*, FreeDeviceListFn> list(library->getDeviceList(&count), library->freeDeviceList);
  if (list == nullptr || count == 0) {
    return Status::transport("this host has no adapter for InfiniBand verbs, or its driver is not loaded");
  }
  Opener opener(settings, sysfs, library, adapters);
  for (int i = 0; i < count; ++i) {
    if (Status opened = opener.open(list.get()[i], filter); !opened) return opened;
  }
  if (adapters->empty()) return Status::transport("no adapter can be used: " + opener.remarks());
  return Status::ok();
}

}  // namespace jccl::verbs
