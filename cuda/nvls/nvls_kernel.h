// NVLS: the switch between the GPUs reduces and multicasts. Each rank binds slots to one multicast object. A chunk
// passes a slot in three phases:
//
//   all-reduce       fill: own data    work: reduce own shard from all, store it to all    finish: copy all out
//   reduce-scatter   fill: own data    work: reduce own shard from all into own slot       finish: copy own shard out
//   all-gather       fill: own data    work: store own part to all                         finish: copy all parts out
//
// After the fill and after the work, each rank sets a flag in the memory of all ranks, and waits for the flags of all.
// So a rank may refill a slot as soon as it has finished the slot's chunk. When a rank's kernel has ended, no other
// rank accesses that rank's memory. Three slots are in use at a time: one is filled, the work is done on the second,
// and the third is finished.
//
// If the buffers that the switch accesses are in symmetric windows, at the same places on all ranks, the switch works on
// them directly, without slots:
//
//   all-reduce       reduce own shard from all inputs, store it to all outputs
//   reduce-scatter   reduce own part from all inputs into the own output
//   all-gather       store own input to all outputs
//
// Before that each rank tells all others the places of its buffers. If they differ, or are not whole units of 16 bytes,
// the data goes through slots. After that the ranks set flags as for the work on a slot.
//
// The switch reduces in an order of its own: sums of floats may differ in their last bits from run to run. All ranks of
// an all-reduce get the same bits, because one rank reduces each shard.
#pragma once

#include <type_traits>

#include "cuda/kernels/block.h"
#include "cuda/nvls/multicast.h"
#include "cuda/nvls/nvls_launch.h"
#include "cuda/primitives/elements.h"
#include "cuda/primitives/faults.h"
#include "cuda/primitives/move.h"

namespace jccl::device {

// Calls run(std::integral_constant) with the switch's reduction for an operation on elements of this type.
template <class E, class Run>
JCCL_DEVICE void withSwitchReduction(const Reduction& reduction, const Run& run) {
  using R = simt::SwitchReduction;
  const auto as = [&](auto signedOne, auto unsignedOne) {
    return reduction.isSigned ? run(signedOne) : run(unsignedOne);
  };
  if constexpr (std::is_same_v<E, Float16>) {
    run(std::integral_constant<R, R::SumFloat16>{});
  } else if constexpr (std::is_same_v<E, Bfloat16>) {
    run(std::integral_constant<R, R::SumBfloat16>{});
  } else if constexpr (std::is_same_v<E, Float32>) {
    run(std::integral_constant<R, R::SumFloat32>{});
  } else if constexpr (std::is_same_v<E, Float64>) {
    run(std::integral_constant<R, R::SumFloat64>{});
  } else {
    switch (reduction.op) {
      case ReduceOp::And:
        return run(std::integral_constant<R, R::And>{});
      case ReduceOp::Or:
        return run(std::integral_constant<R, R::Or>{});
      case ReduceOp::Xor:
        return run(std::integral_constant<R, R::Xor>{});
      default:
        break;
    }
    if constexpr (sizeof(typename E::Stored) == 4) {
      switch (reduction.op) {
        case ReduceOp::Min:
          return as(std::integral_constant<R, R::MinInt32>{}, std::integral_constant<R, R::MinUint32>{});
        case ReduceOp::Max:
          return as(std::integral_constant<R, R::MaxInt32>{}, std::integral_constant<R, R::MaxUint32>{});
        default:
          return run(std::integral_constant<R, R::SumInt32>{});
      }
    } else if constexpr (sizeof(typename E::Stored) == 8) {
      switch (reduction.op) {
        case ReduceOp::Min:
          return as(std::integral_constant<R, R::MinInt64>{}, std::integral_constant<R, R::MinUint64>{});
        case ReduceOp::Max:
          return as(std::integral_constant<R, R::MaxInt64>{}, std::integral_constant<R, R::MaxUint64>{});
        default:
          return run(std::integral_constant<R, R::SumInt64>{});
      }
    }
  }
}

template <class E, class Faults = NoFaults>
class NvlsKernel {
 public:
  static constexpr bool kExists = !std::is_same_v<E, E4m3> && !std::is_same_v<E, E5m2>;

