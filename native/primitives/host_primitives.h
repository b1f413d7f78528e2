// The primitives of the schedules on the host. One step receives a chunk from every receive connection, combines the
// chunks with this rank's input, and passes the result to this rank's output and every send connection.
//
// After a failure (deadline, abort, mismatch) the object stays failed: every further call returns at once, so schedules
// need no error handling and run to their end.
#pragma once

#include <algorithm>
#include <cstring>

#include "primitives/codecs.h"
#include "primitives/connection.h"
#include "primitives/links.h"
#include "primitives/operation.h"
#include "primitives/step_waits.h"
#include "primitives/zero_copy_transfer.h"

namespace jccl {

template <Protocol P, int FlagBits = 32>
class HostPrimitives : private StepWaits<P> {
 public:
  static constexpr Protocol kProtocol = P;

  // `scratch` must have space for (receive connections + 1) slices. Only LL and LL128 use it.
  HostPrimitives(Waiter& waiter, const Transfer& transfer, const Links& links, uint8_t* scratch)
      : StepWaits<P>(waiter), transfer_(transfer), links_(links), scratch_(scratch) {}

  using StepWaits<P>::failed;

  // Waits until the network no longer needs the user's buffers. Must be called once, after the schedule. With
  // Transfer::zeroCopy, user memory is sent without a copy, and a primitive that overwrites such memory waits until it
  // has been sent.
  void finish() {
    if (!transfer_.zeroCopy) return;
    bool sent = !failed_;
    for (int i = 0; i < links_.sendCount && sent; ++i)
      sent = waitUntilSent(*links_.send[i], links_.send[i]->zeroCopySends.end());
    if (!sent) waiter_.control().progress->revoke();
  }

  // Posts the address of a chunk that recv or recvCopySend will receive, `ahead` receives from now, so that a network
  // can write the chunk there directly. Until that receive has ended, the schedule must not write to that memory, and
  // may send from it only data on which the awaited chunk depends. Useful only if postsReceives() is true.
  bool postsReceives() const { return transfer_.zeroCopy && links_.recvCount == 1 && links_.recv[0]->isNet(); }
  void postReceive(size_t out, size_t count, uint64_t ahead) {
    if (count <= transfer_.sliceCount) postAddress(*links_.recv[0], output(out), count * transfer_.elementBytes, ahead);
  }

  // Offsets and counts are in elements. Input offsets count from this rank's input, output offsets from its output.
  void send(size_t in, size_t count) { forSlices(input(in), nullptr, count, false, {}, links_); }
  void sendFromOutput(size_t out, size_t count) { forSlices(output(out), nullptr, count, false, {}, links_); }
  void copySend(size_t in, size_t out, size_t count) { forSlices(input(in), output(out), count, false, {}, links_); }
  void recv(size_t out, size_t count) { forSlices(nullptr, output(out), count, true, {}, receivers()); }
  void recvCopySend(size_t out, size_t count) { forSlices(nullptr, output(out), count, true, {}, links_); }
  void recvReduceSend(size_t in, size_t count) { forSlices(input(in), nullptr, count, true, {}, links_); }
  // `finish`: this call completes the chunk, so averages are divided now.
  void recvReduceCopy(size_t in, size_t out, size_t count, bool finish) {
    forSlices(input(in), output(out), count, true, finish ? transfer_.post : PostOp{}, receivers());
  }
  void recvReduceCopySend(size_t in, size_t out, size_t count, bool finish) {
    forSlices(input(in), output(out), count, true, finish ? transfer_.post : PostOp{}, links_);
  }

  // Send to, or receive from, one of the connections.
  void sendTo(int index, size_t in, size_t count) {
    forSlices(input(in), nullptr, count, false, {}, Links{nullptr, 0, links_.send + index, 1, 0});
  }
  void recvFrom(int index, size_t out, size_t count) {
    forSlices(nullptr, output(out), count, true, {}, Links{links_.recv + index, 1, nullptr, 0, 0});
  }

  // Copies own data; no connection takes part.
  void copy(size_t in, size_t out, size_t count) {
    if (failed_ || count == 0 || input(in) == output(out)) return;
    copyBytes(output(out), input(in), count * transfer_.elementBytes);
  }
  // Copies own data and finishes it like a reduction of one rank.
  void reduceCopy(size_t in, size_t out, size_t count) {
    if (failed_ || count == 0) return;
    const void* source = input(in);
    void* destination = output(out);
    transfer_.reduce(&destination, 1, &source, 1, count, transfer_.post, transfer_.streaming ? 1 : 0);
  }

