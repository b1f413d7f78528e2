#include "nvml/nvml_report.h"

#include <algorithm>
#include <cstdio>

#include "nvml/nvml_library.h"

namespace jccl::nvml {

namespace {

// Upper limits of what the library may report. No host has as many GPUs, and no GPU as many links; larger numbers are
// taken for errors.
constexpr unsigned kMaxGpus = 256;
constexpr unsigned kMaxLinks = 64;
// Number of NVLinks to query if the library cannot count them. No GPU had more links before libraries could count them.
constexpr unsigned kLinksOfOldLibraries = 18;

struct Gpu {
  Device device = nullptr;
  unsigned index = 0;
  std::int64_t busId = kUnknown;
  std::int64_t sm = kUnknown;
};

struct LinkEnd {
  unsigned link;
  std::int64_t type;
  std::int64_t busId;
};

class Reader {
 public:
  Reader(const Library& library, Report* report) : library_(library), report_(*report) {}

  void read() {
    unsigned count = 0;
    const Return code = library_.count(&count);
    if (code != kSuccess) {
      remark("", "nvmlDeviceGetCount_v2", code);
      return;
    }
    if (count > kMaxGpus) {
      report_.remarks.push_back("count=" + std::to_string(count) + ": only the first " + std::to_string(kMaxGpus) +
                                " GPUs are reported");
    }
    for (unsigned index = 0; index < std::min(count, kMaxGpus); index++) addGpu(index);
    report_.available = true;
    report_.numbers.push_back(static_cast<std::int64_t>(gpus_.size()));
    for (const Gpu& gpu : gpus_) write(gpu);
  }

 private:
  void remark(const std::string& who, const char* call, Return code) {
    report_.remarks.push_back(who + library_.failure(call, code));
  }

  void addGpu(unsigned index) {
    Gpu gpu;
    gpu.index = index;
    const std::string who = "gpu=" + std::to_string(index) + " ";
    Return code = library_.handle(index, &gpu.device);
    if (code != kSuccess) return remark(who, "nvmlDeviceGetHandleByIndex_v2", code);
    PciInfo info = {};
    code = library_.pciInfo(gpu.device, &info);
    if (code != kSuccess) return remark(who, "nvmlDeviceGetPciInfo_v3", code);
    info.busId[sizeof info.busId - 1] = 0;
    gpu.busId = packBusId(info.busId);
    if (gpu.busId == kUnknown) {
      report_.remarks.push_back(who + "busId=\"" + info.busId + "\": no bus id");
      return;
    }
    int major = 0;
    int minor = 0;
    code = library_.capability == nullptr ? kNotSupported : library_.capability(gpu.device, &major, &minor);
    if (code == kSuccess && major > 0 && major < 1000 && minor >= 0 && minor < 10) {
      gpu.sm = major * 10 + minor;
    } else {
      remark(who, "nvmlDeviceGetCudaComputeCapability", code);
    }
    gpus_.push_back(gpu);
  }

  void write(const Gpu& gpu) {
    unsigned mig = 0;
    unsigned pending = 0;
    const bool migKnown =
        // The call fails for GPUs without MIG, and few GPUs support MIG.
        library_.migMode != nullptr && library_.migMode(gpu.device, &mig, &pending) == kSuccess;
    std::int64_t c2cMBps = 0;
    const std::int64_t c2c = c2cLinks(gpu, &c2cMBps);
    const std::vector<LinkEnd> links = linkEnds(gpu);
    append({gpu.index, gpu.busId, gpu.sm, migKnown ? static_cast<std::int64_t>(mig) : kUnknown, c2c, c2cMBps,
            static_cast<std::int64_t>(links.size()), static_cast<std::int64_t>(gpus_.size())});
    for (const LinkEnd& end : links) append({end.link, end.type, end.busId});
    for (const Gpu& peer : gpus_) append({peerAccess(gpu, peer)});
  }

  void append(std::initializer_list<std::int64_t> values) { report_.numbers.insert(report_.numbers.end(), values); }

