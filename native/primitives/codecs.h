// LL and LL128 on the host: pack bytes into a slot and unpack them. layout.h draws the slots.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>

#include "primitives/layout.h"

namespace jccl {

class LLCodec {
 public:
  static size_t cells(size_t bytes) { return 1 + (bytes + kLLPayloadBytes - 1) / kLLPayloadBytes; }
  static uint32_t wireBytes(size_t bytes) { return static_cast<uint32_t>(cells(bytes) * kLLCellBytes); }

  static void store(uint8_t* slot, size_t cell, uint32_t payload, uint32_t flag) {
    // A release store, although data and flag are one value: a receiver that sees the flag may also rely on other
    // memory, such as user buffers that it reads in place. On x86 this costs nothing.
    cellAt(slot, cell).store(payload | uint64_t{flag} << 32, std::memory_order_release);
  }

  static void pack(uint8_t* slot, uint32_t flag, uint32_t check, const uint8_t* data, size_t bytes) {
    const size_t whole = bytes / kLLPayloadBytes;
    for (size_t i = 0; i < whole; ++i) {
      uint32_t word;
      std::memcpy(&word, data + i * kLLPayloadBytes, sizeof word);
      store(slot, i + 1, word, flag);
    }
    if (const size_t rest = bytes % kLLPayloadBytes; rest != 0) {
      uint32_t word = 0;
      std::memcpy(&word, data + whole * kLLPayloadBytes, rest);
      store(slot, whole + 1, word, flag);
    }
    store(slot, 0, check, flag);
  }

  // If LLFlags::mustScrub(step), overwrites the flags of all cells that follow the written ones in the step's slot.
  template <int FlagBits = 32>
  static void scrubRest(uint8_t* slot, uint32_t slotBytes, uint64_t step, uint32_t writtenBytes) {
    using Flags = LLFlags<FlagBits>;
    if (!Flags::mustScrub(step)) return;
    for (size_t cell = writtenBytes / kLLCellBytes; cell < slotBytes / kLLCellBytes; ++cell) {
      store(slot, cell, 0, Flags::neverFlagOf(step));
    }
  }

  // Loads the cell's payload. Returns true if the cell's flag is current, so that the payload is valid.
  static bool load(const uint8_t* slot, size_t cell, uint32_t flag, uint32_t& payload) {
    const uint64_t value = cellAt(slot, cell).load(std::memory_order_acquire);
    payload = static_cast<uint32_t>(value);
    return static_cast<uint32_t>(value >> 32) == flag;
  }

  // Unpacks cells from byte `from` on until one is not current. Returns the number of bytes unpacked so far, `from`
  // included.
  static size_t unpack(const uint8_t* slot, uint32_t flag, uint8_t* data, size_t from, size_t bytes) {
    size_t at = from;
    uint32_t word;
    while (at < bytes && load(slot, 1 + at / kLLPayloadBytes, flag, word)) {
      const size_t n = std::min<size_t>(kLLPayloadBytes, bytes - at);
      if (__builtin_expect(n == kLLPayloadBytes, 1)) {
        std::memcpy(data + at, &word, kLLPayloadBytes);
      } else {
        std::memcpy(data + at, &word, n);
      }
      at += n;
    }
    return at;
  }

 private:
  static std::atomic_ref<uint64_t> cellAt(const uint8_t* slot, size_t cell) {
    return std::atomic_ref<uint64_t>(reinterpret_cast<uint64_t*>(const_cast<uint8_t*>(slot))[cell]);
  }
};

class LL128Codec {
 public:
  static size_t lines(size_t bytes) {
    return (kLL128HeaderBytes + bytes + kLL128PayloadBytes - 1) / kLL128PayloadBytes;
  }
  static size_t linesAtLeastOne(size_t bytes) { return std::max<size_t>(lines(bytes), 1); }
  static uint32_t wireBytes(size_t bytes) { return static_cast<uint32_t>(linesAtLeastOne(bytes) * kLL128LineBytes); }

  static void pack(uint8_t* slot, uint64_t flag, uint32_t check, const uint8_t* data, size_t bytes) {
    const uint64_t header = check;
    std::memcpy(slot, &header, sizeof header);
    size_t at = std::min<size_t>(bytes, kLL128PayloadBytes - kLL128HeaderBytes);
    copySome(slot + kLL128HeaderBytes, data, at, kLL128PayloadBytes - kLL128HeaderBytes);
    flagOf(slot).store(flag, std::memory_order_release);
    for (uint8_t* line = slot + kLL128LineBytes; at < bytes; line += kLL128LineBytes) {
      const size_t n = std::min<size_t>(bytes - at, kLL128PayloadBytes);
      copySome(line, data + at, n, kLL128PayloadBytes);
      flagOf(line).store(flag, std::memory_order_release);
      at += n;
    }
  }

  // Returns true if the line's flag is current. A line spans two cache lines; the prefetch loads the one without the
  // flag at the same time as the other.
  static bool ready(const uint8_t* slot, size_t line, uint64_t flag) {
    __builtin_prefetch(slot + line * kLL128LineBytes);
    return flagOf(slot + line * kLL128LineBytes).load(std::memory_order_acquire) == flag;
  }

  static uint32_t check(const uint8_t* slot) {
    uint32_t word;
    std::memcpy(&word, slot, sizeof word);
    return word;
  }

  // Unpacks whole lines from byte `from` on until one is not current. Returns the number of bytes unpacked so far,
  // `from` included. The flag is stored with release after its line and loaded with acquire, so the plain copy of the
  // payload does not race.
  static size_t unpack(const uint8_t* slot, uint64_t flag, uint8_t* data, size_t from, size_t bytes) {
    size_t at = from;
    while (at < bytes) {
      const size_t line = (at + kLL128HeaderBytes) / kLL128PayloadBytes;
      if (!ready(slot, line, flag)) break;
      const size_t skip = line == 0 ? kLL128HeaderBytes : 0;
      const size_t space = kLL128PayloadBytes - skip;
      const size_t n = std::min(space, bytes - at);
      copySome(data + at, slot + line * kLL128LineBytes + skip, n, kLL128PayloadBytes);
      at += n;
    }
    return at;
  }

 private:
  static std::atomic_ref<uint64_t> flagOf(const uint8_t* line) {
    return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(const_cast<uint8_t*>(line) + kLL128PayloadBytes));
  }

  // Copies `n` bytes. The compiler knows the size of the usual copy.
  static void copySome(uint8_t* to, const uint8_t* from, size_t n, size_t usual) {
    if (__builtin_expect(n == kLL128PayloadBytes && usual == kLL128PayloadBytes, 1)) {
      std::memcpy(to, from, kLL128PayloadBytes);
    } else if (n != 0) {
      std::memcpy(to, from, n);
    }
  }
};

}  // namespace jccl
