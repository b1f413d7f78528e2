// The primitives of the schedules on the device: the operations of native/primitives/host_primitives.h, executed by the
// threads of a block together. Every thread of the block calls the same functions with the same arguments.
//
// A step:
//
//     waiting    thread i of the team waits until link i has credit or, for SIMPLE, its chunk
//     meeting    the team agrees that all links are ready, or that the operation has failed
//     moving     all threads of the team move data; LL and LL128 wait for their flags meanwhile
//     meeting    the whole block
//     publishing one thread per link: a fence, then the published step and the freed slot
//
// With SIMPLE in a large block, the last warp only publishes, so that its fence overlaps the next step.
//
// After a failure (deadline, abort, mismatch) the object stays failed: every further call returns at once.
//
// A block has one object in shared memory, so that its members need no registers while chunks move. Its only variable
// is `failed_`, on which all threads agree after each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cuda/primitives/compiler.h"
#include "cuda/primitives/faults.h"
#include "cuda/primitives/links.h"
#include "cuda/primitives/ll.h"
#include "cuda/primitives/ll128.h"
#include "cuda/primitives/move.h"

namespace jccl::device {

// Facts about the operation that the primitives need.
struct DeviceTransfer {
  const uint8_t* input;
  uint8_t* output;
  uint32_t elementBytes;
  size_t sliceCount;  // elements per step, at most the payload of a slot
  Reduction reduction;
  uint32_t fingerprint;
  OperationCode code;  // written to slot headers, for the proxy of a network that reduces
};

template <Protocol P, class E, class Faults = NoFaults, int FlagBits = 32>
class DevicePrimitives {
 public:
  JCCL_DEVICE DevicePrimitives(BlockState& state, const ConnectionShape& shape, const DeviceTransfer& transfer,
                               const LinkRange& links)
      : state_(state), shape_(shape), transfer_(transfer), links_(links) {}

  // Returns the size of the team: the threads of a block that wait for chunks and slots, and that move data. In large
  // blocks that use SIMPLE, the team lacks the last warp, which only publishes.
  JCCL_DEVICE static unsigned teamThreads(unsigned blockThreads) {
    return P == Protocol::Simple && blockThreads >= kMinSpecialised ? blockThreads - simt::kWarpThreads : blockThreads;
  }

  JCCL_DEVICE bool failed() const { return failed_; }

  // Offsets and counts are in elements, as in HostPrimitives. The functions are not inlined, because schedules contain
  // many calls.
  JCCL_DEVICE_CALL void send(size_t in, size_t count) { forSlices(input(in), nullptr, count, senders(), false); }
  JCCL_DEVICE_CALL void sendFromOutput(size_t out, size_t count) {
    forSlices(output(out), nullptr, count, senders(), false);
  }
  JCCL_DEVICE_CALL void copySend(size_t in, size_t out, size_t count) {
    forSlices(input(in), output(out), count, senders(), false);
  }
  JCCL_DEVICE_CALL void recv(size_t out, size_t count) { forSlices(nullptr, output(out), count, receivers(), false); }
  JCCL_DEVICE_CALL void recvCopySend(size_t out, size_t count) {
    forSlices(nullptr, output(out), count, links_, false);
  }
  // Passes on data for other ranks.
  JCCL_DEVICE_CALL void recvSend(size_t count) { forSlices(nullptr, nullptr, count, links_, false); }
  JCCL_DEVICE_CALL void recvReduceSend(size_t in, size_t count) { forSlices(input(in), nullptr, count, links_, false); }
  JCCL_DEVICE_CALL void recvReduceCopy(size_t in, size_t out, size_t count, bool finish) {
    forSlices(input(in), output(out), count, receivers(), finish);
  }
  JCCL_DEVICE_CALL void recvReduceCopySend(size_t in, size_t out, size_t count, bool finish) {
    forSlices(input(in), output(out), count, links_, finish);
  }
  JCCL_DEVICE_CALL void sendTo(int index, size_t in, size_t count) {
    forSlices(input(in), nullptr, count, {0, 0, links_.firstSend + index, 1, 0}, false);
  }
  JCCL_DEVICE_CALL void recvFrom(int index, size_t out, size_t count) {
    forSlices(nullptr, output(out), count, {links_.firstRecv + index, 1, 0, 0, 0}, false);
  }