  // Returns the number of C2C links between the GPU and its CPU that are up, and sets *megabytes to the rate of one of
  // them in MB/s.
  std::int64_t c2cLinks(const Gpu& gpu, std::int64_t* megabytes) const {
    unsigned count = 0;
    if (library_.field(gpu.device, kFieldC2cCount, 0, &count) != kSuccess) return 0;
    std::int64_t up = 0;
    for (unsigned link = 0; link < std::min(count, kMaxLinks); link++) {
      unsigned status = 0;
      unsigned speed = 0;
      if (library_.field(gpu.device, kFieldC2cStatus, link, &status) == kSuccess && status == 1 &&
          library_.field(gpu.device, kFieldC2cMaxMBps, link, &speed) == kSuccess) {
        *megabytes = speed;
        up++;
      }
    }
    return up;
  }

  std::vector<LinkEnd> linkEnds(const Gpu& gpu) {
    std::vector<LinkEnd> ends;
    unsigned count = 0;
    if (library_.field(gpu.device, kFieldNvLinkCount, 0, &count) != kSuccess) count = kLinksOfOldLibraries;
    for (unsigned link = 0; link < std::min(count, kMaxLinks); link++) {
      if (carriesMemory(gpu, link) && isUp(gpu, link)) ends.push_back(otherEnd(gpu, link));
    }
    return ends;
  }

  bool carriesMemory(const Gpu& gpu, unsigned link) const {
    unsigned supported = 0;
    return library_.linkCapability != nullptr &&
           library_.linkCapability(gpu.device, link, kCapabilityP2P, &supported) == kSuccess && supported != 0;
  }

  // Returns true if the NVLink is up. GPUs from sm_90 on report the state in a field. For others, or if reading the
  // field fails, uses the older function.
  bool isUp(const Gpu& gpu, unsigned link) const {
    unsigned up = 0;
    if (gpu.sm >= 90 && library_.field(gpu.device, kFieldNvLinkState, link, &up) == kSuccess) return up == 1;
    return library_.linkState != nullptr && library_.linkState(gpu.device, link, &up) == kSuccess && up == 1;
  }

  LinkEnd otherEnd(const Gpu& gpu, unsigned link) {
    LinkEnd end = {link, kUnknown, kUnknown};
    const std::string who = "gpu=" + std::to_string(gpu.index) + " link=" + std::to_string(link) + " ";
    unsigned type = kRemoteUnknown;
    if (library_.linkRemoteType != nullptr && library_.linkRemoteType(gpu.device, link, &type) == kSuccess &&
        type != kRemoteUnknown) {
      end.type = type;
    }
    PciInfo info = {};
    const Return code =
        library_.linkRemotePci == nullptr ? kNotSupported : library_.linkRemotePci(gpu.device, link, &info);
    if (code == kSuccess) {
      info.busId[sizeof info.busId - 1] = 0;
      end.busId = packBusId(info.busId);
    } else {
      remark(who, "nvmlDeviceGetNvLinkRemotePciInfo_v2", code);
    }
    return end;
  }

  // Returns NVML's status of peer access, which requires both reading and writing: the status of reading if reading is
  // not possible, otherwise the status of writing.
  std::int64_t peerAccess(const Gpu& gpu, const Gpu& peer) const {
    if (gpu.index == peer.index) return 0;
    if (library_.p2pStatus == nullptr) return kUnknown;
    unsigned read = 0;
    unsigned write = 0;
    if (library_.p2pStatus(gpu.device, peer.device, kP2PRead, &read) != kSuccess ||
        library_.p2pStatus(gpu.device, peer.device, kP2PWrite, &write) != kSuccess) {
      return kUnknown;
    }
    return read != 0 ? read : write;
  }

  const Library& library_;
  Report& report_;
  std::vector<Gpu> gpus_;
};

}  // namespace

std::int64_t packBusId(const char* text) {
  unsigned long domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  int end = 0;
  if (std::sscanf(text, "%8lx:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &end) != 4 || text[end] != 0 ||
      *text == '-' || *text == '+') {
    return kUnknown;
  }
  return static_cast<std::int64_t>(domain) << 20 | static_cast<std::int64_t>(bus) << 12 | device << 4 | function;
}

Report readReport(const std::string& library) {
  Report report;
  std::unique_ptr<Library> opened;
  const Status status = Library::open(library, &opened);
  if (!status) {
    report.remarks.push_back(status.message());
    return report;
  }
  Reader(*opened, &report).read();
  return report;
}

}  // namespace jccl::nvml
