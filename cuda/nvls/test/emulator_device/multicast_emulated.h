// Implements cuda/nvls/multicast.h for the emulator. Only that header includes this one. The order in which the
// switch reduces changes from load to load.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <vector>

#include "cuda/device/convert.h"
#include "cuda/test/emulator/thread.h"

namespace jccl::simt {

namespace emulated {

// The SwitchReduction whose result is wrong in one bit; -1: none.
inline std::atomic<int> wrongReduction{-1};

// Returns the addresses, in the memory of each device, that a multicast address stands for. Ends the run if the access
// is not allowed.
inline const std::vector<void*>& placesOf(const void* p, size_t bytes) {
  static thread_local std::vector<void*> places;
  if (reinterpret_cast<uintptr_t>(p) % bytes != 0) emulator::failMisaligned(p, bytes);
  const uint16_t user = emulator::context.thread->block->launch->user;
  if (emulator::multicastPlaces == nullptr || !emulator::multicastPlaces(p, bytes, user, places)) {
    emulator::failIllegal(p, bytes);
  }
  return places;
}

template <class T>
void storeToAll(emulator::Operation operation, void* p, T value, const Place& place) {
  emulator::enter(operation, place);
  for (void* one : placesOf(p, sizeof(T))) write(one, value);
}

template <class T, class Fold>
uint64_t foldLanes(uint64_t a, uint64_t b, Fold&& fold) {
  T left[8 / sizeof(T)], right[8 / sizeof(T)];
  std::memcpy(left, &a, 8);
  std::memcpy(right, &b, 8);
  for (size_t i = 0; i < 8 / sizeof(T); ++i) left[i] = fold(left[i], right[i]);
  std::memcpy(&a, left, 8);
  return a;
}

template <SwitchReduction R>
uint64_t fold(uint64_t a, uint64_t b) {
  const auto sum = [](auto x, auto y) { return static_cast<decltype(x)>(x + y); };
  const auto smaller = [](auto x, auto y) { return std::min(x, y); };
  const auto larger = [](auto x, auto y) { return std::max(x, y); };
  switch (R) {
    case SwitchReduction::SumInt32:
      return foldLanes<uint32_t>(a, b, sum);
    case SwitchReduction::SumInt64:
      return foldLanes<uint64_t>(a, b, sum);
    case SwitchReduction::MinInt32:
      return foldLanes<int32_t>(a, b, smaller);
    case SwitchReduction::MinUint32:
      return foldLanes<uint32_t>(a, b, smaller);
    case SwitchReduction::MinInt64:
      return foldLanes<int64_t>(a, b, smaller);
    case SwitchReduction::MinUint64:
      return foldLanes<uint64_t>(a, b, smaller);
    case SwitchReduction::MaxInt32:
      return foldLanes<int32_t>(a, b, larger);
    case SwitchReduction::MaxUint32:
      return foldLanes<uint32_t>(a, b, larger);
    case SwitchReduction::MaxInt64:
      return foldLanes<int64_t>(a, b, larger);
    case SwitchReduction::MaxUint64:
      return foldLanes<uint64_t>(a, b, larger);
    case SwitchReduction::And:
      return a & b;
    case SwitchReduction::Or:
      return a | b;
    case SwitchReduction::Xor:
      return a ^ b;
    case SwitchReduction::SumFloat32:
      return foldLanes<float>(a, b, sum);
    case SwitchReduction::SumFloat64:
      return foldLanes<double>(a, b, sum);
    case SwitchReduction::SumFloat16:
    case SwitchReduction::SumBfloat16:
      break;  // sumHalves reduces these
  }
  return 0;
}

// Sums 16-bit floats in float32 and rounds once.
template <SwitchReduction R>
uint64_t sumHalves(const uint64_t* words, size_t count) {
  uint64_t result = 0;
  for (int lane = 0; lane < 4; ++lane) {
    float total = 0;
    for (size_t i = 0; i < count; ++i) {
      const auto bits = static_cast<uint16_t>(words[i] >> 16 * lane);
      total +=
          R == SwitchReduction::SumFloat16 ? widenHalf(bits) : std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    }
    const uint32_t bits = R == SwitchReduction::SumFloat16 ? narrowHalf(total) : narrowBfloat(total);
    result |= uint64_t{bits} << 16 * lane;
  }
  return result;
}

template <SwitchReduction R>
uint64_t reduce(const std::vector<uint64_t>& words) {
  if constexpr (R == SwitchReduction::SumFloat16 || R == SwitchReduction::SumBfloat16) {
    return sumHalves<R>(words.data(), words.size());
  } else {
    uint64_t result = words[0];
    for (size_t i = 1; i < words.size(); ++i) result = fold<R>(result, words[i]);
    return result;
  }
}

}  // namespace emulated

template <SwitchReduction R>
Vec16 loadReduced(const void* p, const emulated::Place& place = emulated::Place::current()) {
  emulator::enter(emulator::Operation::LoadReduced, place);
  const std::vector<void*>& places = emulated::placesOf(p, sizeof(Vec16));
  static thread_local std::vector<uint64_t> low, high;
  low.clear();
  high.clear();
  static thread_local size_t loads = 0;
  const size_t first = ++loads;
  for (size_t i = 0; i < places.size(); ++i) {
    const void* one = places[(first + i) % places.size()];
    Vec16 value;
    std::memcpy(&value, one, sizeof value);
    if (emulator::context.weak) emulator::weakLoad(one, &value, sizeof value);
    low.push_back(value.low);
    high.push_back(value.high);
  }
  const uint64_t wrong = emulated::wrongReduction == static_cast<int>(R) ? 1 : 0;
  return {emulated::reduce<R>(low) ^ wrong, emulated::reduce<R>(high)};
}

inline void storeMulticast(void* p, Vec16 value, const emulated::Place& place = emulated::Place::current()) {
  emulated::storeToAll(emulator::Operation::StoreMulticast, p, value, place);
}
inline void storeMulticast(uint64_t* p, uint64_t value, const emulated::Place& place = emulated::Place::current()) {
  emulated::storeToAll(emulator::Operation::StoreMulticast, p, value, place);
}
inline void releaseMulticast(uint64_t* p, uint64_t value, const emulated::Place& place = emulated::Place::current()) {
  emulated::storeToAll(emulator::Operation::ReleaseMulticast, p, value, place);
}

// Orders nothing: an emulated multicast access uses the memory's own addresses.
inline void fenceAliases(const emulated::Place& place = emulated::Place::current()) {
  emulator::enter(emulator::Operation::FenceAliases, place);
}

}  // namespace jccl::simt