 private:
  using StepWaits<P>::wait;
  using StepWaits<P>::waitForCredit;
  using StepWaits<P>::waitForSlot;
  using StepWaits<P>::mismatch;
  using StepWaits<P>::waiter_;
  using StepWaits<P>::failed_;

  const uint8_t* input(size_t offset) const { return transfer_.input + offset * transfer_.elementBytes; }
  uint8_t* output(size_t offset) const { return transfer_.output + offset * transfer_.elementBytes; }
  Links receivers() const {
    return Links{links_.recv, links_.recvCount, nullptr, 0, links_.ownPosition, links_.atOnce};
  }

  // Cuts a chunk into slices, one step each. An empty chunk is one step, too.
  void forSlices(const uint8_t* in, uint8_t* out, size_t count, bool receives, PostOp post, const Links& links) {
    size_t done = 0;
    do {
      if (failed_) return;
      const size_t n = std::min(count - done, transfer_.sliceCount);
      const size_t at = done * transfer_.elementBytes;
      step(in == nullptr ? nullptr : in + at, out == nullptr ? nullptr : out + at, n, receives, post, links);
      done += n;
    } while (done < count);
  }

  void step(const uint8_t* in, uint8_t* out, size_t count, bool receives, const PostOp& post, const Links& links) {
    for (int i = 0; i < links.sendCount; ++i) {
      if (!waitForCredit(*links.send[i])) return;
    }
    const uint32_t bytes = static_cast<uint32_t>(count * transfer_.elementBytes);
    const uint32_t check = checkWord(transfer_.fingerprint, bytes);
    if (receives && links.atOnce && waiter_.control().core != CpuPlacement::kUnknown && !waitAcrossCores(links)) return;
    if constexpr (P == Protocol::Simple) {
      stepSimple(in, out, count, bytes, check, receives ? links.recvCount : 0, post, links);
    } else {
      stepPacked(in, out, count, bytes, check, receives ? links.recvCount : 0, post, links);
    }
  }

  // Executes a SIMPLE step, which reads the received chunks in their slots and writes results directly into slots.
  void stepSimple(const uint8_t* in, uint8_t* out, size_t count, uint32_t bytes, uint32_t check, int recvCount,
                  const PostOp& post, const Links& links) {
    const void* sources[kMaxFanout + 1];
    int sourceCount = 0;
    if (recvCount == 1 && in == nullptr) postAddress(*links.recv[0], out, bytes, 0);
    for (int i = 0; i < recvCount; ++i) {
      if (i == links.ownPosition && in != nullptr) sources[sourceCount++] = in;
      RecvConnection& connection = *links.recv[i];
      if (!waitForSlot(connection, check)) return;
      sources[sourceCount++] = connection.simpleChunk(bytes);
    }
    if (sourceCount == recvCount && in != nullptr) sources[sourceCount++] = in;
    if (out != nullptr && !waitUntilSent(out, bytes)) return;
    // User memory that no longer changes may be sent without a copy.
    const uint8_t* sendable = !transfer_.zeroCopy ? nullptr : out != nullptr ? out : recvCount == 0 ? in : nullptr;
    void* destinations[kMaxFanout + 1];
    int destinationCount = 0;
    unsigned streamed = 0;  // bit i: destination i is written past the caches
    const bool there = sourceCount == 1 && sources[0] == out && post.divisor == 1;
    if (out != nullptr && !there) {
      if (transfer_.streaming && !sendsZeroCopy(links)) streamed = 1;
      destinations[destinationCount++] = out;
    }
    for (int i = 0; i < links.sendCount; ++i) {
      const SendConnection& connection = *links.send[i];
      if (sendable != nullptr && connection.isNet()) continue;
      if (transfer_.streamingSlots && !connection.isNet() && destinationCount < 32) streamed |= 1u << destinationCount;
      destinations[destinationCount++] = connection.memory.simpleChunk(connection.step, bytes);
    }
    if (count != 0 && destinationCount != 0) {
      combine(destinations, destinationCount, sources, sourceCount, count, bytes, post, streamed);
    }
    for (int i = 0; i < links.sendCount; ++i) {
      if (sendable != nullptr && links.send[i]->isNet()) sendZeroCopy(*links.send[i], sendable, bytes);
      links.send[i]->publish<FlagBits>(P, bytes, check);
    }
    for (int i = 0; i < recvCount; ++i) release(*links.recv[i], bytes);
  }

