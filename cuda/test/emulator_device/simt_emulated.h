// Implements cuda/device/simt.h for the emulator. Only that header includes this one.
#pragma once

#include <cstring>
#include <source_location>
#include <type_traits>

#include "cuda/test/emulator/thread.h"

#define JCCL_DEVICE inline
#define JCCL_SHARED(T, name) ::jccl::simt::SharedType<T>& name = ::jccl::simt::sharedVariable<T>([] {})

namespace jccl::simt {

using emulator::Operation;
using Place = std::source_location;

template <class T>
struct SharedVariable {
  static_assert(std::is_trivial_v<T>, "shared memory is not initialised: the type must be trivial");
  using Type = T;
};
template <class T>
using SharedType = typename SharedVariable<T>::Type;

// Each JCCL_SHARED in the source has its own variable, because every lambda has its own type.
template <class T, class PlaceInSource>
SharedType<T>& sharedVariable(PlaceInSource) {
  static const unsigned variable = emulator::newSharedVariable();
  return *static_cast<T*>(emulator::sharedMemory(variable, sizeof(T), alignof(T)));
}

inline constexpr unsigned kWarpThreads = 32;
inline constexpr unsigned kFullMask = ~0u;

inline unsigned threadIndex() { return emulator::context.thread->index; }
inline unsigned blockThreads() { return emulator::context.thread->blockThreads; }
inline unsigned blockIndex() { return emulator::context.thread->blockIndex; }
inline unsigned blockCount() { return emulator::context.thread->block->launch->blockCount; }
inline unsigned laneIndex() { return emulator::context.thread->lane; }

inline void syncBlock(const Place& place = Place::current()) {
  emulator::enter(Operation::SyncBlock, place);
  emulator::meetAtBarrier(0, 0, false);
}

inline void syncThreads(int barrier, int threads, const Place& place = Place::current()) {
  emulator::enter(Operation::SyncThreads, place);
  emulator::meetAtBarrier(barrier, threads, false);
}

inline bool syncOr(int barrier, int threads, bool value, const Place& place = Place::current()) {
  emulator::enter(Operation::SyncOr, place);
  return emulator::meetAtBarrier(barrier, threads, value);
}

inline void syncWarp(unsigned mask = kFullMask, const Place& place = Place::current()) {
  emulator::enter(Operation::SyncWarp, place);
  emulator::meetInWarp(mask, 0, 0);
}

inline bool any(unsigned mask, bool value, const Place& place = Place::current()) {
  emulator::enter(Operation::Any, place);
  return emulator::meetInWarp(mask, value ? 1 : 0, 0) != 0;
}

inline bool all(unsigned mask, bool value, const Place& place = Place::current()) {
  emulator::enter(Operation::All, place);
  return emulator::meetInWarp(mask, value ? 1 : 0, 0) != 0;
}

template <class T>
T shuffle(unsigned mask, T value, int lane, const Place& place = Place::current()) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles move 4 or 8 bytes");
  static_assert(std::is_trivially_copyable_v<T>, "shuffles move plain values");
  emulator::enter(Operation::Shuffle, place);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = emulator::meetInWarp(mask, bits, lane);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

// These need no atomic instructions: another thread runs only when this one calls the emulator.
inline uint64_t loadShared(const uint64_t* p) { return *p; }
inline void storeShared(uint64_t* p, uint64_t value) { *p = value; }
inline uint64_t swapShared(uint64_t* p, uint64_t expected, uint64_t next) {
  const uint64_t before = *p;
  if (before == expected) *p = next;
  return before;
}

inline uint64_t nanos(const Place& place = Place::current()) {
  emulator::enter(Operation::Nanos, place);
  return emulator::virtualNanos();
}

inline void pause(const Place& place = Place::current()) {
  emulator::enter(Operation::Pause, place);
  emulator::spin();
}

}  // namespace jccl::simt