  struct Shared {
    WaitControl wait;
    Storage<Work> work;
    const uint8_t* sources[MulticastChannel::kMaxRanks];
    uint8_t* destinations[MulticastChannel::kMaxRanks];
    // Multicast addresses of the buffers, null for memory outside of windows, and the number of their places.
    uint8_t* sendAll;
    uint8_t* recvAll;
    uint32_t place;
  };

  JCCL_DEVICE static void run(const NvlsLaunch& launch, Shared& shared) {
    DeviceChannel& channel = launch.channels[simt::blockIndex()];
    if (beginBlock(shared.wait, channel, launch.control)) {
      forWorks(launch, shared.work, shared.wait, [&](const Work& work) {
        NvlsKernel kernel(launch, work, channel, shared);
        if (!kernel.execute()) return false;
        if (kernel.thread_ == 0) countOperations(channel, 1);
        return true;
      });
    }
    endBlock(shared.wait, launch.channels, launch.control);
  }

 private:
  static constexpr size_t kWide = 16;
  // Number of multicast loads that a thread has in flight together.
  static constexpr int kLoads = 4;
  // The minimum size of a chunk, unless a slot holds less. Larger data is cut into chunks, so that one is filled while
  // the switch works on another.
  static constexpr size_t kMinChunkBytes = 32 * 1024;
  enum Barrier : int { kFailed = 1, kDiffers = 2 };

  JCCL_DEVICE NvlsKernel(const NvlsLaunch& launch, const Work& work, const DeviceChannel& channel, Shared& shared)
      : launch_(launch),
        work_(work),
        shared_(shared),
        own_(reinterpret_cast<MulticastChannel*>(launch.memory) + simt::blockIndex()),
        all_(reinterpret_cast<MulticastChannel*>(launch.multicast) + simt::blockIndex()),
        operations_(operationsOf(channel)),
        thread_(static_cast<int>(simt::threadIndex())),
        threads_(static_cast<int>(simt::blockThreads())),
        ranks_(static_cast<size_t>(launch.size)),
        element_(sizeOf(work.code.type)),
        reduces_(work.code.collective != Collective::AllGather),
        whole_(work.code.collective == Collective::AllReduce) {
    cut();
  }

  JCCL_DEVICE static size_t roundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

  // Computes this channel's number of elements of each part, and how many of them go through a slot at once. Both are
  // equal on all ranks. An all-reduce has one part, other operations have one for each rank.
  JCCL_DEVICE void cut() {
    const size_t channels = work_.choice.channels;
    const size_t each = roundUp((work_.count + channels - 1) / channels, kWide / element_);
    begin_ = min(work_.count, simt::blockIndex() * each);
    count_ = min(each, work_.count - begin_);
    const size_t room = launch_.slotBytes / (kWide * ranks_) * kWide;  // bytes of one rank in a slot
    const size_t parts = whole_ ? 1 : ranks_;
    const size_t most = (whole_ ? room * ranks_ : room) / element_;
    const size_t least = roundUp(kMinChunkBytes / parts, kWide) / element_;
    chunk_ = min(most, max(least, roundUp((count_ + 3) / 4, kWide / element_)));
    stride_ = room;
    chunks_ = count_ == 0 ? 1 : (count_ + chunk_ - 1) / chunk_;
  }
  JCCL_DEVICE static size_t min(size_t a, size_t b) { return a < b ? a : b; }
  JCCL_DEVICE static size_t max(size_t a, size_t b) { return a < b ? b : a; }

  JCCL_DEVICE bool execute() {
    first_ = simt::loadRelaxed(&own_->uses);
    print_ = work_.fingerprint ^ fingerprintOf(operations_ + 1, work_.code, work_.count, work_.root);
    if (thread_ == 0) simt::storeMulticast(&all_->prints[launch_.rank], print_);
    if (launch_.windowCount != 0) {
      bool equal = false;
      if (!meet(equal)) return false;
      if (equal) return moveDirectly();
    }
    for (size_t i = 0; i < chunks_ + 2; ++i) {
      if (i < chunks_) {
        fill(i);
        arrive(i, MulticastChannel::kFilled);
      }
      if (i >= 1 && i <= chunks_) {
        if (!await(i - 1, MulticastChannel::kFilled)) return false;
        combine(i - 1);
        arrive(i - 1, MulticastChannel::kDone);
      }
      if (i >= 2) {
        if (!await(i - 2, MulticastChannel::kDone)) return false;
        finish(i - 2);
      }
    }
    if (thread_ == 0) simt::storeRelaxed(&own_->uses, first_ + chunks_);
    return true;
  }