  // Returns true if a network proxy reads the output next, so that the output should stay in the cache.
  bool sendsZeroCopy(const Links& links) const {
    if (!transfer_.zeroCopy) return false;
    return std::any_of(links.send, links.send + links.sendCount, [](const SendConnection* c) { return c->isNet(); });
  }

  void combine(void* const* destinations, int destinationCount, const void* const* sources, int sourceCount,
               size_t count, uint32_t bytes, const PostOp& post, unsigned streaming) {
    if (sourceCount == 1 && streaming == 0 && post.divisor == 1)
      return copyToAll(destinations, destinationCount, sources[0], bytes);
    transfer_.reduce(destinations, destinationCount, sources, sourceCount, count, post, streaming);
  }

  // Copies block by block, so that all copies except the first read from the cache.
  static void copyToAll(void* const* destinations, int destinationCount, const void* source, size_t bytes) {
    constexpr size_t kBlockBytes = 16 * 1024;
    size_t done = 0;
    do {
      const size_t block = destinationCount == 1 ? bytes : std::min(bytes - done, kBlockBytes);
      for (int i = 0; i < destinationCount; ++i) {
        std::memcpy(static_cast<uint8_t*>(destinations[i]) + done, static_cast<const uint8_t*>(source) + done, block);
      }
      done += block;
    } while (done < bytes);
  }

  // Executes an LL or LL128 step. Chunks to be reduced are unpacked into scratch, others straight into the output.
  // Network connections carry SIMPLE messages all the same, since nobody polls their slots for flags.
  void stepPacked(const uint8_t* in, uint8_t* out, size_t count, uint32_t bytes, uint32_t check, int recvCount,
                  const PostOp& post, const Links& links) {
    const uint8_t* result = in;
    if (recvCount > 0) {
      const size_t sliceBytes = (transfer_.sliceCount * transfer_.elementBytes + 63) / 64 * 64;
      uint8_t* target = out != nullptr ? out : scratch_;
      if (in == nullptr && recvCount == 1) {
        const uint8_t* source = take(*links.recv[0], target, bytes, check);
        if (source == nullptr) return;
        if (source != target) std::memcpy(target, source, bytes);
      } else {
        const void* sources[kMaxFanout + 1];
        int sourceCount = 0;
        for (int i = 0; i < recvCount; ++i) {
          if (i == links.ownPosition && in != nullptr) sources[sourceCount++] = in;
          sources[sourceCount++] = take(*links.recv[i], scratch_ + sliceBytes * (i + 1), bytes, check);
          if (sources[sourceCount - 1] == nullptr) return;
        }
        if (sourceCount == recvCount && in != nullptr) sources[sourceCount++] = in;
        void* destination = target;
        if (count != 0) transfer_.reduce(&destination, 1, sources, sourceCount, count, post, 0);
      }
      for (int i = 0; i < recvCount; ++i) {
        if (links.recv[i]->isNet()) release(*links.recv[i], bytes);
      }
      result = target;
    } else if (out != nullptr && in != nullptr && out != in && bytes != 0) {
      std::memcpy(out, in, bytes);
    }
    for (int i = 0; i < links.sendCount; ++i) pack(*links.send[i], result, bytes, check);
  }

  void pack(SendConnection& connection, const uint8_t* data, uint32_t bytes, uint32_t check) {
    const uint64_t step = connection.step;
    if (connection.isNet()) {
      if (bytes != 0) std::memcpy(connection.memory.simpleSlot(step), data, bytes);
      connection.publish<FlagBits>(Protocol::Simple, bytes, check);
      return;
    }
    uint32_t wireBytes;
    if constexpr (P == Protocol::LL) {
      wireBytes = LLCodec::wireBytes(bytes);
      LLCodec::pack(connection.memory.llSlot(step), LLFlags<FlagBits>::flagOf(step), check, data, bytes);
    } else {
      wireBytes = LL128Codec::wireBytes(bytes);
      LL128Codec::pack(connection.memory.ll128Slot(step), step + 1, check, data, bytes);
    }
    connection.publishPacked<FlagBits>(P, wireBytes);
  }

  // Returns the address of the next chunk: `slice`, into which it was unpacked, or on a network connection its slot,
  // which the caller must release. Null after a failure.
  const uint8_t* take(RecvConnection& connection, uint8_t* slice, uint32_t bytes, uint32_t check) {
    if (!connection.isNet()) return unpack(connection, slice, bytes, check) ? slice : nullptr;
    return waitForSlot(connection, check) ? connection.simpleChunk(bytes) : nullptr;
  }

