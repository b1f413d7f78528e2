// Moves and reduces memory with all threads that work for a block: between SIMPLE slots, and in operations without
// slots.
//
// destinations[*][i] = finish(sources[0][i] op sources[1][i] op ...), where finish divides an average: one call of
// native/primitives/reduce.h. A destination may be one of the sources. Memory is cut into
//
//     [ head | 16 bytes | 16 bytes | ... | tail ]   if all pointers reach a 16-byte boundary at the same offset,
//     [ 16 bytes | 16 bytes | ...        | tail ]   otherwise; then each pointer is accessed as its address allows
//
// Every thread moves several times 16 bytes at once, fewer at the end: all their loads are in flight before the first
// result is stored. All accesses bypass L1: other ranks write the sources or read the destinations, or no thread will
// read the data again soon.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/device/memory.h"
#include "cuda/primitives/accumulators.h"
#include "cuda/primitives/compiler.h"
#include "cuda/primitives/skew.h"

namespace jccl::device {

// The threads that share the work.
struct Team {
  unsigned thread;
  unsigned threads;
};

// The buffers of a move. The arrays of pointers are in shared memory.
struct Operands {
  const uint8_t* const* sources;
  int sourceCount;
  uint8_t* const* destinations;
  int destinationCount;
};

// The operands that a Mover supports: copies, reductions with one source, or with any number of sources. Code for other
// operands is not compiled.
enum class Moves { Copies, OneSource, AnySources };

template <class E, Moves M = Moves::AnySources>
class Mover {
 public:
  JCCL_DEVICE Mover(const Team& team, const Operands& operands, const Reduction& reduction = {ReduceOp::Sum, 1, false})
      : team_(team), operands_(operands), reduction_(reduction) {}

  // Calls runAlone(), which is not inlined: inlined, it would need registers in addition to the caller's. runAlone()
  // takes the Mover by value. By a pointer, every loop would read the members from local memory.
  JCCL_DEVICE void run(size_t bytes) const { runAlone(*this, bytes); }

 private:
  JCCL_DEVICE_CALL static void runAlone(const Mover mover, size_t bytes) { mover.move(bytes); }
  // Not inlined, because move() calls this in several places, for few elements.
  JCCL_DEVICE_CALL static void narrowAlone(const Mover mover, size_t begin, size_t end) {
    mover.eachElement(begin, end);
  }

  JCCL_DEVICE void move(size_t bytes) const {
    if (operands_.destinationCount == 0 || bytes == 0) return;
    uintptr_t different = 0;
    const uintptr_t first = reinterpret_cast<uintptr_t>(operands_.sources[0]);
    for (int s = 1; s < sourceCount(); ++s) different |= addressOf(operands_.sources[s]) ^ first;
    for (int d = 0; d < operands_.destinationCount; ++d) different |= addressOf(operands_.destinations[d]) ^ first;
    size_t head = -first % kWide;
    const bool aligned = different % kWide == 0 && head % sizeof(Stored) == 0;
    if (!aligned) head = 0;
    if (bytes < kWide + head) return narrow(0, bytes);
    const size_t end = bytes - (bytes - head) % kWide;
    narrow(0, head);
    if (aligned) {
      wide<true>(head, end);
    } else {
      wide<false>(0, end);
    }
    narrow(end, bytes);
  }

  using Stored = typename E::Stored;
  static constexpr size_t kWide = 16;
  // Number of loads of 16 bytes that a thread has in flight, from all sources together.
  static constexpr int kLoads = 8;

