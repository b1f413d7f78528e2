// Data for ranks that work in place on each other's buffers: buffer-exchange descriptors and the addresses of all
// buffers.
#pragma once

#include <vector>

#include "cuda/test/device_ranks.h"

namespace jccl::test {

class InPlaceDescriptors {
 public:
  uint64_t oneShotBytes = device::kMaxOneShotBytes;  // the most bytes of a one-shot all-reduce

  // `sends` and `recvs` are indexed by rank.
  InPlaceDescriptors(int channels, const std::vector<const uint8_t*>& sends, const std::vector<uint8_t*>& recvs)
      : channels_(channels), sends_(sends), recvs_(recvs), descriptors_(sends.size()), peers_(sends.size()) {
    constexpr size_t kBounce = device::kBounceBytes / sizeof(device::ExchangeDescriptor);
    for (auto& descriptors : descriptors_) descriptors.resize((sends.size() + kBounce) * channels);
    for (size_t rank = 0; rank < sends.size(); ++rank) {
      for (size_t peer = 0; peer < sends.size(); ++peer) {
        peers_[rank].push_back({descriptors_[peer].data(), reinterpret_cast<uint64_t>(sends[rank]),
                                reinterpret_cast<uint64_t>(recvs[rank]), reinterpret_cast<uint64_t>(sends[peer]),
                                reinterpret_cast<uint64_t>(recvs[peer])});
      }
    }
  }

  device::InPlaceLaunch launchOf(const DeviceRanks& ranks, int rank, OperationCode code, size_t count) {
    const Launch plain = ranks.launchOf(rank);
    device::InPlaceLaunch launch{};
    launch.rank = rank;
    launch.size = ranks.size();
    launch.channels = plain.channels;
    launch.control = plain.control;
    launch.code = code;
    launch.choice = choiceOf(Algorithm::Direct, Protocol::Simple, channels_);
    launch.send = sends_[rank];
    launch.recv = recvs_[rank];
    launch.count = count;
    launch.descriptors = descriptors_[rank].data();
    launch.bounceOffset = peers_.size() * channels_ * sizeof(device::ExchangeDescriptor);
    launch.peers = peers_[rank].data();
    launch.oneShotBytes = oneShotBytes;
    return launch;
  }

  // Returns true if any rank has posted a descriptor.
  bool anyPosted() const {
    for (const auto& own : descriptors_) {
      for (const device::ExchangeDescriptor& one : own) {
        if (one.posted != 0) return true;
      }
    }
    return false;
  }

  void addTo(emulator::MemoryPlaces& places) const {
    for (size_t rank = 0; rank < descriptors_.size(); ++rank) {
      const auto& own = descriptors_[rank];
      places.add(own.data(), own.size() * sizeof own[0], static_cast<int>(rank));
    }
  }

 private:
  int channels_;
  std::vector<const uint8_t*> sends_;
  std::vector<uint8_t*> recvs_;
  std::vector<std::vector<device::ExchangeDescriptor>> descriptors_;
  std::vector<std::vector<device::InPlacePeer>> peers_;
};

}  // namespace jccl::test