  // Returns the multicast address of memory in a window, null for other memory. Mixes the place into `place`.
  JCCL_DEVICE uint8_t* multicastOf(const uint8_t* memory, size_t bytes, uint64_t& place) const {
    JCCL_NO_UNROLL
    for (uint32_t i = 0; i < launch_.windowCount; ++i) {
      const NvlsLaunch::Window& window = launch_.windows[i];
      const size_t offset = static_cast<size_t>(memory - window.memory);
      if (offset > window.bytes || bytes > window.bytes - offset) continue;
      place = (place + (i + 1) * 0x9e3779b97f4a7c15u + offset) * 0xd6e8feb86659fd93u;
      return window.multicast + offset;
    }
    return nullptr;
  }

  // Sets the multicast addresses of this rank's buffers, and their place: Work::kOtherMemory if the switch cannot work on
  // them. Called by one thread.
  JCCL_DEVICE void locate() const {
    const size_t part = work_.count * element_;
    const bool reads = reduces_, writes = whole_ || !reduces_;
    uint64_t place = 0;
    shared_.sendAll = reads ? multicastOf(work_.send, whole_ ? part : part * ranks_, place) : nullptr;
    shared_.recvAll = writes ? multicastOf(work_.recv, whole_ ? part : part * ranks_, place) : nullptr;
    const size_t addresses = reinterpret_cast<size_t>(work_.send) | reinterpret_cast<size_t>(work_.recv);
    const bool divides = reduces_ && work_.code.op == ReduceOp::Avg;
    const bool known = (!reads || shared_.sendAll != nullptr) && (!writes || shared_.recvAll != nullptr);
    shared_.place = known && !divides && (part | addresses) % kWide == 0 ? static_cast<uint32_t>(place >> 32) | 2
                                                                         : Work::kOtherMemory;
  }

  // Meets all ranks, and sets `equal` to true if the switch can work on the buffers of all of them. Returns false after a
  // failure.
  JCCL_DEVICE bool meet(bool& equal) const {
    const uint64_t number = (operations_ + 1) << 32;
    simt::syncBlock();
    if (thread_ == 0) {
      locate();
      simt::fenceAliases();
      uint64_t* own = &all_->places[launch_.rank];
      if constexpr (Faults::kSkipsFence) {
        simt::storeMulticast(own, number | shared_.place);
      } else {
        simt::releaseMulticast(own, number | shared_.place);
      }
    }
    simt::syncBlock();
    const Waiter waiter(shared_.wait);
    bool failed = false, differs = shared_.place == Work::kOtherMemory;
    for (int peer = thread_; peer < launch_.size && !failed; peer += threads_) {
      uint64_t found = 0;
      const auto met = [&] {
        found = simt::loadAcquire(&own_->places[peer]);
        return found >> 32 == number >> 32;
      };
      const WaitPlace place{peer, TransportKind::P2p, WaitFor::BufferExchange, Protocol::Simple, operations_ + 1};
      failed = !waiter.wait(met, place);
      if (!failed && simt::loadPeer<8>(&own_->prints[peer]) != print_) {
        waiter.fail(Code::Mismatch, place);
        failed = true;
      }
      differs = differs || static_cast<uint32_t>(found) != shared_.place;
    }
    simt::fenceAliases();
    if (simt::syncOr(kFailed, threads_, failed)) return false;
    equal = !simt::syncOr(kDiffers, threads_, differs);
    return true;
  }