  JCCL_DEVICE int sourceCount() const { return M == Moves::AnySources ? operands_.sourceCount : 1; }
  JCCL_DEVICE bool copies() const { return M == Moves::Copies || (sourceCount() == 1 && reduction_.divisor == 1); }
  JCCL_DEVICE bool isSum() const { return reduction_.op == ReduceOp::Sum || reduction_.op == ReduceOp::Avg; }
  JCCL_DEVICE static uintptr_t addressOf(const uint8_t* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

  // Moves 16 bytes at a time. If `Aligned`, all pointers are multiples of 16 at offset `begin`; otherwise they are
  // arbitrary.
  template <bool Aligned>
  JCCL_DEVICE void wide(size_t begin, size_t end) const {
    size_t from = begin + team_.thread * kWide;
    if (copies()) {
      copy<Aligned ? kLoads : kLoads / 2, Aligned>(from, end);
      return;
    }
    // Sums stop at a NaN; the other loops continue there.
    if constexpr (!kNarrow<E>) {
      if constexpr (Aligned && M == Moves::AnySources) {
        if (isSum()) from = sum<kLoads / 2, 2>(from, end);
      }
      reduce<Aligned ? kLoads / 2 : kLoads / 4, 2, Aligned>(from, end);
    } else {
      if constexpr (Aligned && M == Moves::AnySources) {
        if (sourceCount() == 2 && reduction_.divisor == 1) {
          if (isSum()) from = sumTwo<kLoads / 2>(from, end);
          return reduceTwo<kLoads / 2>(from, end);
        }
        if (isSum()) from = sum<sizeof(Stored), kLoads / sizeof(Stored)>(from, end);
        // Elements of one byte take many registers: with 8 sources at once the callers would spill theirs.
        constexpr int kSources = sizeof(Stored) == 1 ? kLoads / 2 : kLoads;
        return reduce<1, kSources, true>(from, end);
      }
      reduce<sizeof(Stored), 2, false>(from, end);
    }
  }

  // The offsets of N vectors of 16 bytes that one thread moves together. each() visits the offsets below `end`.
  template <int N>
  struct Places {
    size_t at, stride, end;
    template <class Body>
    JCCL_DEVICE void each(Body&& body) const {
      JCCL_UNROLL
      for (int i = 0; i < N; ++i) {
        const size_t here = at + i * stride;
        if (here < end) body(i, here);
      }
    }
  };
  template <int N, class Body>
  JCCL_DEVICE void eachPlaces(size_t from, size_t end, Body&& body) const {
    const size_t stride = team_.threads * kWide;
    JCCL_NO_UNROLL
    for (size_t at = from; at < end; at += N * stride) body(Places<N>{at, stride, end});
  }

  template <int N, bool Aligned>
  JCCL_DEVICE void copy(size_t from, size_t end) const {
    eachPlaces<N>(from, end, [&](const Places<N>& places) {
      simt::Vec16 words[N] = {};
      load<N, Aligned>(words, 0, places);
      store<N, Aligned>(words, places);
    });
  }

  // Reduces two sources of a narrow type.
  template <int N>
  JCCL_DEVICE void reduceTwo(size_t from, size_t end) const {
    eachPlaces<N>(from, end, [&](const Places<N>& places) {
      simt::Vec16 left[N] = {}, right[N] = {};
      load<N, true>(left, 0, places);
      load<N, true>(right, 1, places);
      foldVectors<E>(left, right, reduction_);
      store<N, true>(left, places);
    });
  }

  // Sums any number of sources, and returns the offset at which it has stopped. The loop neither chooses an operation nor
  // tests each element for NaNs. Later sums keep a NaN, so one test of the results finds any. If there is one, the loop
  // stops before it stores these results, and a loop that computes the payload continues. Narrow types are added in
  // several iterations: otherwise the assembler moves additions between the loads, and fewer loads are in flight.
  template <int N, int S>
  JCCL_DEVICE size_t sum(size_t from, size_t end) const {
    constexpr int kTogether = sizeof(Stored) < S ? sizeof(Stored) : S;
    return untilNan<N>(from, end, [&](const Places<N>& places, simt::Vec16(&results)[N]) {
      Accumulators<E, N> sums;
      sums.clear();
      JCCL_NO_UNROLL
      for (int s = 0; s < sourceCount(); s += S) {
        simt::Vec16 words[S][N];
        JCCL_UNROLL
        for (int i = 0; i < S * N; ++i) {
          words[i / N][i % N] = {Accumulator<E>::kNothing, Accumulator<E>::kNothing};
        }
        loadSome<N, S, true>(words, s, places);
        JCCL_NO_UNROLL
        for (int k = 0; k < S; k += kTogether) {
          JCCL_UNROLL
          for (int i = 0; i < kTogether; ++i) sums.add(words[i]);
          JCCL_UNROLL
          for (int i = 0; i < (S - kTogether) * N; ++i) words[i / N][i % N] = words[i / N + kTogether][i % N];
        }
      }
      if (sums.hasNan()) return false;
      if (reduction_.divisor != 1) sums.divide(reduction_);
      JCCL_UNROLL
      for (int i = 0; i < N; ++i) results[i] = sums.packNumbers(i);
      return true;
    });
  }

  // Sums two sources of a narrow type like sum(), but with accumulators for one vector at a time.
  template <int N>
  JCCL_DEVICE size_t sumTwo(size_t from, size_t end) const {
    constexpr int kTogether = sizeof(Stored);
    return untilNan<N>(from, end, [&](const Places<N>& places, simt::Vec16(&left)[N]) {
      simt::Vec16 right[N] = {};
      load<N, true>(left, 0, places);
      load<N, true>(right, 1, places);
      bool nan = false;
      JCCL_NO_UNROLL
      for (int turn = 0; turn < N; turn += kTogether) {
        simt::Vec16 results[kTogether];
        JCCL_UNROLL
        for (int i = 0; i < kTogether; ++i) {
          Accumulators<E, 1> sums;
          sums.clear();
          sums.add({left[i]});
          sums.add({right[i]});
          nan |= sums.hasNan();
          results[i] = sums.packNumbers(0);
        }
        JCCL_UNROLL
        for (int i = 0; i < N - kTogether; ++i) {
          left[i] = left[i + kTogether];
          right[i] = right[i + kTogether];
        }
        JCCL_UNROLL
        for (int i = 0; i < kTogether; ++i) left[N - kTogether + i] = results[i];
      }
      return !nan;
    });
  }

  // Calls compute(places, results) and stores the results until it returns false. Returns the offset of the places of
  // which nothing is stored, at least `end` if there are none.
  template <int N, class Compute>
  JCCL_DEVICE size_t untilNan(size_t from, size_t end, Compute&& compute) const {
    const size_t stride = team_.threads * kWide;
    size_t at = from;
    JCCL_NO_UNROLL
    for (; at < end; at += N * stride) {
      const Places<N> places{at, stride, end};
      simt::Vec16 results[N] = {};
      if (!compute(places, results)) break;
      store<N, true>(results, places);
    }
    return at;
  }

  // Reduces any number of sources to any number of destinations. The loads of S sources are in flight together.
  template <int N, int S, bool Aligned>
  JCCL_DEVICE void reduce(size_t from, size_t end) const {
    eachPlaces<N>(from, end, [&](const Places<N>& places) {
      Accumulators<E, N> accumulators;
      JCCL_NO_UNROLL
      for (int s = 0; s < sourceCount(); s += S) {
        simt::Vec16 words[S][N] = {};
        const int some = loadSome<N, S, Aligned>(words, s, places);
        // Folds one source per iteration, so that the code of all operations exists once instead of S times.
        JCCL_NO_UNROLL
        for (int k = 0; k < some; ++k) {
          Accumulators<E, N> numbers;
          numbers.load(words[0]);
          if (s + k == 0) {
            accumulators = numbers;
          } else {
            accumulators.combine(numbers, reduction_);
          }
          JCCL_UNROLL
          for (int next = 1; next < S; ++next) {
            JCCL_UNROLL
            for (int i = 0; i < N; ++i) words[next - 1][i] = words[next][i];
          }
        }
      }
      if (reduction_.divisor != 1) accumulators.divide(reduction_);
      simt::Vec16 results[N];
      JCCL_UNROLL
      for (int i = 0; i < N; ++i) results[i] = accumulators.pack(i);
      store<N, Aligned>(results, places);
    });
  }

  // Loads up to S sources from source `first` on, and returns their number. The loads of more than two sources follow
  // each other without a branch: at a branch the assembler may wait for a pointer, and with it for earlier loads.
  template <int N, int S, bool Aligned>
  JCCL_DEVICE int loadSome(simt::Vec16 (&words)[S][N], int first, const Places<N>& places) const {
    const int count = sourceCount() - first;
    if (S > 2 && count >= S) {
      JCCL_UNROLL
      for (int k = 0; k < S; ++k) load<N, Aligned>(words[k], first + k, places);
      return S;
    }
    JCCL_UNROLL
    for (int k = 0; k < (S > 2 ? S - 1 : S); ++k) {
      if (k < count) load<N, Aligned>(words[k], first + k, places);
    }
    return count < S ? count : S;
  }

  template <int N, bool Aligned>
  JCCL_DEVICE void load(simt::Vec16 (&words)[N], int source, const Places<N>& places) const {
    const uint8_t* from = operands_.sources[source];
    const uintptr_t first = addressOf(from + places.at);
    if (Aligned || first % kWide == 0) {
      return places.each([&](int i, size_t at) { words[i] = simt::loadPeer<16>(from + at); });
    }
    if (first % 8 == 0) {
      return places.each([&](int i, size_t at) {
        words[i] = {simt::loadPeer<8>(from + at), simt::loadPeer<8>(from + at + 8)};
      });
    }
    const Skew skew(first);
    Skew::Loaded loaded[N] = {};
    places.each([&](int i, size_t at) { loaded[i] = skew.load(from + at); });
    JCCL_UNROLL
    for (int i = 0; i < N; ++i) words[i] = skew.joined(loaded[i]);
  }

  template <int N, bool Aligned>
  JCCL_DEVICE void store(const simt::Vec16 (&words)[N], const Places<N>& places) const {
    JCCL_NO_UNROLL
    for (int d = 0; d < operands_.destinationCount; ++d) {
      uint8_t* to = operands_.destinations[d];
      const uintptr_t first = addressOf(to + places.at);
      if (Aligned || first % kWide == 0) {
        places.each([&](int i, size_t at) { simt::storePeer<16>(to + at, words[i]); });
        continue;
      }
      if (first % 8 == 0) {
        places.each([&](int i, size_t at) {
          simt::storePeer<8>(to + at, words[i].low);
          simt::storePeer<8>(to + at + 8, words[i].high);
        });
        continue;
      }
      const Skew skew(first);
      places.each([&](int i, size_t at) { skew.store(to + at, words[i]); });
    }
  }

  JCCL_DEVICE void narrow(size_t begin, size_t end) const {
    if (begin < end) narrowAlone(*this, begin, end);
  }
  // Moves element by element.
  JCCL_DEVICE void eachElement(size_t begin, size_t end) const {
    constexpr unsigned Unit = sizeof(Stored);
    for (size_t at = begin + team_.thread * Unit; at < end; at += team_.threads * Unit) {
      uint64_t word = loadUnit<Unit>(operands_.sources[0] + at);
      if (!copies()) {
        Accumulator<E> accumulator;
        accumulator.load(word);
        for (int s = 1; s < sourceCount(); ++s) {
          accumulator.fold(loadUnit<Unit>(operands_.sources[s] + at), reduction_);
        }
        if (reduction_.divisor != 1) accumulator.divide(reduction_);
        word = accumulator.pack();
      }
      for (int d = 0; d < operands_.destinationCount; ++d) storeUnit<Unit>(operands_.destinations[d] + at, word);
    }
  }

  // Accesses byte by byte if the pointer is not aligned to the element.
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

using Copier = Mover<Integer<uint8_t>, Moves::Copies>;

// Loads up to 8 bytes of this rank's own buffer at any address, for LL. Bytes after `bytes` are zero.
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
