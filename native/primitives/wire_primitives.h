// The primitives of the schedules for operations whose chunks are narrowed where they cross hosts (wire_format.h).
// Chunks within a host stay exact. Every chunk travels in a SIMPLE slot.
//
// A step that stores a result and sends it (Transfer::roundsStored) stores what other hosts will read: the result,
// narrowed and widened again. Later steps pass that on without changing it, so all ranks end with the same bits.
#pragma once

#include <algorithm>
#include <cstring>

#include "primitives/links.h"
#include "primitives/operation.h"
#include "primitives/step_waits.h"
#include "primitives/wire_format.h"

namespace jccl {

class WirePrimitives : private StepWaits<Protocol::Simple> {
 public:
  static constexpr Protocol kProtocol = Protocol::Simple;

  // `scratch` must have scratchBytes() bytes for the number of receive connections. `transfer.narrowing` must be set.
  WirePrimitives(Waiter& waiter, const Transfer& transfer, const Links& links, uint8_t* scratch)
      : StepWaits(waiter), transfer_(transfer), links_(links), scratch_(scratch) {}

  static size_t scratchBytes(int recvCount, size_t elementBytes) {
    return (static_cast<size_t>(recvCount) + kOwnTiles) * kTile * elementBytes;
  }

  using StepWaits::failed;

  // No user memory is sent or received directly.
  void finish() {}
  bool postsReceives() const { return false; }
  void postReceive(size_t, size_t, uint64_t) {}

  // As in HostPrimitives.
  void send(size_t in, size_t count) { forSlices({input(in), nullptr, in}, count, false, {}, links_); }
  void sendFromOutput(size_t out, size_t count) { forSlices({output(out), nullptr, out}, count, false, {}, links_); }
  void copySend(size_t in, size_t out, size_t count) {
    forSlices({input(in), output(out), out}, count, false, {}, links_);
  }
  void recv(size_t out, size_t count) { forSlices({nullptr, output(out), out}, count, true, {}, receivers()); }
  void recvCopySend(size_t out, size_t count) { forSlices({nullptr, output(out), out}, count, true, {}, links_); }
  void recvReduceSend(size_t in, size_t count) { forSlices({input(in), nullptr, in}, count, true, {}, links_); }
  void recvReduceCopy(size_t in, size_t out, size_t count, bool finish) {
    forSlices({input(in), output(out), in}, count, true, finish ? transfer_.post : PostOp{}, receivers());
  }
  void recvReduceCopySend(size_t in, size_t out, size_t count, bool finish) {
    forSlices({input(in), output(out), in}, count, true, finish ? transfer_.post : PostOp{}, links_);
  }
  void sendTo(int index, size_t in, size_t count) {
    forSlices({input(in), nullptr, in}, count, false, {}, Links{nullptr, 0, links_.send + index, 1, 0});
  }
  void recvFrom(int index, size_t out, size_t count) {
    forSlices({nullptr, output(out), out}, count, true, {}, Links{links_.recv + index, 1, nullptr, 0, 0});
  }
  void copy(size_t in, size_t out, size_t count) {
    if (failed_ || count == 0 || input(in) == output(out)) return;
    std::memmove(output(out), input(in), count * transfer_.elementBytes);
  }
  void reduceCopy(size_t in, size_t out, size_t count) {
    if (failed_ || count == 0) return;
    const void* source = input(in);
    void* destination = output(out);
    transfer_.reduce(&destination, 1, &source, 1, count, transfer_.post, 0);
  }

 private:
  // Number of elements that are processed at a time, so that all intermediate results stay in the core's own cache.
  static constexpr size_t kTile = 1024;
  static constexpr size_t kOwnTiles = 2;  // a result, and its narrowed form
  static_assert(kTile % kWireBlock == 0);

  // A chunk of this rank. `position`: place of its first element in the buffer whose elements all ranks number alike.
  struct Place {
    const uint8_t* in;
    uint8_t* out;
    size_t position;
  };

  // A slot that a step fills.
  struct Slot {
    uint8_t* data;
    bool narrowed;
  };

  const uint8_t* input(size_t offset) const { return transfer_.input + offset * transfer_.elementBytes; }
  uint8_t* output(size_t offset) const { return transfer_.output + offset * transfer_.elementBytes; }
  Links receivers() const { return Links{links_.recv, links_.recvCount, nullptr, 0, links_.ownPosition}; }

  uint32_t bytesOn(bool narrowed, size_t position, size_t count) const {
    return static_cast<uint32_t>(narrowed ? transfer_.narrowing->bytes(position, count)
                                          : count * transfer_.elementBytes);
  }

  void forSlices(Place place, size_t count, bool receives, const PostOp& post, const Links& links) {
    size_t done = 0;
    do {
      if (failed_) return;
      const size_t n = std::min(count - done, transfer_.sliceCount);
      step(place, n, receives ? links.recvCount : 0, post, links);
      const size_t bytes = n * transfer_.elementBytes;
      place = {place.in == nullptr ? nullptr : place.in + bytes, place.out == nullptr ? nullptr : place.out + bytes,
               place.position + n};
      done += n;
    } while (done < count);
  }

