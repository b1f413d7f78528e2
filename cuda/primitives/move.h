// Moving and reducing memory with all threads that work for a block: what SIMPLE does with its slots, and what needs no
// slots at all.
//
// destinations[*][i] = finish(sources[0][i] op sources[1][i] op ...), one call of native/primitives/reduce.h; a destination
// may be one of the sources. Memory is cut into
//
//     [ head | 16 bytes | 16 bytes | ... | tail ]     where all pointers come to a 16-byte boundary at the same offset,
//     [ 16 bytes | 16 bytes | ...        | tail ]     where they do not; then each pointer is accessed as its own address allows
//
// and every thread takes several 16 bytes at a time: all loads of them are in flight before the first result is stored. All
// accesses bypass L1: others write the sources or read the destinations, or no thread will read them again soon.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/device/memory.h"
#include "cuda/primitives/compiler.h"
#include "cuda/primitives/elements.h"

namespace jccl::device {

// The threads that share the work.
struct Team {
  unsigned thread;
  unsigned threads;
};

// Whose pointers are in shared memory.
struct Operands {
  const uint8_t* const* sources;
  int sourceCount;
  uint8_t* const* destinations;
  int destinationCount;
};

template <class E>
class Mover {
 public:
  JCCL_DEVICE Mover(const Team& team, const Operands& operands, const Reduction& reduction)
      : team_(team), operands_(operands), reduction_(reduction) {}

  // A call of its own, so that the registers of its caller do not add to its own. It takes values: what is behind a pointer to
  // this would be read from local memory by every loop.
  JCCL_DEVICE void run(size_t bytes) const { runAlone(*this, bytes); }

 private:
  JCCL_DEVICE_CALL static void runAlone(const Mover mover, size_t bytes) { mover.move(bytes); }
  // For what is in many places, where little is moved.
  JCCL_DEVICE_CALL static void narrowAlone(const Mover mover, size_t begin, size_t end) {
    mover.eachElement(begin, end);
  }

  JCCL_DEVICE void move(size_t bytes) const {
    if (operands_.destinationCount == 0 || bytes == 0) return;
    uintptr_t different = 0;
    const uintptr_t first = reinterpret_cast<uintptr_t>(operands_.sources[0]);
    for (int s = 1; s < operands_.sourceCount; ++s) different |= addressOf(operands_.sources[s]) ^ first;
    for (int d = 0; d < operands_.destinationCount; ++d) different |= addressOf(operands_.destinations[d]) ^ first;
    size_t head = -first % kWide;
    const bool aligned = different % kWide == 0 && head % sizeof(Stored) == 0;
    if (!aligned) head = 0;
    if (bytes < kWide + head) return narrow(0, bytes);
    const size_t end = bytes - (bytes - head) % kWide;
    narrow(0, head);
    if (aligned) {
      wide(head, end);
    } else {
      mixed(end);
    }
    narrow(end, bytes);
  }

  using Stored = typename E::Stored;
  static constexpr size_t kWide = 16;
  // Loads of 16 bytes that a thread has in flight: 8, whether from one source or from two.
  static constexpr int kLoads = 8;

