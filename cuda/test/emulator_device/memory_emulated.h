// Implements cuda/device/memory.h for the emulator. Only that header includes this one.
#pragma once

#include <cstdint>
#include <cstring>
#include <source_location>

#include "cuda/test/emulator/thread.h"

namespace jccl::simt {

namespace emulated {

using emulator::Operation;
using Place = std::source_location;

// Changes a loaded value if the path to the memory falsifies loads.
template <class T>
void spoil(const void* p, T& value) {
  if (emulator::meetsFault(emulator::kReadsWrong, p)) std::memset(&value, 0xff, sizeof(T));
}

template <class T>
T load(Operation operation, const void* p, const Place& place) {
  emulator::enter(operation, place);
  emulator::context.thread->looked = place;
  if (reinterpret_cast<uintptr_t>(p) % sizeof(T) != 0) emulator::failMisaligned(p, sizeof(T));
  emulator::checkAccess(p, sizeof(T));
  T value;
  std::memcpy(&value, p, sizeof(T));
  if (emulator::context.weak) emulator::weakLoad(p, &value, sizeof(T));
  spoil(p, value);
  return value;
}

// Stores without checks: the caller has checked the access.
template <class T>
void write(void* p, const T& value) {
  if (emulator::meetsFault(emulator::kWritesLost, p)) return;
  if (emulator::context.weak) {
    emulator::weakStore(p, &value, sizeof(T));
  } else if (std::memcmp(p, &value, sizeof(T)) != 0) {
    std::memcpy(p, &value, sizeof(T));
    emulator::context.changed = true;
  }
}

template <class T>
void store(Operation operation, void* p, T value, const Place& place) {
  emulator::enter(operation, place);
  if (reinterpret_cast<uintptr_t>(p) % sizeof(T) != 0) emulator::failMisaligned(p, sizeof(T));
  emulator::checkAccess(p, sizeof(T));
  write(p, value);
}

}  // namespace emulated

inline uint64_t loadRelaxed(const uint64_t* p, const emulated::Place& place = emulated::Place::current()) {
  return emulated::load<uint64_t>(emulator::Operation::LoadRelaxed, p, place);
}
inline uint32_t loadRelaxed(const uint32_t* p, const emulated::Place& place = emulated::Place::current()) {
  return emulated::load<uint32_t>(emulator::Operation::LoadRelaxed, p, place);
}
inline uint64_t loadAcquire(const uint64_t* p, const emulated::Place& place = emulated::Place::current()) {
  return emulated::load<uint64_t>(emulator::Operation::LoadAcquire, p, place);
}
inline uint32_t loadAcquire(const uint32_t* p, const emulated::Place& place = emulated::Place::current()) {
  return emulated::load<uint32_t>(emulator::Operation::LoadAcquire, p, place);
}

inline void storeRelaxed(uint64_t* p, uint64_t value, const emulated::Place& place = emulated::Place::current()) {
  emulated::store(emulator::Operation::StoreRelaxed, p, value, place);
}
inline void storeRelaxed(uint32_t* p, uint32_t value, const emulated::Place& place = emulated::Place::current()) {
  emulated::store(emulator::Operation::StoreRelaxed, p, value, place);
}
inline void storeRelease(uint64_t* p, uint64_t value, const emulated::Place& place = emulated::Place::current()) {
  emulated::store(emulator::Operation::StoreRelease, p, value, place);
}
inline void storeRelease(uint32_t* p, uint32_t value, const emulated::Place& place = emulated::Place::current()) {
  emulated::store(emulator::Operation::StoreRelease, p, value, place);
}

inline void storeFirst(uint32_t* p, uint32_t value, const emulated::Place& place = emulated::Place::current()) {
  emulator::enter(emulator::Operation::StoreRelease, place);
  if (reinterpret_cast<uintptr_t>(p) % sizeof(uint32_t) != 0) emulator::failMisaligned(p, sizeof(uint32_t));
  emulator::checkAccess(p, sizeof(uint32_t));
  if (emulator::meetsFault(emulator::kWritesLost, p)) return;
  if (emulator::context.weak) return emulator::weakStoreFirst(p, value);
  uint32_t none = 0;
  if (__atomic_compare_exchange_n(p, &none, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    emulator::context.changed = true;
  }
}

inline uint32_t addOrdered(uint32_t* p, uint32_t value, const emulated::Place& place = emulated::Place::current()) {
  emulator::enter(emulator::Operation::AddOrdered, place);
  if (reinterpret_cast<uintptr_t>(p) % sizeof(uint32_t) != 0) emulator::failMisaligned(p, sizeof(uint32_t));
  emulator::checkAccess(p, sizeof(uint32_t));
  if (emulator::context.weak) return emulator::weakAdd(p, value);
  emulator::context.changed = true;
  return __atomic_fetch_add(p, value, __ATOMIC_ACQ_REL);
}

inline void fence(const emulated::Place& place = emulated::Place::current()) {
  emulator::enter(emulator::Operation::Fence, place);
  if (emulator::context.weak) emulator::weakFence();
}

inline Vec16 loadCells(const void* p, const emulated::Place& place = emulated::Place::current()) {
  return emulated::load<Vec16>(emulator::Operation::LoadCells, p, place);
}
inline void storeCells(void* p, Vec16 value, const emulated::Place& place = emulated::Place::current()) {
  emulated::store(emulator::Operation::StoreCells, p, value, place);
}
inline void storeCell(uint64_t* p, uint64_t value, const emulated::Place& place = emulated::Place::current()) {
  emulated::store(emulator::Operation::StoreCells, p, value, place);
}

inline Vec16 loadLine(const void* p, unsigned mask, const emulated::Place& place = emulated::Place::current()) {
  emulator::enter(emulator::Operation::LoadLine, place);
  emulator::context.thread->looked = place;
  if (reinterpret_cast<uintptr_t>(p) % sizeof(Vec16) != 0) emulator::failMisaligned(p, sizeof(Vec16));
  emulator::checkAccess(p, sizeof(Vec16));
  Vec16 value;
  std::memcpy(&value, p, sizeof(value));  // an address that cannot be accessed faults here
  emulator::meetAtLine(const_cast<void*>(p), &value.low, mask);
  emulated::spoil(p, value);
  return value;
}
inline void storeLine(void* p, Vec16 value, unsigned mask, const emulated::Place& place = emulated::Place::current()) {
  emulator::enter(emulator::Operation::StoreLine, place);
  if (reinterpret_cast<uintptr_t>(p) % sizeof(Vec16) != 0) emulator::failMisaligned(p, sizeof(Vec16));
  emulator::checkAccess(p, sizeof(Vec16));
  // The lanes must still meet: a lost store stores the value that is there.
  if (emulator::meetsFault(emulator::kWritesLost, p)) std::memcpy(&value, p, sizeof(value));
  emulator::meetAtLine(p, &value.low, mask);
}

template <unsigned Bytes>
Word<Bytes> loadPeer(const void* p, const emulated::Place& place = emulated::Place::current()) {
  return emulated::load<Word<Bytes>>(emulator::Operation::LoadPeer, p, place);
}
template <unsigned Bytes>
void storePeer(void* p, Word<Bytes> value, const emulated::Place& place = emulated::Place::current()) {
  emulated::store(emulator::Operation::StorePeer, p, value, place);
}
template <unsigned Bytes>
Word<Bytes> loadUser(const void* p, const emulated::Place& place = emulated::Place::current()) {
  return emulated::load<Word<Bytes>>(emulator::Operation::LoadUser, p, place);
}
template <unsigned Bytes>
void storeUser(void* p, Word<Bytes> value, const emulated::Place& place = emulated::Place::current()) {
  emulated::store(emulator::Operation::StoreUser, p, value, place);
}

}  // namespace jccl::simt