  JCCL_DEVICE_CALL void copy(size_t in, size_t out, size_t count) {
    if (input(in) != output(out)) own(input(in), output(out), count * transfer_.elementBytes);
  }
  // Called only with one rank: the result is the rank's own input.
  JCCL_DEVICE void reduceCopy(size_t in, size_t out, size_t count) { copy(in, out, count); }

  // Kernels receive through slots, never directly into the output, so no address is posted for a network.
  JCCL_DEVICE static constexpr bool postsReceives() { return false; }
  JCCL_DEVICE void postReceive(size_t, size_t, uint64_t) {}

 private:
  // Blocks of at least this many threads have a warp that only publishes.
  static constexpr unsigned kMinSpecialised = 128;
  enum Barrier : int { kTeam = 1, kAll = 2 };

  JCCL_DEVICE const uint8_t* input(size_t offset) const { return transfer_.input + offset * transfer_.elementBytes; }
  JCCL_DEVICE uint8_t* output(size_t offset) const { return transfer_.output + offset * transfer_.elementBytes; }
  JCCL_DEVICE LinkRange senders() const { return {0, 0, links_.firstSend, links_.sendCount, 0}; }
  JCCL_DEVICE LinkRange receivers() const { return {links_.firstRecv, links_.recvCount, 0, 0, links_.ownPosition}; }

  // Cuts a chunk into slices of one step each. An empty chunk is one step, too.
  JCCL_DEVICE_CALL void forSlices(const uint8_t* in, uint8_t* out, size_t count, LinkRange links, bool finish) {
    const Team team{simt::threadIndex(), teamThreads(simt::blockThreads())};
    Reduction reduction = transfer_.reduction;
    if (!finish) reduction.divisor = 1;
    size_t done = 0;
    do {
      if (failed_) return;
      const size_t n = count - done < transfer_.sliceCount ? count - done : transfer_.sliceCount;
      step(team, in, out, static_cast<uint32_t>(n * transfer_.elementBytes), links, reduction);
      if (in != nullptr) in += n * transfer_.elementBytes;
      if (out != nullptr) out += n * transfer_.elementBytes;
      done += n;
    } while (done < count);
  }

  JCCL_DEVICE void step(const Team& team, const uint8_t* in, uint8_t* out, uint32_t bytes, const LinkRange& links,
                        const Reduction& reduction) {
    const uint32_t check = checkWord(transfer_.fingerprint, bytes);
    bool ok = true;
    if (team.thread < team.threads) {
      ok = prepare(team, in, out, bytes, check, links);
      if (simt::syncOr(kTeam, static_cast<int>(team.threads), !ok)) {
        ok = false;
      } else if constexpr (Faults::kSwitched) {
        const uint32_t moved = bytes != 0 && Faults::losesElement(reduction) ? bytes - transfer_.elementBytes : bytes;
        LinkRange reached = links;
        if (Faults::dropsFlag(reduction)) reached.sendCount = 0;
        ok = move(team, in, out, moved, check, reached, reduction);
      } else {
        ok = move(team, in, out, bytes, check, links, reduction);
      }
    }
    if (simt::syncOr(kAll, static_cast<int>(simt::blockThreads()), !ok)) {
      failed_ = true;
    } else {
      post(team, bytes, check, links);
    }
  }

