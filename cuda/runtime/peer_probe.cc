#include "cuda/runtime/peer_probe.h"

#include <algorithm>
#include <cstring>

#include "cuda/kernels/registry.h"

namespace jccl::device {
namespace {

constexpr size_t kHalf = ProbeLaunch::kBytes;
// The SIMPLE slots of any connection have room for the memory of a pair: their data has at least 128 bytes each.
static_assert(PeerProbe::kBytes <= size_t{kSlots} * (kSimpleHeaderBytes + 128 + kSlotTailBytes));

}  // namespace

Status PeerProbe::allocate() {
  if (peers_.empty()) return Status::ok();
  Status status = HeapMemory::device(peers_.size() * kBytes, device_);
  return status ? HeapMemory::pinned(peers_.size() * kBytes, host_) : status;
}

uint64_t PeerProbe::wordOf(Kind kind, int from, int to, uint32_t round, size_t index) const {
  // The finalizer of SplitMix64, over the number of the word.
  uint64_t x = seed_ ^ static_cast<uint64_t>(kind) << 62 ^ static_cast<uint64_t>(round) << 56 ^
               static_cast<uint64_t>(from) << 36 ^ static_cast<uint64_t>(to) << 16 ^ index;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

void PeerProbe::write(uint8_t* at, Kind kind, int from, int to, uint32_t round) const {
  for (size_t i = 0; i < kHalf / sizeof(uint64_t); ++i) {
    const uint64_t word = wordOf(kind, from, to, round, i);
    std::memcpy(at + i * sizeof word, &word, sizeof word);
  }
}

bool PeerProbe::equals(const uint8_t* at, Kind kind, int from, int to, uint32_t round) const {
  for (size_t i = 0; i < kHalf / sizeof(uint64_t); ++i) {
    const uint64_t word = wordOf(kind, from, to, round, i);
    if (std::memcmp(at + i * sizeof word, &word, sizeof word) != 0) return false;
  }
  return true;
}

Status PeerProbe::fill(uint32_t round) {
  Status status;
  for (size_t i = 0; status && i < peers_.size(); ++i) {
    const Peer& peer = peers_[i];
    write(hostOf(i), Kind::Offered, rank_, peer.rank, round);
    write(hostOf(i) + kHalf, Kind::Written, rank_, peer.rank, round);
    status = copyAsync(peer.here, hostOf(i), kHalf, stream_);
    if (status) status = copyAsync(deviceOf(i) + kHalf, hostOf(i) + kHalf, kHalf, stream_);
    if (status && round == 0) status = fillAsync(peer.here + kHalf, 0, kHalf, stream_);
    if (status) status = fillAsync(deviceOf(i), 0, kHalf, stream_);
  }
  return status ? synchronize(stream_) : status;
}

Status PeerProbe::exchange(int blocks, int threads) {
  int device = 0;
  Status status = currentDevice(device);
  for (size_t first = 0; status && first < peers_.size();) {
    ProbeLaunch launch{};
    launch.rank = rank_;
    for (; first < peers_.size() && launch.copyCount < ProbeLaunch::kMaxCopies; ++first) {
      uint8_t* mine = deviceOf(first);
      launch.copies[launch.copyCount++] = {peers_[first].there, mine};
      launch.copies[launch.copyCount++] = {mine + kHalf, peers_[first].there + kHalf};
    }
    launch.blocks = std::min(static_cast<uint32_t>(blocks), launch.copyCount);
    status = launchKernel(device, probeKernel(), &launch, static_cast<int>(launch.blocks), threads, stream_);
  }
  return status;
}

Status PeerProbe::check(uint32_t round, std::vector<uint8_t>& failures) {
  Status status;
  for (size_t i = 0; status && i < peers_.size(); ++i) {
    status = copyAsync(hostOf(i), deviceOf(i), kHalf, stream_);
    if (status) status = copyAsync(hostOf(i) + kHalf, peers_[i].here + kHalf, kHalf, stream_);
  }
  if (status) status = synchronize(stream_);
  for (size_t i = 0; status && i < peers_.size(); ++i) {
    const int peer = peers_[i].rank;
    if (!equals(hostOf(i), Kind::Offered, peer, rank_, round)) failures[peer] |= kReads;
    if (!equals(hostOf(i) + kHalf, Kind::Written, peer, rank_, round)) failures[peer] |= kWrites;
  }
  return status;
}

Status PeerProbe::clear() {
  Status status;
  for (size_t i = 0; status && i < peers_.size(); ++i) status = fillAsync(peers_[i].here, 0, kBytes, stream_);
  return status ? synchronize(stream_) : status;
}

}  // namespace jccl::device