  // Lets the switch work on the buffers in windows.
  JCCL_DEVICE bool moveDirectly() const {
    const size_t bytes = count_ * element_, first = begin_ * element_, rank = static_cast<size_t>(launch_.rank);
    const size_t part = first + rank * work_.count * element_;
    if (!reduces_) {
      const uint8_t* own = work_.send + first;
      uint8_t* all = shared_.recvAll + part;
      forWide(
          0, bytes, [&](size_t at) { return simt::loadPeer<16>(own + at); },
          [&](size_t at, const simt::Vec16& value) { simt::storeMulticast(all + at, value); });
    } else {
      withSwitchReduction<E>(reductionOf(work_.code.type, work_.code.op, 1), [&](auto reduction) {
        const uint8_t* from = shared_.sendAll + (whole_ ? first : part);
        const auto load = [&](size_t at) { return simt::loadReduced<decltype(reduction)::value>(from + at); };
        if (whole_) {
          const size_t shard = roundUp((bytes + ranks_ - 1) / ranks_, kWide);
          uint8_t* all = shared_.recvAll + first;
          forWide(min(rank * shard, bytes), min((rank + 1) * shard, bytes), load,
                  [&](size_t at, const simt::Vec16& value) { simt::storeMulticast(all + at, value); });
        } else {
          uint8_t* own = work_.recv + first;
          forWide(0, bytes, load, [&](size_t at, const simt::Vec16& value) { simt::storePeer<16>(own + at, value); });
        }
      });
    }
    arrive(0, MulticastChannel::kDone);
    if (!await(0, MulticastChannel::kDone)) return false;
    if (thread_ == 0) simt::storeRelaxed(&own_->uses, first_ + 1);
    return true;
  }

  JCCL_DEVICE size_t slotOf(size_t chunk) const { return (first_ + chunk) % MulticastChannel::kSlots; }
  JCCL_DEVICE uint64_t useOf(size_t chunk) const { return (first_ + chunk) / MulticastChannel::kSlots + 1; }
  JCCL_DEVICE size_t offsetOf(size_t chunk) const {
    return launch_.channelCount * sizeof(MulticastChannel) +
           (simt::blockIndex() * MulticastChannel::kSlots + slotOf(chunk)) * launch_.slotBytes;
  }
  // Returns the bytes of one part in a chunk.
  JCCL_DEVICE size_t bytesOf(size_t chunk) const { return min(chunk_, count_ - chunk * chunk_) * element_; }
  JCCL_DEVICE size_t placeOf(size_t part, size_t chunk) const {
    return (part * work_.count + begin_ + chunk * chunk_) * element_;
  }

  // Sets this rank's flag for a phase in the memory of all ranks. A rank that sees the flag also sees everything that
  // the threads of this block wrote before they called arrive().
  JCCL_DEVICE void arrive(size_t chunk, int phase) const {
    simt::syncBlock();
    if (thread_ != 0) return;
    simt::fenceAliases();
    uint64_t* flag = &all_->flags[slotOf(chunk)][phase][launch_.rank];
    if constexpr (Faults::kSkipsFence) {
      simt::storeMulticast(flag, useOf(chunk));
    } else {
      simt::releaseMulticast(flag, useOf(chunk));
    }
  }

  JCCL_DEVICE bool await(size_t chunk, int phase) const {
    const Waiter waiter(shared_.wait);
    bool failed = false;
    for (int peer = thread_; peer < launch_.size && !failed; peer += threads_) {
      const uint64_t* flag = &own_->flags[slotOf(chunk)][phase][peer];
      const WaitFor what = phase == MulticastChannel::kFilled ? WaitFor::Data : WaitFor::Credit;
      const WaitPlace place{peer, TransportKind::P2p, what, Protocol::Simple, first_ + chunk};
      failed = !waiter.wait([&] { return simt::loadAcquire(flag) >= useOf(chunk); }, place);
      if (!failed && chunk == 0 && phase == MulticastChannel::kFilled &&
          simt::loadPeer<8>(&own_->prints[peer]) != print_) {
        waiter.fail(Code::Mismatch, place);
        failed = true;
      }
    }
    simt::fenceAliases();
    return !simt::syncOr(kFailed, threads_, failed);
  }

  // Copies `parts` parts of `bytes` each. place(i, source, destination) sets the addresses of part i.
  template <class Place>
  JCCL_DEVICE void copy(size_t parts, size_t bytes, uint32_t divisor, Place&& place) const {
    for (size_t i = static_cast<size_t>(thread_); i < parts; i += static_cast<size_t>(threads_)) {
      place(i, shared_.sources[i], shared_.destinations[i]);
    }
    simt::syncBlock();
    const Team team{static_cast<unsigned>(thread_), static_cast<unsigned>(threads_)};
    const Reduction reduction = reductionOf(work_.code.type, work_.code.op, divisor);
    for (size_t i = 0; i < parts; ++i) {
      const Operands operands{shared_.sources + i, 1, shared_.destinations + i, 1};
      Mover<E, Moves::OneSource>(team, operands, reduction).run(bytes);
    }
    simt::syncBlock();
  }

