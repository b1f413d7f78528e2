// The direct algorithm over peers' buffers: ranks that can all reach each other's memory read what they need in place,
// and write results where they belong. Every rank reduces its shard: n x S bytes are read and n x S written by all together,
// which is the minimum. Small all-reduces are one-shot: every rank reduces everything for itself, if no rank
// overwrites what others still read.
//
// Each channel meets the same channel of all ranks before, to learn where the buffers are, and after, when all have
// done their part. Nothing goes through slots.
#pragma once

#include "collectives/ring.h"
#include "cuda/kernels/block.h"
#include "cuda/kernels/launch.h"
#include "cuda/primitives/elements.h"
#include "cuda/primitives/faults.h"
#include "cuda/primitives/link_end.h"
#include "cuda/primitives/move.h"

namespace jccl::device {

template <class E, class Faults = NoFaults>
class InPlaceKernel {
 public:
  struct Shared {
    WaitControl wait;
    Storage<Work> work;
    const uint8_t* sends[kMaxLinks + 1];  // by rank
    uint8_t* recvs[kMaxLinks + 1];
    const uint8_t* sources[kMaxLinks + 1];
    uint8_t* destinations[kMaxLinks + 1];
  };

  JCCL_DEVICE static void run(const InPlaceLaunch& launch, Shared& shared) {
    DeviceChannel& channel = launch.channels[simt::blockIndex()];
    if (!beginBlock(shared.wait, channel, launch.control)) return;
    forWorks(launch, shared.work, shared.wait, [&](const Work& work) {
      InPlaceKernel kernel(launch, work, channel, shared);
      bool oneShot = false;
      if (!kernel.meetBefore(oneShot)) return false;
      kernel.move(oneShot);
      if (!kernel.meetAfter()) return false;
      if (kernel.thread_ == 0) countOperations(channel, 1);
      return true;
    });
  }

 private:
  // From here on reading everything n times costs more than writing it n times saves.
  static constexpr size_t kMaxOneShotBytes = 256 * 1024;
  enum Barrier : int { kFailed = 1, kOverwrites = 2 };

  JCCL_DEVICE InPlaceKernel(const InPlaceLaunch& launch, const Work& work, const DeviceChannel& channel, Shared& shared)
      : launch_(launch),
        work_(work),
        shared_(shared),
        sequence_(operationsOf(channel) + 1),
        thread_(static_cast<int>(simt::threadIndex())),
        threads_(static_cast<int>(simt::blockThreads())) {}

  template <class Body>
  JCCL_DEVICE void forPeers(Body&& body) {
    for (int peer = thread_; peer < launch_.size; peer += threads_) {
      if (peer != launch_.rank) body(peer);
    }
  }

  // The buffer-exchange descriptor that `writer` writes at its reader.
  JCCL_DEVICE ExchangeDescriptor* descriptorOf(ExchangeDescriptor* descriptors, int writer) const {
    return descriptors + static_cast<size_t>(simt::blockIndex()) * launch_.size + writer;
  }

  JCCL_DEVICE WaitPlace placeOf(int peer) const {
    return {peer, TransportKind::P2p, WaitFor::BufferExchange, Protocol::Simple, sequence_};
  }

