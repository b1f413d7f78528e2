#include "cuda/test/device/peer_faults.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/test/device/emulated_driver.h"
#include "cuda/test/device/gpu_memory.h"
#include "cuda/test/emulator/access_map.h"

namespace jccl::emulator {
namespace {

struct Fault {
  std::string family;  // empty: all kernels
  unsigned kind = 0;
  int from = 0, to = 0;  // numbers of the GPUs on the host
};

std::vector<Fault> readFaults() {
  const char* set = std::getenv("JCCL_EMULATED_FAULTS");
  std::istringstream entries(set == nullptr ? "" : set);
  std::vector<Fault> faults;
  for (std::string one; std::getline(entries, one, ',');) {
    Fault fault;
    std::string rest = one;
    if (const size_t slash = one.find('/'); slash != std::string::npos) {
      fault.family = one.substr(0, slash);
      rest = one.substr(slash + 1);
    }
    if (std::sscanf(rest.c_str(), "reads:%d-%d", &fault.from, &fault.to) == 2) {
      fault.kind = kReadsWrong;
    } else if (std::sscanf(rest.c_str(), "writes:%d-%d", &fault.from, &fault.to) == 2) {
      fault.kind = kWritesLost;
    } else {
      throw std::invalid_argument("JCCL_EMULATED_FAULTS: \"" + one + "\", expected reads:0-1 or writes:0-1");
    }
    faults.push_back(fault);
  }
  return faults;
}

std::vector<Fault>& faults() {
  static auto* all = new std::vector<Fault>(readFaults());
  return *all;
}

unsigned faultsAt(const void* address, uint16_t user, const std::string& kernel) {
  GpuMemory::Facts facts;
  if (!GpuMemory::ofThisProcess().find(address, facts)) return 0;
  EmulatedDriver& driver = EmulatedDriver::ofThisProcess();
  const int from = driver.numberOnHost(driver.numbered(std::countr_zero(user))->device);
  const int to = facts.device >= 0 ? facts.device : driver.numberOnHost(driver.numbered(facts.context)->device);
  unsigned found = 0;
  for (const Fault& fault : faults()) {
    if (fault.from == from && fault.to == to && kernel.find(fault.family) != std::string::npos) found |= fault.kind;
  }
  return found;
}

}  // namespace

void usePeerFaults() {
  faults() = readFaults();
  peerFaults = faults().empty() ? nullptr : faultsAt;
}

}  // namespace jccl::emulator
