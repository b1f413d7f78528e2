// Tests, pair by pair, whether the GPUs of two ranks read and write each other's memory as it is. Behind an IOMMU or
// access control services (ACS), as in many virtual machines, peer access can be granted and yet bring other data.
//
// All ranks take the steps together, and meet after each: fill, exchange, check; the same with other content; clear.
// No kernel waits, so a path that loses data costs no time-out:
//
//   fill      writes known content into memory that the peers read, and overwrites the memory that they write to
//   exchange  a kernel copies from and to all peers, by each type of access that kernels use
//   check     compares what was read, and what the peers have written
//
// The content depends on the communicator, the two ranks, the direction and the round. So data of another pair or of
// the previous round is noticed as well.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "cuda/kernels/launch.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_heap.h"

namespace jccl::device {

class PeerProbe {
 public:
  // Bytes of the memory of a pair, in the segment of either rank: the first half is read by the peer, the second half
  // written by it.
  static constexpr size_t kBytes = 2 * size_t{ProbeLaunch::kBytes};

  struct Peer {
    int rank;
    uint8_t* here;   // memory of the pair in this rank's segment
    uint8_t* there;  // the same in the peer's segment
  };

  PeerProbe(int rank, uint64_t seed, std::vector<Peer> peers, Stream stream)
      : rank_(rank), seed_(seed), peers_(std::move(peers)), stream_(stream) {}

  Status allocate();
  Status fill(uint32_t round);
  // Launches the kernels; the caller waits for the stream.
  Status exchange(int blocks, int threads);
  // For each peer, adds kReads to its rank's entry if this rank's reads failed, and kWrites if the peer's writes did.
  static constexpr uint8_t kReads = 1, kWrites = 2;
  Status check(uint32_t round, std::vector<uint8_t>& failures);
  // Zeroes the memory of all pairs.
  Status clear();
  // Keeps the memory for good, because a kernel may still use it.
  void leak() {
    device_.leak();
    host_.leak();
  }

 private:
  enum class Kind : uint64_t { Offered = 1, Written = 2 };

  uint64_t wordOf(Kind kind, int from, int to, uint32_t round, size_t index) const;
  void write(uint8_t* at, Kind kind, int from, int to, uint32_t round) const;
  bool equals(const uint8_t* at, Kind kind, int from, int to, uint32_t round) const;
  uint8_t* hostOf(size_t peer) const { return host_.base() + peer * kBytes; }
  uint8_t* deviceOf(size_t peer) const { return device_.base() + peer * kBytes; }

  const int rank_;
  const uint64_t seed_;
  const std::vector<Peer> peers_;
  const Stream stream_;
  // By peer: what this rank reads, and what it writes to the peer. The host's memory is that of copies from and to the
  // device.
  HeapMemory device_, host_;
};

}  // namespace jccl::device
