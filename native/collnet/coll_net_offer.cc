#include "collnet/coll_net_offer.h"

#include <algorithm>
#include <cstring>

namespace jccl {
namespace {

constexpr size_t kNameBytes = 32;

struct Wire {
  static constexpr uint32_t kMagic = 0x4e4e434a;  // "JCNN"
  uint32_t magic = kMagic;
  uint32_t version = 2;
  std::array<char, kNameBytes> plugin{};  // padded with zeros
  std::array<uint8_t, kDataTypeCount> reductions{};
  uint32_t devices = 0;
  uint32_t gathers = 0;
  uint32_t speedMbps = 0;
  float latencyMicros = 0;
  uint64_t maxBytes = 0;
};
static_assert(sizeof(Wire) == 80);

}  // namespace

std::vector<uint8_t> CollNetOffer::encode() const {
  Wire wire;
  std::copy_n(plugin.begin(), std::min(plugin.size(), kNameBytes - 1), wire.plugin.begin());
  wire.reductions = reductions;
  wire.devices = static_cast<uint32_t>(devices);
  wire.gathers = gathers ? 1 : 0;
  wire.speedMbps = speedMbps;
  wire.latencyMicros = latencyMicros;
  wire.maxBytes = maxBytes;
  std::vector<uint8_t> bytes(sizeof wire);
  std::memcpy(bytes.data(), &wire, sizeof wire);
  return bytes;
}

Status CollNetOffer::decode(std::span<const uint8_t> bytes, CollNetOffer* offer) {
  Wire wire;
  if (bytes.size() == sizeof wire) std::memcpy(&wire, bytes.data(), sizeof wire);
  if (bytes.size() != sizeof wire || wire.magic != Wire::kMagic || wire.version != Wire{}.version || wire.devices < 1 ||
      wire.devices > kMaxDevices || wire.maxBytes == 0) {
    return Status::transport("collnet: bytes=" + std::to_string(bytes.size()) +
                             " are no offer; do all ranks run the same build of JCCL?");
  }
  offer->plugin.assign(wire.plugin.data(), ::strnlen(wire.plugin.data(), kNameBytes));
  offer->devices = static_cast<int>(wire.devices);
  offer->gathers = wire.gathers == 1;
  offer->reductions = wire.reductions;
  offer->speedMbps = wire.speedMbps;
  offer->latencyMicros = wire.latencyMicros >= 0 ? wire.latencyMicros : 0;
  offer->maxBytes = wire.maxBytes;
  return Status::ok();
}

Status CollNetOffer::common(std::span<const std::vector<uint8_t>> offers, CollNetOffer* common) {
  for (size_t rank = 0; rank < offers.size(); ++rank) {
    CollNetOffer one;
    if (Status decoded = decode(offers[rank], &one); !decoded) {
      return {decoded.code(), "rank=" + std::to_string(rank) + " " + decoded.message()};
    }
    if (rank == 0) {
      *common = one;
      continue;
    }
    if (one.plugin != common->plugin) {
      return Status::transport("rank=" + std::to_string(rank) + " uses plug-in \"" + one.plugin + "\" and rank=0 \"" +
                               common->plugin + "\"; set JCCL_NET_PLUGIN alike on all ranks");
    }
    common->devices = std::min(common->devices, one.devices);
    common->gathers = common->gathers && one.gathers;
    for (size_t type = 0; type < common->reductions.size(); ++type) common->reductions[type] &= one.reductions[type];
    common->maxBytes = std::min(common->maxBytes, one.maxBytes);
    common->speedMbps = std::min(common->speedMbps, one.speedMbps);
    common->latencyMicros = std::max(common->latencyMicros, one.latencyMicros);
  }
  return Status::ok();
}

}  // namespace jccl