  JCCL_DEVICE void fill(size_t chunk) const {
    uint8_t* slot = launch_.memory + offsetOf(chunk);
    const bool allParts = work_.code.collective == Collective::ReduceScatter;
    copy(allParts ? ranks_ : 1, bytesOf(chunk), 1, [&](size_t i, const uint8_t*& source, uint8_t*& destination) {
      source = work_.send + placeOf(i, chunk);
      destination = slot + (allParts ? i : whole_ ? 0 : static_cast<size_t>(launch_.rank)) * stride_;
    });
  }

  JCCL_DEVICE void combine(size_t chunk) const {
    const size_t bytes = bytesOf(chunk);
    const size_t rank = static_cast<size_t>(launch_.rank);
    const size_t shard = whole_ ? roundUp((bytes + ranks_ - 1) / ranks_, kWide) : stride_;
    const size_t begin = rank * shard;
    const size_t end = whole_ ? min(begin + shard, roundUp(bytes, kWide)) : begin + roundUp(bytes, kWide);
    uint8_t* own = launch_.memory + offsetOf(chunk);
    uint8_t* all = launch_.multicast + offsetOf(chunk);
    if (!reduces_) {
      return forWide(
          begin, end, [&](size_t at) { return simt::loadPeer<16>(own + at); },
          [&](size_t at, const simt::Vec16& value) { simt::storeMulticast(all + at, value); });
    }
    withSwitchReduction<E>(reductionOf(work_.code.type, work_.code.op, 1), [&](auto reduction) {
      const auto load = [&](size_t at) { return simt::loadReduced<decltype(reduction)::value>(all + at); };
      if (whole_) {
        forWide(begin, end, load, [&](size_t at, const simt::Vec16& value) { simt::storeMulticast(all + at, value); });
      } else {
        forWide(begin, end, load, [&](size_t at, const simt::Vec16& value) { simt::storePeer<16>(own + at, value); });
      }
    });
  }

  template <class Load, class Store>
  JCCL_DEVICE void forWide(size_t begin, size_t end, Load&& load, Store&& store) const {
    const size_t stride = static_cast<size_t>(threads_) * kWide;
    JCCL_NO_UNROLL
    for (size_t at = begin + static_cast<size_t>(thread_) * kWide; at < end; at += kLoads * stride) {
      simt::Vec16 words[kLoads] = {};
      JCCL_UNROLL
      for (int i = 0; i < kLoads; ++i) {
        if (at + i * stride < end) words[i] = load(at + i * stride);
      }
      JCCL_UNROLL
      for (int i = 0; i < kLoads; ++i) {
        if (at + i * stride < end) store(at + i * stride, words[i]);
      }
    }
  }

  JCCL_DEVICE void finish(size_t chunk) const {
    const uint8_t* slot = launch_.memory + offsetOf(chunk);
    const bool shard = work_.code.collective == Collective::ReduceScatter;
    const bool divides = reduces_ && work_.code.op == ReduceOp::Avg;
    copy(reduces_ ? 1 : ranks_, bytesOf(chunk), divides ? static_cast<uint32_t>(launch_.size) : 1,
         [&](size_t i, const uint8_t*& source, uint8_t*& destination) {
           source = slot + (shard ? static_cast<size_t>(launch_.rank) : i) * stride_;
           destination = work_.recv + placeOf(i, chunk);
         });
  }

  const NvlsLaunch& launch_;
  const Work& work_;
  Shared& shared_;
  MulticastChannel* const own_;
  MulticastChannel* const all_;
  const uint64_t operations_;
  const int thread_;
  const int threads_;
  const size_t ranks_;
  const size_t element_;
  const bool reduces_;
  const bool whole_;  // an all-reduce, in one part
  size_t begin_ = 0, count_ = 0, chunk_ = 0, chunks_ = 0, stride_ = 0;
  uint64_t first_ = 0;
  uint64_t print_ = 0;
};

}  // namespace jccl::device
