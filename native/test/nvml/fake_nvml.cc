// A fake NVML (NVIDIA's management library) that simulates the host that a text file describes. The file's name is that
// of the library followed by ".txt": a copy of this library with another file is another host. Lines of the file, in
// which # begins a comment:
//
//   gpu BUSID MAJOR MINOR             adds a GPU; GPUs are numbered in the order of these lines
//   mig GPU MODE                      the GPU's MIG mode; without this line it does not support MIG
//   link GPU LINK UP TYPE BUSID       an NVLink; TYPE of its other end: 0 GPU, 1 processor, 2 switch, 255 unknown
//   weak GPU LINK                     this NVLink supports no memory traffic
//   c2c GPU COUNT UP MBPS             COUNT links to the processor, of which UP are up, each with MBPS MB/s
//   p2p GPU GPU STATUS                status of peer access between two GPUs in both directions; 0 without this line
//   claim COUNT                       the number of GPUs that the library reports
//   fail FUNCTION CODE                this function always returns CODE
//
// FAKE_NVML_OLD leaves out the functions that older libraries lack: field values and the types of remote devices.
#include <dlfcn.h>

#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "nvml/nvml_api.h"

using jccl::nvml::Device;
using jccl::nvml::FieldValue;
using jccl::nvml::kInvalidArgument;
using jccl::nvml::kNotSupported;
using jccl::nvml::kSuccess;
using jccl::nvml::PciInfo;
using jccl::nvml::Return;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr Return kUninitialised = 1;
constexpr Return kUnknownError = 999;

struct Link {
  bool up = false;
  bool weak = false;
  unsigned type = 255;
  std::string busId;
};

struct Gpu {
  std::string busId;
  int major = 0;
  int minor = 0;
  int mig = -1;
  unsigned c2cCount = 0;
  unsigned c2cUp = 0;
  unsigned c2cMBps = 0;
  std::map<unsigned, Link> links;
};

struct Host {
  bool open = false;
  std::vector<Gpu> gpus;
  std::map<std::pair<std::size_t, std::size_t>, unsigned> p2p;
  std::map<std::string, Return> failures;
  unsigned claimed = 0;
};

Host host;

Return result(const char* function) {
  const auto found = host.failures.find(function);
  if (found != host.failures.end()) return found->second;
  return host.open ? kSuccess : kUninitialised;
}

void read(std::istringstream& words, const std::string& what) {
  std::size_t gpu = 0;
  unsigned link = 0;
  if (what == "gpu") {
    Gpu made;
    words >> made.busId >> made.major >> made.minor;
    host.gpus.push_back(made);
    host.claimed = static_cast<unsigned>(host.gpus.size());
  } else if (what == "mig") {
    words >> gpu;
    words >> host.gpus.at(gpu).mig;
  } else if (what == "link") {
    words >> gpu >> link;
    Link& made = host.gpus.at(gpu).links[link];
    words >> made.up >> made.type >> made.busId;
  } else if (what == "weak") {
    words >> gpu >> link;
    host.gpus.at(gpu).links.at(link).weak = true;
  } else if (what == "c2c") {
    words >> gpu;
    Gpu& made = host.gpus.at(gpu);
    words >> made.c2cCount >> made.c2cUp >> made.c2cMBps;
  } else if (what == "p2p") {
    std::size_t other = 0;
    unsigned status = 0;
    words >> gpu >> other >> status;
    host.p2p[{gpu, other}] = host.p2p[{other, gpu}] = status;
  } else if (what == "claim") {
    words >> host.claimed;
  } else if (what == "fail") {
    std::string function;
    words >> function;
    words >> host.failures[function];
  }
}

void readFile() {
  Dl_info self;
  if (dladdr(&host, &self) == 0) return;
  std::ifstream file(std::string(self.dli_fname) + ".txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string what;
    if (words >> what) read(words, what);
  }
}

std::size_t numberOf(Device device) { return reinterpret_cast<std::size_t>(device) - 1; }

Gpu& gpuOf(Device device) { return host.gpus.at(numberOf(device)); }

Link* linkOf(Device device, unsigned link) {
  auto& links = gpuOf(device).links;
  const auto found = links.find(link);
  return found == links.end() ? nullptr : &found->second;
}

void fill(const std::string& busId, PciInfo* info) {
  std::memset(info, 0, sizeof *info);
  std::strncpy(info->busId, busId.c_str(), sizeof info->busId - 1);
}

}  // namespace

