// Accumulators for several vectors of 16 bytes at a time.
#pragma once

#include "cuda/device/memory.h"
#include "cuda/primitives/compiler.h"
#include "cuda/primitives/elements.h"

namespace jccl::device {

template <class E, int N>
struct Accumulators {
  Accumulator<E> low[N], high[N];

  JCCL_DEVICE void load(const simt::Vec16 (&words)[N]) {
    JCCL_UNROLL
    for (int i = 0; i < N; ++i) {
      low[i].load(words[i].low);
      high[i].load(words[i].high);
    }
  }
  JCCL_DEVICE void combine(const Accumulators& numbers, const Reduction& reduction) {
    withOperation<E>(reduction.op, [&](auto op) {
      JCCL_UNROLL
      for (int i = 0; i < N; ++i) {
        low[i].template combine<decltype(op)>(numbers.low[i], reduction.isSigned);
        high[i].template combine<decltype(op)>(numbers.high[i], reduction.isSigned);
      }
    });
  }
  JCCL_DEVICE void divide(const Reduction& reduction) {
    JCCL_UNROLL
    for (int i = 0; i < N; ++i) {
      low[i].divide(reduction);
      high[i].divide(reduction);
    }
  }
  JCCL_DEVICE simt::Vec16 pack(int i) const { return {low[i].pack(), high[i].pack()}; }

  // For sums, which begin with clear() and do not test for NaNs before the end.
  JCCL_DEVICE void clear() {
    JCCL_UNROLL
    for (int i = 0; i < N; ++i) {
      low[i].load(Accumulator<E>::kNothing);
      high[i].load(Accumulator<E>::kNothing);
    }
  }
  JCCL_DEVICE void add(const simt::Vec16 (&words)[N]) {
    JCCL_UNROLL
    for (int i = 0; i < N; ++i) {
      low[i].add(words[i].low);
      high[i].add(words[i].high);
    }
  }
  JCCL_DEVICE bool hasNan() const {
    bool found = false;
    JCCL_UNROLL
    for (int i = 0; i < N; ++i) found = found || low[i].hasNan() || high[i].hasNan();
    return found;
  }
  JCCL_DEVICE simt::Vec16 packNumbers(int i) const { return {low[i].packNumbers(), high[i].packNumbers()}; }
};

// True for types narrower than 4 bytes. Their accumulators take more registers than the packed elements, and most of
// the code widens the elements.
template <class E>
constexpr bool kNarrow = sizeof(typename E::Stored) < 4;

// Computes left[i] = left[i] op right[i]; for an average, also divides the results. For narrow types, the loop folds
// one vector per iteration, so that the long code exists once instead of N times.
template <class E, int N>
JCCL_DEVICE void foldVectors(simt::Vec16 (&left)[N], simt::Vec16 (&right)[N], const Reduction& reduction) {
  constexpr int kTogether = kNarrow<E> ? 1 : N;
  JCCL_NO_UNROLL
  for (int turn = 0; turn < N; turn += kTogether) {
    simt::Vec16 some[kTogether];
    Accumulators<E, kTogether> accumulators, numbers;
    JCCL_UNROLL
    for (int i = 0; i < kTogether; ++i) some[i] = left[i];
    accumulators.load(some);
    JCCL_UNROLL
    for (int i = 0; i < kTogether; ++i) some[i] = right[i];
    numbers.load(some);
    accumulators.combine(numbers, reduction);
    if (reduction.divisor != 1) accumulators.divide(reduction);
    JCCL_UNROLL
    for (int i = 0; i < N - kTogether; ++i) {
      left[i] = left[i + kTogether];
      right[i] = right[i + kTogether];
    }
    JCCL_UNROLL
    for (int i = 0; i < kTogether; ++i) left[N - kTogether + i] = accumulators.pack(i);
  }
}

}  // namespace jccl::device