  bool unpack(RecvConnection& connection, uint8_t* data, uint32_t bytes, uint32_t check) {
    const uint64_t step = connection.step;
    uint32_t found = 0;
    if constexpr (P == Protocol::LL) {
      const uint32_t flag = LLFlags<FlagBits>::flagOf(step);
      const uint8_t* slot = connection.memory.llSlot(step);
      if (!wait([&] { return LLCodec::load(slot, 0, flag, found); }, connection)) return false;
      if (found != check) return mismatch(connection);
      size_t at = LLCodec::unpack(slot, flag, data, 0, bytes);
      while (__builtin_expect(at < bytes, 0)) {
        const auto more = [&] { return (at = LLCodec::unpack(slot, flag, data, at, bytes)) == bytes; };
        if (!wait(more, connection)) return false;
      }
    } else {
      const uint8_t* slot = connection.memory.ll128Slot(step);
      if (!wait([&] { return LL128Codec::ready(slot, 0, step + 1); }, connection)) return false;
      if (LL128Codec::check(slot) != check) return mismatch(connection);
      size_t at = LL128Codec::unpack(slot, step + 1, data, 0, bytes);
      while (__builtin_expect(at < bytes, 0)) {
        const auto more = [&] { return (at = LL128Codec::unpack(slot, step + 1, data, at, bytes)) == bytes; };
        if (!wait(more, connection)) return false;
      }
    }
    release(connection, P == Protocol::LL ? LLCodec::wireBytes(bytes) : LL128Codec::wireBytes(bytes));
    return true;
  }

  void release(RecvConnection& connection, uint32_t wireBytes) {
    connection.release();
    if (links_.oneWay && !connection.isNet()) connection.prefetch(P, wireBytes);
  }

  // For oversubscribed ranks: first waits for the peers that share this core, one context switch for each. By then the
  // peers on other cores have published or are about to, so they are only polled: yielding to them would be a useless
  // context switch.
  bool waitAcrossCores(const Links& links) {
    for (int i = 0; i < links.recvCount; ++i) {
      const RecvConnection& connection = *links.recv[i];
      if (!waiter_.sharesCore(connection.sender)) continue;
      if (!wait([&] { return hasBegun(connection); }, connection)) return false;
    }
    int polls = Waiter::kPollsOfOtherCores;
    for (int i = 0; i < links.recvCount; ++i) {
      const RecvConnection& connection = *links.recv[i];
      if (!connection.isNet()) Waiter::poll([&] { return hasBegun(connection); }, polls);
    }
    return true;
  }

  // Returns true if the next chunk, or its beginning, has arrived.
  static bool hasBegun(const RecvConnection& connection) {
    const uint64_t step = connection.step;
    if (connection.isNet()) return connection.isPublished();
    if constexpr (P == Protocol::LL) {
      uint32_t check;
      return LLCodec::load(connection.memory.llSlot(step), 0, LLFlags<FlagBits>::flagOf(step), check);
    } else if constexpr (P == Protocol::LL128) {
      return LL128Codec::ready(connection.memory.ll128Slot(step), 0, step + 1);
    } else {
      return connection.isPublished();
    }
  }

  void postAddress(RecvConnection& connection, uint8_t* out, size_t bytes, uint64_t ahead) {
    if (!transfer_.zeroCopy || !connection.isNet() || ahead >= kSlots || out == nullptr) return;
    const auto expected = static_cast<uint32_t>(bytes);
    jccl::postAddress(connection, ahead, out, expected, checkWord(transfer_.fingerprint, expected));
  }

  // Waits until no chunk in this memory is still being sent.
  bool waitUntilSent(const uint8_t* begin, size_t bytes) {
    if (!transfer_.zeroCopy) return true;
    for (int i = 0; i < links_.sendCount; ++i) {
      SendConnection& connection = *links_.send[i];
      if (!waitUntilSent(connection, connection.zeroCopySends.endOver(begin, bytes, connection.cachedHead)))
        return false;
    }
    return true;
  }

  bool waitUntilSent(SendConnection& connection, uint64_t end) {
    if (jccl::waitUntilSent(waiter_, connection, end, P)) return true;
    failed_ = true;
    return false;
  }

  void copyBytes(uint8_t* to, const uint8_t* from, size_t bytes) const {
    if (!transfer_.streaming) {
      std::memmove(to, from, bytes);
      return;
    }
    void* destination = to;
    const void* source = from;
    transfer_.reduce(&destination, 1, &source, 1, bytes / transfer_.elementBytes, PostOp{}, 1);
  }

  const Transfer& transfer_;
  const Links& links_;
  uint8_t* scratch_;
};

}  // namespace jccl