  JCCL_DEVICE static uintptr_t addressOf(const uint8_t* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

  // 16 bytes at a time, all aligned. The shapes of the ring are loops of their own, with as many loads in flight as the
  // registers hold.
  JCCL_DEVICE void wide(size_t begin, size_t end) const {
    if (operands_.sourceCount == 1 && reduction_.divisor == 1) {
      if (operands_.destinationCount == 1) return copyWide<1>(begin, end);
      if (operands_.destinationCount == 2) return copyWide<2>(begin, end);
    } else if (operands_.sourceCount == 2 && reduction_.divisor == 1) {
      // A loop for each operation, but where converting the numbers takes longer than to choose one.
      if constexpr (sizeof(Stored) <= 2) return reduceTwo<void>(begin, end);
      return withOperation<E>(reduction_.op, [&](auto op) { reduceTwo<decltype(op)>(begin, end); });
    }
    reduceMany(begin, end);
  }

  template <int Destinations>
  JCCL_DEVICE void copyWide(size_t begin, size_t end) const {
    const uint8_t* source = operands_.sources[0];
    uint8_t* destinations[Destinations];
    for (int d = 0; d < Destinations; ++d) destinations[d] = operands_.destinations[d];
    const size_t stride = team_.threads * kWide;
    size_t at = begin + team_.thread * kWide;
    for (; at + (kLoads - 1) * stride < end; at += kLoads * stride) {
      simt::Vec16 words[kLoads];
      JCCL_UNROLL
      for (int i = 0; i < kLoads; ++i) words[i] = simt::loadPeer<16>(source + at + i * stride);
      for (int d = 0; d < Destinations; ++d) {
        JCCL_UNROLL
        for (int i = 0; i < kLoads; ++i) simt::storePeer<16>(destinations[d] + at + i * stride, words[i]);
      }
    }
    for (; at < end; at += stride) {
      const simt::Vec16 word = simt::loadPeer<16>(source + at);
      for (int d = 0; d < Destinations; ++d) simt::storePeer<16>(destinations[d] + at, word);
    }
  }

  template <class Op>
  JCCL_DEVICE void reduceTwo(size_t begin, size_t end) const {
    constexpr int kPairs = kLoads / 2;
    const uint8_t* a = operands_.sources[0];
    const uint8_t* b = operands_.sources[1];
    const size_t stride = team_.threads * kWide;
    size_t at = begin + team_.thread * kWide;
    for (; at + (kPairs - 1) * stride < end; at += kPairs * stride) {
      simt::Vec16 left[kPairs], right[kPairs];
      JCCL_UNROLL
      for (int i = 0; i < kPairs; ++i) left[i] = simt::loadPeer<16>(a + at + i * stride);
      JCCL_UNROLL
      for (int i = 0; i < kPairs; ++i) right[i] = simt::loadPeer<16>(b + at + i * stride);
      JCCL_UNROLL
      for (int i = 0; i < kPairs; ++i) {
        left[i].low = folded<Op>(left[i].low, right[i].low);
        left[i].high = folded<Op>(left[i].high, right[i].high);
      }
      for (int d = 0; d < operands_.destinationCount; ++d) {
        uint8_t* to = operands_.destinations[d] + at;
        JCCL_UNROLL
        for (int i = 0; i < kPairs; ++i) simt::storePeer<16>(to + i * stride, left[i]);
      }
    }
    for (; at < end; at += stride) {
      simt::Vec16 word = simt::loadPeer<16>(a + at);
      const simt::Vec16 right = simt::loadPeer<16>(b + at);
      word.low = folded<Op>(word.low, right.low);
      word.high = folded<Op>(word.high, right.high);
      for (int d = 0; d < operands_.destinationCount; ++d) simt::storePeer<16>(operands_.destinations[d] + at, word);
    }
  }

  template <class Op>
  JCCL_DEVICE uint64_t folded(uint64_t a, uint64_t b) const {
    Accumulator<E> accumulator;
    accumulator.load(a);
    if constexpr (std::is_void_v<Op>) {
      accumulator.fold(b, reduction_);
    } else {
      accumulator.template fold<Op>(b, reduction_.isSigned);
    }
    return accumulator.pack();
  }

  // Any number of sources and destinations; the next source is in flight while one is folded.
  JCCL_DEVICE void reduceMany(size_t begin, size_t end) const {
    // Accumulators of narrow types take more registers than what they hold.
    constexpr int kMany = sizeof(Stored) >= 4 ? kLoads / 2 : sizeof(Stored) == 2 ? kLoads / 4 : 1;
    const size_t stride = team_.threads * kWide;
    size_t at = begin + team_.thread * kWide;
    if constexpr (kMany > 1) {
      for (; at + (kMany - 1) * stride < end; at += kMany * stride) reduceSome<kMany, true>(at, stride);
    }
    for (; at < end; at += stride) reduceSome<1, true>(at, stride);
  }

  // 16 bytes at a time, at any address.
  JCCL_DEVICE void mixed(size_t end) const {
    constexpr int kMany = sizeof(Stored) >= 4 ? kLoads / 4 : 1;
    const size_t stride = team_.threads * kWide;
    size_t at = team_.thread * kWide;
    if (operands_.sourceCount == 1 && reduction_.divisor == 1) {
      constexpr int kCopies = kLoads / 2;
      for (; at + (kCopies - 1) * stride < end; at += kCopies * stride) {
        simt::Vec16 words[kCopies];
        load<kCopies, false>(words, 0, at, stride);
        store<kCopies, false>(words, at, stride);
      }
    } else if constexpr (kMany > 1) {
      for (; at + (kMany - 1) * stride < end; at += kMany * stride) reduceSome<kMany, false>(at, stride);
    }
    for (; at < end; at += stride) reduceSome<1, false>(at, stride);
  }

  template <int N>
  struct Accumulators {
    Accumulator<E> low[N], high[N];

    template <class Op>
    JCCL_DEVICE void fold(const simt::Vec16 (&words)[N], bool isSigned) {
      JCCL_UNROLL
      for (int i = 0; i < N; ++i) {
        low[i].template fold<Op>(words[i].low, isSigned);
        high[i].template fold<Op>(words[i].high, isSigned);
      }
    }
    JCCL_DEVICE void fold(const simt::Vec16 (&words)[N], const Reduction& reduction) {
      withOperation<E>(reduction.op, [&](auto op) { fold<decltype(op)>(words, reduction.isSigned); });
    }
  };

  template <int N, bool Aligned>
  JCCL_DEVICE void load(simt::Vec16 (&words)[N], int source, size_t at, size_t stride) const {
    const uint8_t* from = operands_.sources[source] + at;
    withWidth<Aligned>(from, [&](auto width) {
      JCCL_UNROLL
      for (int i = 0; i < N; ++i) words[i] = joined<width.kBytes>(from + i * stride);
    });
  }

  template <int N, bool Aligned>
  JCCL_DEVICE void store(const simt::Vec16 (&words)[N], size_t at, size_t stride) const {
    for (int d = 0; d < operands_.destinationCount; ++d) {
      uint8_t* to = operands_.destinations[d] + at;
      withWidth<Aligned>(to, [&](auto width) {
        JCCL_UNROLL
        for (int i = 0; i < N; ++i) part<width.kBytes>(to + i * stride, words[i]);
      });
    }
  }

  template <unsigned Bytes>
  struct Width {
    static constexpr unsigned kBytes = Bytes;
  };
  // Calls body with how wide accesses to an address can be.
  template <bool Aligned, class Body>
  JCCL_DEVICE static void withWidth(const uint8_t* at, Body&& body) {
    if constexpr (!Aligned) {
      const uintptr_t address = addressOf(at);
      if (address % 2 != 0) return body(Width<1>{});
      if (address % 4 != 0) return body(Width<2>{});
      if (address % 8 != 0) return body(Width<4>{});
      if (address % 16 != 0) return body(Width<8>{});
    }
    body(Width<16>{});
  }

  // 16 bytes by narrower accesses.
  template <unsigned Unit>
  JCCL_DEVICE static simt::Vec16 joined(const uint8_t* from) {
    if constexpr (Unit == 16) {
      return simt::loadPeer<16>(from);
    } else {
      return {joinedHalf<Unit>(from), joinedHalf<Unit>(from + 8)};
    }
  }
  template <unsigned Unit>
  JCCL_DEVICE static uint64_t joinedHalf(const uint8_t* from) {
    uint64_t word = 0;
    JCCL_UNROLL
    for (unsigned i = 0; i < 8; i += Unit) word |= uint64_t{simt::loadPeer<Unit>(from + i)} << 8 * i;
    return word;
  }
  template <unsigned Unit>
  JCCL_DEVICE static void part(uint8_t* to, simt::Vec16 words) {
    if constexpr (Unit == 16) {
      simt::storePeer<16>(to, words);
    } else {
      JCCL_UNROLL
      for (unsigned i = 0; i < 8; i += Unit)
        simt::storePeer<Unit>(to + i, static_cast<simt::Word<Unit>>(words.low >> 8 * i));
      JCCL_UNROLL
      for (unsigned i = 0; i < 8; i += Unit)
        simt::storePeer<Unit>(to + 8 + i, static_cast<simt::Word<Unit>>(words.high >> 8 * i));
    }
  }

  template <int N, bool Aligned>
  JCCL_DEVICE void reduceSome(size_t at, size_t stride) const {
    simt::Vec16 words[N] = {};
    load<N, Aligned>(words, 0, at, stride);
    if (operands_.sourceCount > 1 || reduction_.divisor != 1) {
      simt::Vec16 next[N] = {};
      if (operands_.sourceCount > 1) load<N, Aligned>(next, 1, at, stride);
      Accumulators<N> accumulators;
      JCCL_UNROLL
      for (int i = 0; i < N; ++i) {
        accumulators.low[i].load(words[i].low);
        accumulators.high[i].load(words[i].high);
      }
      for (int s = 1; s < operands_.sourceCount; ++s) {
        JCCL_UNROLL
        for (int i = 0; i < N; ++i) words[i] = next[i];
        if (s + 1 < operands_.sourceCount) load<N, Aligned>(next, s + 1, at, stride);
        accumulators.fold(words, reduction_);
      }
      JCCL_UNROLL
      for (int i = 0; i < N; ++i) {
        if (reduction_.divisor != 1) {
          accumulators.low[i].divide(reduction_);
          accumulators.high[i].divide(reduction_);
        }
        words[i] = {accumulators.low[i].pack(), accumulators.high[i].pack()};
      }
    }
    store<N, Aligned>(words, at, stride);
  }

  JCCL_DEVICE void narrow(size_t begin, size_t end) const {
    if (begin < end) narrowAlone(*this, begin, end);
  }
  // Element by element.
  JCCL_DEVICE void eachElement(size_t begin, size_t end) const {
    constexpr unsigned Unit = sizeof(Stored);
    for (size_t at = begin + team_.thread * Unit; at < end; at += team_.threads * Unit) {
      uint64_t word = loadUnit<Unit>(operands_.sources[0] + at);
      if (operands_.sourceCount > 1 || reduction_.divisor != 1) {
        Accumulator<E> accumulator;
        accumulator.load(word);
        for (int s = 1; s < operands_.sourceCount; ++s) {
          accumulator.fold(loadUnit<Unit>(operands_.sources[s] + at), reduction_);
        }
        if (reduction_.divisor != 1) accumulator.divide(reduction_);
        word = accumulator.pack();
      }
      for (int d = 0; d < operands_.destinationCount; ++d) storeUnit<Unit>(operands_.destinations[d] + at, word);
    }
  }

  // Where a pointer is not aligned to the element either, byte by byte.
  template <unsigned Unit>
  JCCL_DEVICE static uint64_t loadUnit(const uint8_t* from) {
    if (reinterpret_cast<uintptr_t>(from) % Unit == 0) return simt::loadPeer<Unit>(from);
    uint64_t word = 0;
    for (unsigned i = 0; i < Unit; ++i) word |= uint64_t{simt::loadPeer<1>(from + i)} << 8 * i;
    return word;
  }
  template <unsigned Unit>
  JCCL_DEVICE static void storeUnit(uint8_t* to, uint64_t word) {
    if (reinterpret_cast<uintptr_t>(to) % Unit == 0) {
      return simt::storePeer<Unit>(to, static_cast<simt::Word<Unit>>(word));
    }
    for (unsigned i = 0; i < Unit; ++i) simt::storePeer<1>(to + i, static_cast<uint8_t>(word >> 8 * i));
  }

  const Team team_;
  const Operands operands_;
  const Reduction reduction_;
};

// Up to 8 bytes of an own buffer at any address, as LL and LL128 take them; what is beyond `bytes` is zero.
JCCL_DEVICE uint64_t loadGranule(const uint8_t* from, unsigned bytes) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(from);
  if (bytes >= 8 && address % 8 == 0) return simt::loadUser<8>(from);
  uint64_t word = 0;
  if (bytes >= 4 && address % 4 == 0) {
    word = simt::loadUser<4>(from);
    if (bytes >= 8) return word | uint64_t{simt::loadUser<4>(from + 4)} << 32;
    for (unsigned i = 4; i < bytes; ++i) word |= uint64_t{simt::loadUser<1>(from + i)} << 8 * i;
    return word;
  }
  for (unsigned i = 0; i < bytes && i < 8; ++i) word |= uint64_t{simt::loadUser<1>(from + i)} << 8 * i;
  return word;
}

JCCL_DEVICE void storeGranule(uint8_t* to, unsigned bytes, uint64_t word) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(to);
  if (bytes >= 8 && address % 8 == 0) return simt::storeUser<8>(to, word);
  unsigned done = 0;
  if (bytes >= 4 && address % 4 == 0) {
    simt::storeUser<4>(to, static_cast<uint32_t>(word));
    done = 4;
    if (bytes >= 8) return simt::storeUser<4>(to + 4, static_cast<uint32_t>(word >> 32));
  }
  for (; done < bytes && done < 8; ++done) simt::storeUser<1>(to + done, static_cast<uint8_t>(word >> 8 * done));
}

}  // namespace jccl::device