  // Waits for the links of this thread, and stores where their chunks are. Returns false after a failure.
  JCCL_DEVICE bool prepare(const Team& team, const uint8_t* in, uint8_t* out, uint32_t bytes, uint32_t check,
                           const LinkRange& links) {
    const Waiter waiter(state_.wait);
    for (int i = static_cast<int>(team.thread); i < links.sendCount; i += static_cast<int>(team.threads)) {
      ActiveLink& link = state_.sends[links.firstSend + i];
      if (!waitForCredit(waiter, link)) return false;
      state_.sent[links.firstSend + i] = chunkOf(link, bytes);
      ++link.step;
    }
    for (int i = static_cast<int>(team.thread); i < links.recvCount; i += static_cast<int>(team.threads)) {
      ActiveLink& link = state_.recvs[links.firstRecv + i];
      if (P == Protocol::Simple && !waitForSlot(waiter, link, check)) return false;
      state_.received[links.firstRecv + i] = chunkOf(link, bytes);
      ++link.step;
    }
    if (P == Protocol::Simple) listOperands(team, in, out, links);
    return true;
  }

  JCCL_DEVICE SlotChunk chunkOf(const ActiveLink& link, uint32_t bytes) const {
    if constexpr (P == Protocol::Simple) {
      return {link.slots + shape_.simpleChunkInSlots(link.step, bytes, link.rotates), link.step};
    } else {
      return {link.block + (P == Protocol::LL ? shape_.llSlot(link.step) : shape_.ll128Slot(link.step)), link.step};
    }
  }

  // For SIMPLE: lists sources and destinations in the order of the reduction. The thread that waits for a link writes
  // the link's entry.
  JCCL_DEVICE void listOperands(const Team& team, const uint8_t* in, uint8_t* out, const LinkRange& links) {
    const int own = links.ownPosition < links.recvCount ? links.ownPosition : links.recvCount;
    const int firstSend = out == nullptr ? 0 : 1;
    const int thread = static_cast<int>(team.thread), threads = static_cast<int>(team.threads);
    for (int i = thread; i < links.recvCount; i += threads) {
      state_.sources[in != nullptr && i >= own ? i + 1 : i] = state_.received[links.firstRecv + i].at;
    }
    for (int i = thread; i < links.sendCount; i += threads) {
      state_.destinations[firstSend + i] = state_.sent[links.firstSend + i].at;
    }
    if (thread != 0) return;
    if (in != nullptr) state_.sources[own] = in;
    if (out != nullptr) state_.destinations[0] = out;
  }

  JCCL_DEVICE bool move(const Team& team, const uint8_t* in, uint8_t* out, uint32_t bytes, uint32_t check,
                        const LinkRange& links, const Reduction& reduction) {
    if constexpr (P == Protocol::LL) {
      return LLMover<E, FlagBits>(state_, team, links, reduction).run(in, out, bytes, check, shape_);
    } else if constexpr (P == Protocol::LL128) {
      return LL128Mover<E, Faults>(state_, team, links, reduction).run(in, out, bytes, check);
    } else {
      const Operands operands{state_.sources, links.recvCount + (in == nullptr ? 0 : 1), state_.destinations,
                              links.sendCount + (out == nullptr ? 0 : 1)};
      const bool nothing = in != nullptr && in == out && operands.sourceCount == 1 && operands.destinationCount == 1 &&
                           reduction.divisor == 1;
      if (!nothing) Mover<E>(team, operands, reduction).run(bytes);
      return true;
    }
  }

  JCCL_DEVICE void post(const Team& team, uint32_t bytes, uint32_t check, const LinkRange& links) {
    // If the last warp only publishes, its threads divide the links among themselves. Otherwise all threads of the
    // block do.
    const unsigned first = team.threads < simt::blockThreads() ? team.threads : 0;
    if (team.thread < first) return;
    const int begin = static_cast<int>(team.thread - first);
    const int stride = static_cast<int>(simt::blockThreads() - first);
    if (begin >= links.recvCount && begin >= links.sendCount) return;
    bool empty = Faults::kSkipsEmptySteps && bytes == 0;
    if constexpr (Faults::kSwitched) empty = Faults::dropsFlag(transfer_.reduction);
    const auto publishes = [&](const ActiveLink& link) { return !empty && (P == Protocol::Simple || link.hasProxy()); };
    for (int i = begin; i < links.sendCount; i += stride) {
      const ActiveLink& link = state_.sends[links.firstSend + i];
      if (!empty && link.hasProxy()) writeHeader(link, bytes, check);
    }
    if constexpr (!Faults::kSkipsFence) simt::fence();
    for (int i = begin; i < links.sendCount; i += stride) {
      ActiveLink& link = state_.sends[links.firstSend + i];
      if (publishes(link)) {
        simt::storeRelaxed(headerOf<uint64_t>(link),
                           link.hasProxy() ? link.postStep + 1 : SlotWord::of(link.postStep, check));
      }
      ++link.postStep;
    }
    for (int i = begin; i < links.recvCount; i += stride) {
      ActiveLink& link = state_.recvs[links.firstRecv + i];
      simt::storeRelaxed(link.head, ++link.postStep);
    }
  }