  // Writes buffer-exchange descriptors to the peers, and reads theirs. Returns false after a failure.
  JCCL_DEVICE bool meetBefore(bool& oneShot) {
    const uint64_t print = work_.fingerprint ^ fingerprintOf(sequence_, work_.code, work_.count, work_.root);
    const bool overwrites = work_.send == work_.recv;
    forPeers([&](int peer) {
      ExchangeDescriptor* descriptor = descriptorOf(work_.peers[peer].descriptors, launch_.rank);
      simt::storePeer<8>(&descriptor->send, work_.peers[peer].sendThere);
      simt::storePeer<8>(&descriptor->recv, work_.peers[peer].recvThere);
      simt::storePeer<8>(&descriptor->fingerprint, print);
      simt::storePeer<8>(&descriptor->overwrites, uint64_t{overwrites});
      simt::storeRelease(&descriptor->posted, sequence_);
    });
    if (thread_ == 0) {
      shared_.sends[launch_.rank] = work_.send;
      shared_.recvs[launch_.rank] = work_.recv;
    }
    const Waiter waiter(shared_.wait);
    bool failed = false, anyOverwrites = overwrites;
    forPeers([&](int peer) {
      const ExchangeDescriptor* descriptor = descriptorOf(launch_.descriptors, peer);
      const auto posted = [&] { return simt::loadAcquire(&descriptor->posted) == sequence_; };
      if (failed || !waiter.wait(posted, placeOf(peer))) {
        failed = true;
        return;
      }
      if (simt::loadPeer<8>(&descriptor->fingerprint) != print) {
        waiter.fail(Code::Mismatch, placeOf(peer));
        failed = true;
        return;
      }
      shared_.sends[peer] = reinterpret_cast<const uint8_t*>(simt::loadPeer<8>(&descriptor->send));
      shared_.recvs[peer] = reinterpret_cast<uint8_t*>(simt::loadPeer<8>(&descriptor->recv));
      anyOverwrites = anyOverwrites || simt::loadPeer<8>(&descriptor->overwrites) != 0;
    });
    if (simt::syncOr(kFailed, threads_, failed)) return false;
    const bool small = work_.count * sizeOf(work_.code.type) <= kMaxOneShotBytes;
    oneShot = !simt::syncOr(kOverwrites, threads_, anyOverwrites) && small;
    return true;
  }

  // No two ranks touch the same element of a buffer, except to read it.
  JCCL_DEVICE void move(bool oneShot) {
    const size_t element = sizeOf(work_.code.type);
    const size_t channels = work_.choice.channels, channel = simt::blockIndex();
    const int n = launch_.size;
    const bool reads = work_.code.collective != Collective::AllGather;
    size_t from = 0, to = 0, count = 0;
    int destinations = n;
    if (work_.code.collective == Collective::AllReduce) {
      ring::Part shard{0, work_.count};
      if (oneShot) {
        destinations = 1;
      } else {
        ring::share(work_.count, launch_.rank, n, shard.begin, shard.count);
      }
      size_t skip = 0;
      ring::share(shard.count, channel, channels, skip, count);
      from = to = shard.begin + skip;
    } else {
      const PartPlan parts{work_.counts, work_.displacements, work_.count, channel, channels};
      const ring::Part large = ring::partOf(parts, launch_.rank);
      const size_t small = ring::shareOfPart(parts, launch_.rank).begin;
      count = large.count;
      from = reads ? large.begin : small;
      to = reads ? small : large.begin;
      if (reads) destinations = 1;
    }
    const int sources = reads ? n : 1;
    for (int i = thread_; i < sources; i += threads_) {
      shared_.sources[i] = (reads ? shared_.sends[i] : work_.send) + from * element;
    }
    // Every rank begins with another destination, so that they do not all write to one memory at a time.
    for (int i = thread_; i < destinations; i += threads_) {
      shared_.destinations[i] = shared_.recvs[(launch_.rank + i) % n] + to * element;
    }
    simt::syncBlock();
    const Team team{static_cast<unsigned>(thread_), static_cast<unsigned>(threads_)};
    const Operands operands{shared_.sources, sources, shared_.destinations, destinations};
    const bool divides = reads && work_.code.op == ReduceOp::Avg;
    const Reduction reduction = reductionOf(work_.code.type, work_.code.op, divides ? static_cast<uint32_t>(n) : 1);
    Mover<E>(team, operands, reduction).run(count * element);
    simt::syncBlock();
  }

  JCCL_DEVICE bool meetAfter() {
    forPeers([&](int peer) {
      if constexpr (!Faults::kSkipsFence) simt::fence();
      simt::storeRelaxed(&descriptorOf(work_.peers[peer].descriptors, launch_.rank)->finished, sequence_);
    });
    const Waiter waiter(shared_.wait);
    bool failed = false;
    forPeers([&](int peer) {
      const ExchangeDescriptor* descriptor = descriptorOf(launch_.descriptors, peer);
      const auto finished = [&] { return simt::loadAcquire(&descriptor->finished) == sequence_; };
      failed = failed || !waiter.wait(finished, placeOf(peer));
    });
    return !simt::syncOr(kFailed, threads_, failed);
  }

  const InPlaceLaunch& launch_;
  const Work& work_;
  Shared& shared_;
  const uint64_t sequence_;
  const int thread_;
  const int threads_;
};

}  // namespace jccl::device
