// The body of the kernels for the direct algorithm in place: ranks that all reach each other's memory read inputs from
// the peers' buffers, and write results into them. Every rank reduces its shard: all together read n x S bytes and
// write n x S, which is the minimum. Small all-reduces are one-shot: every rank reads all inputs and reduces everything for
// itself, unless a rank overwrites data that others still read. For larger data, these reads cost more than the writes to
// peers that they save.
//
// Each channel meets the same channel of all ranks twice: before any data moves, to exchange the addresses of the
// buffers, and again when all ranks have moved their data. No data goes through slots.
//
// If a peer cannot reach one of a rank's buffers, only that rank knows, and tells the others when they first meet. Then
// all ranks touch only their own buffers, and exchange the data through bounce buffers in their segments. The results
// are equal, bit for bit.
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
    Faults::pass(KernelPoint::Entry, launch.rank);
    if (beginBlock(shared.wait, channel, launch.control)) {
      Faults::pass(KernelPoint::HostWords, launch.rank);
      forWorks(launch, shared.work, shared.wait,
               [&](const Work& work) { return InPlaceKernel(launch, work, channel, shared).execute(channel); });
    }
    endBlock(shared.wait, launch.channels, launch.control);
  }

 private:
  static constexpr size_t kShareAlignment = 128;
  enum Barrier : int { kFailed = 1, kOverwrites = 2, kUnreachable = 3, kDiffers = 4 };
  enum class Manner : int { OneShot, TwoShot, Bounced };

  JCCL_DEVICE InPlaceKernel(const InPlaceLaunch& launch, const Work& work, const DeviceChannel& channel, Shared& shared)
      : launch_(launch),
        work_(work),
        shared_(shared),
        sequence_(operationsOf(channel) + 1),
        thread_(static_cast<int>(simt::threadIndex())),
        threads_(static_cast<int>(simt::blockThreads())) {}

  // Returns true if the work ended well.
  JCCL_DEVICE bool execute(DeviceChannel& channel) const {
    Manner manner{};
    if (!meetBefore(manner)) return false;
    Faults::pass(KernelPoint::Met, launch_.rank);
    if (manner == Manner::Bounced) {
      if (!moveBounced()) return false;
    } else {
      move(manner == Manner::OneShot);
    }
    Faults::pass(KernelPoint::Moved, launch_.rank);
    if (!meet(ExchangeDescriptor::kLastStep)) return false;
    if (thread_ == 0) countOperations(channel, 1);
    Faults::pass(KernelPoint::End, launch_.rank);
    return true;
  }

  template <class Body>
  JCCL_DEVICE void forPeers(Body&& body) const {
    JCCL_NO_UNROLL
    for (int peer = thread_; peer < launch_.size; peer += threads_) {
      if (peer != launch_.rank) body(peer);
    }
  }

  // Returns the buffer-exchange descriptor that rank `writer` writes. `descriptors` are those of the rank that reads
  // it, in that rank's memory.
  JCCL_DEVICE ExchangeDescriptor* descriptorOf(ExchangeDescriptor* descriptors, int writer) const {
    return descriptors + static_cast<size_t>(simt::blockIndex()) * launch_.size + writer;
  }

  JCCL_DEVICE WaitPlace placeOf(int peer) const {
    return {peer, TransportKind::P2p, WaitFor::BufferExchange, Protocol::Simple, sequence_};
  }

  // Meets all ranks, and learns the addresses of their buffers. Returns false after a failure. If all ranks use the same
  // places of symmetric windows, they know each other's addresses, and each sends one greeting to every peer. Otherwise
  // they exchange descriptors.
  JCCL_DEVICE bool meetBefore(Manner& manner) const {
    const uint64_t print = work_.fingerprint ^ fingerprintOf(sequence_, work_.code, work_.count, work_.root);
    if (thread_ == 0) {
      shared_.sends[launch_.rank] = work_.send;
      shared_.recvs[launch_.rank] = work_.recv;
    }
    const bool inWindows = work_.windows > Work::kOtherMemory;
    if (!inWindows) post(print);
    if (work_.windows != Work::kNoWindows) greet(print);
    bool all = false;
    if (inWindows) {
      if (!meetGreetings(print, all)) return false;
      if (!all) post(print);
    }
    uint64_t traits = traitsOf(work_);
    if (!all && !meetDescriptors(print, traits)) return false;
    const bool small = work_.count * sizeOf(work_.code.type) <= launch_.oneShotBytes;
    manner = (traits & ExchangeDescriptor::kUnreachable) != 0           ? Manner::Bounced
             : small && (traits & ExchangeDescriptor::kOverwrites) == 0 ? Manner::OneShot
                                                                        : Manner::TwoShot;
    return true;
  }

  JCCL_DEVICE static uint64_t traitsOf(const Work& work) {
    return (work.send == work.recv ? ExchangeDescriptor::kOverwrites : 0) |
           (work.unreachable != 0 ? ExchangeDescriptor::kUnreachable : 0);
  }

  JCCL_DEVICE void greet(uint64_t print) const {
    const uint64_t flag = sequence_ << 32;
    const simt::Vec16 cells{flag | work_.windows, flag | print >> 32};
    forPeers([&](int peer) {
      if constexpr (!Faults::kSkipsFence) simt::fence();  // the peer may read our send buffer from now on
      simt::storeCells(descriptorOf(work_.peers[peer].descriptors, launch_.rank)->greeting, cells);
    });
  }

  // Waits for the greetings of all ranks. Sets `all` to true if they all use the places that this rank uses, and then
  // lists their buffers.
  JCCL_DEVICE bool meetGreetings(uint64_t print, bool& all) const {
    const uint32_t flag = static_cast<uint32_t>(sequence_);
    const Waiter waiter(shared_.wait);
    bool failed = false, differs = false;
    forPeers([&](int peer) {
      const uint64_t* greeting = descriptorOf(launch_.descriptors, peer)->greeting;
      simt::Vec16 cells{};
      const auto greeted = [&] {
        cells = simt::loadCells(greeting);
        return cells.low >> 32 == flag && cells.high >> 32 == flag;
      };
      if (failed || !waiter.wait(greeted, placeOf(peer))) {
        failed = true;
        return;
      }
      if (static_cast<uint32_t>(cells.high) != print >> 32) {
        waiter.fail(Code::Mismatch, placeOf(peer));
        failed = true;
        return;
      }
      differs = differs || static_cast<uint32_t>(cells.low) != work_.windows;
      shared_.sends[peer] = reinterpret_cast<const uint8_t*>(work_.peers[peer].sendHere);
      shared_.recvs[peer] = reinterpret_cast<uint8_t*>(work_.peers[peer].recvHere);
      simt::fence();  // what the peer wrote before its greeting is visible from now on
    });
    if (simt::syncOr(kFailed, threads_, failed)) return false;
    all = !simt::syncOr(kDiffers, threads_, differs);
    return true;
  }

  // Writes this rank's buffer-exchange descriptors to the peers.
  JCCL_DEVICE void post(uint64_t print) const {
    forPeers([&](int peer) {
      ExchangeDescriptor* descriptor = descriptorOf(work_.peers[peer].descriptors, launch_.rank);
      simt::storePeer<8>(&descriptor->send, work_.peers[peer].sendThere);
      simt::storePeer<8>(&descriptor->recv, work_.peers[peer].recvThere);
      simt::storePeer<8>(&descriptor->fingerprint, print);
      simt::storePeer<8>(&descriptor->traits, traitsOf(work_));
      simt::storeRelease(&descriptor->posted, sequence_);
    });
  }

  // Reads the descriptors of all ranks. Adds the traits of their buffers to `traits`.
  JCCL_DEVICE bool meetDescriptors(uint64_t print, uint64_t& traits) const {
    const Waiter waiter(shared_.wait);
    bool failed = false;
    uint64_t all = traits;
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
      all |= simt::loadPeer<8>(&descriptor->traits);
    });
    if (simt::syncOr(kFailed, threads_, failed)) return false;
    const bool anyOverwrites = simt::syncOr(kOverwrites, threads_, (all & ExchangeDescriptor::kOverwrites) != 0);
    const bool anyUnreachable = simt::syncOr(kUnreachable, threads_, (all & ExchangeDescriptor::kUnreachable) != 0);
    traits =
        (anyOverwrites ? ExchangeDescriptor::kOverwrites : 0) | (anyUnreachable ? ExchangeDescriptor::kUnreachable : 0);
    return true;
  }

  // Moves data directly between the ranks' buffers. No two ranks access the same element, except to read it.
  JCCL_DEVICE void move(bool oneShot) const {
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
    JCCL_NO_UNROLL
    for (int i = thread_; i < sources; i += threads_) {
      shared_.sources[i] = (reads ? shared_.sends[i] : work_.send) + from * element;
    }
    // Every rank begins with another destination, so that they do not all write to one memory at the same time.
    JCCL_NO_UNROLL
    for (int i = thread_; i < destinations; i += threads_) {
      shared_.destinations[i] = shared_.recvs[(launch_.rank + i) % n] + to * element;
    }
    moveShared(sources, destinations, count * element, reads);
  }

  // Moves data between the buffers in `shared_`, which the threads have listed together.
  JCCL_DEVICE void moveShared(int sources, int destinations, size_t bytes, bool reduces) const {
    moveAlone(*this, sources, destinations, bytes, reduces);
  }
  JCCL_DEVICE_CALL static void moveAlone(const InPlaceKernel kernel, int sources, int destinations, size_t bytes,
                                         bool reduces) {
    kernel.moveNamed(sources, destinations, bytes, reduces);
  }
  JCCL_DEVICE void moveNamed(int sources, int destinations, size_t bytes, bool reduces) const {
    simt::syncBlock();
    const Team team{static_cast<unsigned>(thread_), static_cast<unsigned>(threads_)};
    const Operands operands{shared_.sources, sources, shared_.destinations, destinations};
    const bool divides = reduces && work_.code.op == ReduceOp::Avg;
    const Reduction reduction =
        reductionOf(work_.code.type, work_.code.op, divides ? static_cast<uint32_t>(launch_.size) : 1);
    Mover<E>(team, operands, reduction).run(bytes);
    simt::syncBlock();
  }

  // A share is the data that a rank contributes to another, or gets from it: its offset in a buffer of all shares, its
  // offset in a buffer of this rank's share only, and its number of elements.
  struct Share {
    size_t large, small, count;
  };
  JCCL_DEVICE Share shareOf(int rank) const { return shareAlone(*this, rank); }
  JCCL_DEVICE_CALL static Share shareAlone(const InPlaceKernel kernel, int rank) { return kernel.shareFor(rank); }
  JCCL_DEVICE Share shareFor(int rank) const {
    const size_t channels = work_.choice.channels, channel = simt::blockIndex();
    if (work_.code.collective == Collective::AllReduce) {
      ring::Part shard{};
      size_t skip = 0, count = 0;
      ring::share(work_.count, rank, launch_.size, shard.begin, shard.count);
      ring::share(shard.count, channel, channels, skip, count);
      return {shard.begin + skip, 0, count};
    }
    const PartPlan parts{work_.counts, work_.displacements, work_.count, channel, channels};
    const ring::Part large = ring::partOf(parts, rank);
    return {large.begin, ring::shareOfPart(parts, rank).begin, large.count};
  }

  // Works in rounds; in each a rank moves as much as a bounce buffer holds. First it copies into its own bounce buffer
  // the data that others reduce or gather. Then it reduces its share of all ranks' data, for an all-reduce into its own
  // bounce buffer. Finally it copies the shares of all ranks from their bounce buffers.
  JCCL_DEVICE bool moveBounced() const {
    const int n = launch_.size, self = launch_.rank;
    const bool reduces = work_.code.collective != Collective::AllGather;
    const bool gathers = work_.code.collective != Collective::ReduceScatter;
    const size_t element = sizeOf(work_.code.type);
    const size_t shareBytes = kBounceBytes / n / kShareAlignment * kShareAlignment;
    const size_t most = shareBytes / element;
    const Share own = shareOf(self);
    size_t longest = 0;
    JCCL_NO_UNROLL
    for (int rank = 0; rank < n; ++rank) {
      const size_t count = shareOf(rank).count;
      if (count > longest) longest = count;
    }
    const auto bounceOf = [&](int rank, int share) {
      return reinterpret_cast<uint8_t*>(work_.peers[rank].descriptors) + launch_.bounceOffset +
             simt::blockIndex() * kBounceBytes + share * shareBytes;
    };
    uint64_t step = 0;
    JCCL_NO_UNROLL
    for (size_t done = 0; done < longest; done += most) {
      const auto bytesOf = [&](const Share& share) {
        const size_t left = share.count > done ? share.count - done : 0;
        return (left < most ? left : most) * element;
      };
      const auto copy = [&](const uint8_t* from, uint8_t* to, size_t bytes) {
        if (thread_ == 0) {
          shared_.sources[0] = from;
          shared_.destinations[0] = to;
        }
        moveShared(1, 1, bytes, false);
      };
      // Waits until all ranks have read the bounce buffers of the previous round.
      if (done != 0 && !meet(++step)) return false;
      if (reduces) {
        JCCL_NO_UNROLL
        for (int rank = 0; rank < n; ++rank) {
          const Share share = shareOf(rank);
          copy(work_.send + (share.large + done) * element, bounceOf(self, rank), bytesOf(share));
        }
      } else {
        copy(work_.send + (own.small + done) * element, bounceOf(self, self), bytesOf(own));
      }
      if (!meet(++step)) return false;
      if (reduces) {
        JCCL_NO_UNROLL
        for (int rank = thread_; rank < n; rank += threads_) shared_.sources[rank] = bounceOf(rank, self);
        if (thread_ == 0) {
          shared_.destinations[0] = gathers ? bounceOf(self, self) : work_.recv + (own.small + done) * element;
        }
        moveShared(n, 1, bytesOf(own), true);
      }
      if (!gathers) continue;
      if (reduces && !meet(++step)) return false;
      JCCL_NO_UNROLL
      for (int rank = 0; rank < n; ++rank) {
        const Share share = shareOf(rank);
        copy(bounceOf(rank, rank), work_.recv + (share.large + done) * element, bytesOf(share));
      }
    }
    return true;
  }

  // Waits until all ranks have reached this step of the operation. This rank then sees everything that they wrote
  // before they reached the step. No peer is more than one step ahead of this rank.
  JCCL_DEVICE bool meet(uint64_t step) const { return meetAlone(*this, step); }
  JCCL_DEVICE_CALL static bool meetAlone(const InPlaceKernel kernel, uint64_t step) { return kernel.meetAt(step); }
  JCCL_DEVICE bool meetAt(uint64_t step) const {
    const uint64_t reached = sequence_ << ExchangeDescriptor::kStepBits | step;
    forPeers([&](int peer) {
      if constexpr (!Faults::kSkipsFence) simt::fence();
      simt::storeRelaxed(&descriptorOf(work_.peers[peer].descriptors, launch_.rank)->finished, reached);
    });
    const Waiter waiter(shared_.wait);
    bool failed = false;
    forPeers([&](int peer) {
      const ExchangeDescriptor* descriptor = descriptorOf(launch_.descriptors, peer);
      const auto finished = [&] { return simt::loadAcquire(&descriptor->finished) >= reached; };
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