  template <class T>
  JCCL_DEVICE T* headerOf(const ActiveLink& link) const {
    return reinterpret_cast<T*>(link.block + shape_.slotHeader(link.postStep));
  }

  // Writes the slot's header for the proxy of a network, except `published`, which makes the slot visible to the proxy.
  JCCL_DEVICE void writeHeader(const ActiveLink& link, uint32_t bytes, uint32_t check) const {
    uint32_t wireBytes = bytes;
    if constexpr (P == Protocol::LL) {
      wireBytes = (1 + (bytes + kLLPayloadBytes - 1) / kLLPayloadBytes) * kLLCellBytes;
    } else if constexpr (P == Protocol::LL128) {
      wireBytes = (kLL128HeaderBytes + bytes + kLL128PayloadBytes - 1) / kLL128PayloadBytes * kLL128LineBytes;
    }
    uint8_t* header = headerOf<uint8_t>(link);
    simt::storePeer<4>(header + kHeaderProtocol,
                       static_cast<uint32_t>(P) | static_cast<uint32_t>(transfer_.code.encode()) << 8);
    simt::storePeer<8>(header + kHeaderCheck, check | uint64_t{wireBytes} << 32);
  }

  JCCL_DEVICE bool waitForCredit(const Waiter& waiter, ActiveLink& link) {
    constexpr uint64_t slots = Faults::kMiscountsCredit ? kSlots + 1 : kSlots;
    if (link.step < link.cachedHead + slots) return true;
    const auto granted = [&] {
      link.cachedHead = simt::loadAcquire(link.head);
      return link.step < link.cachedHead + slots;
    };
    return waiter.wait(granted, link.place(WaitFor::Credit, P, link.step));
  }

  JCCL_DEVICE bool waitForSlot(const Waiter& waiter, ActiveLink& link, uint32_t check) {
    const uint8_t* header = link.block + shape_.slotHeader(link.step);
    bool matches = false;
    const auto there = [&] { return link.isPublished(header, check, matches); };
    if (!waiter.wait(there, link.place(WaitFor::Data, P, link.step))) return false;
    if (matches) return true;
    waiter.fail(Code::Mismatch, link.place(WaitFor::Data, P, link.step));
    return false;
  }

  // Copies this rank's own data, between two barriers: no thread may still be writing data that another reads here, or
  // reading data that another writes.
  JCCL_DEVICE void own(const uint8_t* in, uint8_t* out, size_t bytes) {
    if (failed_ || bytes == 0) return;
    const Team all{simt::threadIndex(), simt::blockThreads()};
    if (all.thread == 0) {
      state_.sources[0] = in;
      state_.destinations[0] = out;
    }
    simt::syncThreads(kAll, static_cast<int>(all.threads));
    OwnMover(all, Operands{state_.sources, 1, state_.destinations, 1}).run(bytes);
    simt::syncThreads(kAll, static_cast<int>(all.threads));
  }

  // SIMPLE uses Mover<E> for slots, so copies need no second Mover's code.
  using OwnMover = std::conditional_t<P == Protocol::Simple, Mover<E>, Copier>;

  static constexpr size_t kHeaderCheck = offsetof(SlotHeader, check);
  static constexpr size_t kHeaderProtocol = offsetof(SlotHeader, protocol);

  BlockState& state_;
  const ConnectionShape& shape_;
  const DeviceTransfer& transfer_;
  const LinkRange links_;
  bool failed_ = false;
};

}  // namespace jccl::device
