#include "verbs/connection_info.h"

#include <algorithm>
#include <string>

namespace jccl::verbs {
namespace {

constexpr uint32_t kMaxQpNumber = (1U << 24) - 1;

Status refuse(const char* name, uint64_t found, uint64_t expected, const char* remedy) {
  return Status::transport(std::string("the other end's connection information has ") + name + "=" +
                           std::to_string(found) + ", expected " + std::to_string(expected) + ": " + remedy);
}

constexpr const char* kSameVersion = "run the same version of JCCL on all ranks";
constexpr const char* kSameSettings = "give all ranks the same JCCL_IB_* settings";

}  // namespace

Status checkConnectionInfo(const ConnectionInfo& own, const ConnectionInfo& remote, uint32_t ringBytes) {
  if (remote.magic != ConnectionInfo::kMagic)
    return refuse("magic", remote.magic, ConnectionInfo::kMagic, kSameVersion);
  if (remote.version != ConnectionInfo::kVersion) {
    return refuse("version", remote.version, ConnectionInfo::kVersion, kSameVersion);
  }
  if (remote.bytes != sizeof remote) return refuse("bytes", remote.bytes, sizeof remote, kSameVersion);
  if (remote.linkLayer != own.linkLayer) {
    return refuse("link_layer", static_cast<uint64_t>(remote.linkLayer), static_cast<uint64_t>(own.linkLayer),
                  "InfiniBand (1) and Ethernet (2) cannot be joined; choose adapters of one kind with JCCL_IB_HCA");
  }
  if (remote.mtu < kMinMtu || remote.mtu > kMaxMtu) return refuse("mtu", remote.mtu, kMaxMtu, kSameVersion);
  if (remote.linkLayer == LinkLayer::InfiniBand && remote.lid == 0) {
    return refuse("lid", 0, 1, "its port has no LID: does a subnet manager run?");
  }
  if (remote.queuePairs != own.queuePairs) return refuse("qps", remote.queuePairs, own.queuePairs, kSameSettings);
  if (remote.split != own.split) return refuse("split", remote.split, own.split, kSameSettings);
  if (remote.ringBytes != ringBytes) return refuse("ring_bytes", remote.ringBytes, ringBytes, kSameVersion);
  const auto* end = remote.qpNumbers.begin() + std::min<uint32_t>(remote.queuePairs, kMaxQueuePairs);
  const auto* wrong =
      std::find_if(remote.qpNumbers.begin(), end, [](uint32_t n) { return n == 0 || n > kMaxQpNumber; });
  if (wrong != end) return refuse("qp", *wrong, kMaxQpNumber, kSameVersion);
  const auto* last = remote.psns.begin() + (end - remote.qpNumbers.begin());
  const auto* beyond = std::find_if(remote.psns.begin(), last, [](uint32_t n) { return n > kMaxPsn; });
  if (beyond != last) return refuse("psn", *beyond, kMaxPsn, kSameVersion);
  return Status::ok();
}

}  // namespace jccl::verbs