  void step(const Place& place, size_t count, int recvCount, const PostOp& post, const Links& links) {
    for (int i = 0; i < links.sendCount; ++i) {
      if (!waitForCredit(*links.send[i])) return;
    }
    const uint8_t* received[kMaxFanout];
    for (int i = 0; i < recvCount; ++i) {
      RecvConnection& connection = *links.recv[i];
      const uint32_t bytes = bytesOn(connection.narrows(), place.position, count);
      if (!waitForSlot(connection, checkWord(transfer_.fingerprint, bytes))) return;
      received[i] = connection.simpleChunk(bytes);
    }
    Slot sent[kMaxFanout];
    for (int i = 0; i < links.sendCount; ++i) {
      const SendConnection& connection = *links.send[i];
      const uint32_t bytes = bytesOn(connection.narrows(), place.position, count);
      sent[i] = {connection.memory.simpleChunk(connection.step, bytes), connection.narrows()};
    }
    for (size_t done = 0; done < count;) {
      const size_t n = std::min(count - done, kTile - (place.position + done) % kTile);
      tile(place, done, n, received, recvCount, sent, post, links);
      done += n;
    }
    for (int i = 0; i < links.sendCount; ++i) {
      const uint32_t bytes = bytesOn(sent[i].narrowed, place.position, count);
      links.send[i]->publish(kProtocol, bytes, checkWord(transfer_.fingerprint, bytes));
    }
    for (int i = 0; i < recvCount; ++i) links.recv[i]->release();
  }

  // Processes `count` elements of a step, after the first `done` ones. Tiles end where blocks end, so the narrowed
  // tiles of a chunk follow each other.
  void tile(const Place& place, size_t done, size_t count, const uint8_t* const* received, int recvCount,
            const Slot* sent, const PostOp& post, const Links& links) {
    const Narrowing& narrowing = *transfer_.narrowing;
    const size_t position = place.position + done;
    const size_t at = done * transfer_.elementBytes;
    const size_t wireAt = narrowing.bytes(place.position, done);
    const size_t bytes = count * transfer_.elementBytes;
    const size_t tileBytes = kTile * transfer_.elementBytes;
    const uint8_t* in = place.in == nullptr ? nullptr : place.in + at;
    uint8_t* out = place.out == nullptr ? nullptr : place.out + at;
    const bool forwards = recvCount == 1 && in == nullptr;
    uint8_t* const own = scratch_ + static_cast<size_t>(recvCount) * tileBytes;

    const void* sources[kMaxFanout + 1];
    sources[0] = in;  // a step has a source; the compiler does not know
    int sourceCount = 0;
    for (int i = 0; i < recvCount; ++i) {
      if (i == links.ownPosition && in != nullptr) sources[sourceCount++] = in;
      if (links.recv[i]->narrows()) {
        uint8_t* widened = forwards && out != nullptr ? out : scratch_ + static_cast<size_t>(i) * tileBytes;
        narrowing.codec.widen(received[i] + wireAt, widened, position, count);
        sources[sourceCount++] = widened;
      } else {
        sources[sourceCount++] = received[i] + at;
      }
    }
    if (sourceCount == recvCount && in != nullptr) sources[sourceCount++] = in;

    const uint8_t* result = static_cast<const uint8_t*>(sources[0]);
    if (sourceCount > 1 || post.divisor != 1) {
      void* target = out != nullptr ? out : own;
      transfer_.reduce(&target, 1, sources, sourceCount, count, post, 0);
      result = static_cast<const uint8_t*>(target);
    }

    const bool rounds = transfer_.roundsStored && out != nullptr && links.sendCount > 0 && !forwards;
    const uint8_t* wire = forwards && links.recv[0]->narrows() ? received[0] + wireAt : nullptr;
    const auto narrowInto = [&](uint8_t* to) {
      narrowing.codec.narrow(result, to, position, count, narrowing.key);
      wire = to;
    };
    for (int i = 0; i < links.sendCount; ++i) {
      if (!sent[i].narrowed) continue;
      uint8_t* to = sent[i].data + wireAt;
      if (wire == nullptr) {
        narrowInto(to);
      } else {
        std::memcpy(to, wire, narrowing.bytes(position, count));
      }
    }
    if (rounds) {
      if (wire == nullptr) narrowInto(own + tileBytes);
      narrowing.codec.widen(wire, out, position, count);
      result = out;
    } else if (out != nullptr && result != out) {
      std::memmove(out, result, bytes);
    }
    for (int i = 0; i < links.sendCount; ++i) {
      if (!sent[i].narrowed) std::memcpy(sent[i].data + at, result, bytes);
    }
  }

  const Transfer& transfer_;
  const Links& links_;
  uint8_t* scratch_;
};

}  // namespace jccl