EXPORT Return nvmlInit_v2() {
  host = Host();
  try {
    readFile();
  } catch (...) {
    return kUnknownError;
  }
  host.open = true;
  const Return code = result("nvmlInit_v2");
  host.open = code == kSuccess;
  return code;
}

EXPORT Return nvmlShutdown() {
  host.open = false;
  return kSuccess;
}

EXPORT const char* nvmlErrorString(Return code) {
  return code == kNotSupported ? "Not Supported"
         : code == 9           ? "Driver Not Loaded"
         : code == 15          ? "GPU is lost"
                               : "Other";
}

EXPORT Return nvmlDeviceGetCount_v2(unsigned* count) {
  *count = host.claimed;
  return result("nvmlDeviceGetCount_v2");
}

EXPORT Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (index >= host.gpus.size()) return kInvalidArgument;
  if (host.gpus[index].busId == "lost") return 15;
  *device = reinterpret_cast<Device>(static_cast<std::size_t>(index) + 1);
  return result("nvmlDeviceGetHandleByIndex_v2");
}

EXPORT Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
  fill(gpuOf(device).busId, info);
  return result("nvmlDeviceGetPciInfo_v3");
}

EXPORT Return nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  *major = gpuOf(device).major;
  *minor = gpuOf(device).minor;
  return result("nvmlDeviceGetCudaComputeCapability");
}

EXPORT Return nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  const int mig = gpuOf(device).mig;
  if (mig < 0) return kNotSupported;
  *current = *pending = static_cast<unsigned>(mig);
  return result("nvmlDeviceGetMigMode");
}

EXPORT Return nvmlDeviceGetNvLinkCapability(Device device, unsigned link, unsigned, unsigned* supported) {
  const Link* found = linkOf(device, link);
  if (found == nullptr) return kInvalidArgument;
  *supported = found->weak ? 0 : 1;
  return result("nvmlDeviceGetNvLinkCapability");
}

EXPORT Return nvmlDeviceGetNvLinkState(Device device, unsigned link, unsigned* up) {
  const Link* found = linkOf(device, link);
  if (found == nullptr) return kInvalidArgument;
  *up = found->up ? 1 : 0;
  return result("nvmlDeviceGetNvLinkState");
}

EXPORT Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned link, PciInfo* info) {
  const Link* found = linkOf(device, link);
  if (found == nullptr) return kInvalidArgument;
  fill(found->busId, info);
  return result("nvmlDeviceGetNvLinkRemotePciInfo_v2");
}

EXPORT Return nvmlDeviceGetP2PStatus(Device one, Device other, unsigned, unsigned* status) {
  const auto found = host.p2p.find({numberOf(one), numberOf(other)});
  *status = found == host.p2p.end() ? 0 : found->second;
  return result("nvmlDeviceGetP2PStatus");
}

#ifndef FAKE_NVML_OLD

EXPORT Return nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned link, unsigned* type) {
  const Link* found = linkOf(device, link);
  if (found == nullptr) return kInvalidArgument;
  *type = found->type;
  return result("nvmlDeviceGetNvLinkRemoteDeviceType");
}

EXPORT Return nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
  for (int i = 0; i < count; i++) {
    FieldValue& field = values[i];
    const Gpu& gpu = gpuOf(device);
    const Link* link = linkOf(device, field.scopeId);
    field.result = kSuccess;
    switch (field.fieldId) {
      case jccl::nvml::kFieldNvLinkCount:
        field.asUnsigned = gpu.links.empty() ? 0 : gpu.links.rbegin()->first + 1;
        break;
      case jccl::nvml::kFieldNvLinkState:
        field.result = link == nullptr ? kInvalidArgument : kSuccess;
        field.asUnsigned = link != nullptr && link->up ? 1 : 0;
        break;
      case jccl::nvml::kFieldC2cCount:
        field.asUnsigned = gpu.c2cCount;
        break;
      case jccl::nvml::kFieldC2cStatus:
        field.asUnsigned = field.scopeId < gpu.c2cUp ? 1 : 0;
        break;
      case jccl::nvml::kFieldC2cMaxMBps:
        field.asUnsigned = gpu.c2cMBps;
        break;
      default:
        field.result = kNotSupported;
    }
  }
  return result("nvmlDeviceGetFieldValues");
}

#endif
