// What multiprocessors of real GPUs have, and how many blocks of a kernel that makes; from the tables of technical specifications
// in the CUDA C Programming Guide.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace jccl::emulator {

struct Chip {
  const char* name;
  int capability;  // times ten
  int multiprocessors;
  int registers;               // of a multiprocessor
  int sharedBytes;             // the largest part of it that can be shared memory
  int threads, blocks;         // that it has at once
  int reservedShared;          // bytes of shared memory that each block takes beside its own
  std::vector<int> carveouts;  // the parts that can be shared memory, in KiB
};

inline const Chip kChips[] = {
    // Small, so that a few ranks fill it.
    {"Emulated GPU", 90, 6, 65536, 228 << 10, 2048, 2, 1024, {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}},
    {"T4", 75, 40, 65536, 64 << 10, 1024, 16, 0, {32, 64}},
    {"A100", 80, 108, 65536, 164 << 10, 2048, 32, 1024, {0, 8, 16, 32, 64, 100, 132, 164}},
    {"L4", 89, 58, 65536, 100 << 10, 1536, 24, 1024, {0, 8, 16, 32, 64, 100}},
    {"H100", 90, 132, 65536, 228 << 10, 2048, 32, 1024, {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}},
    {"B200", 100, 148, 65536, 228 << 10, 2048, 32, 1024, {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}},
};

// That which JCCL_EMULATED_CHIP names, or the first.
inline const Chip& chipOfThisProcess() {
  const char* name = std::getenv("JCCL_EMULATED_CHIP");
  for (const Chip& chip : kChips) {
    if (name != nullptr && std::strcmp(chip.name, name) == 0) return chip;
  }
  return kChips[0];
}

// What a kernel's code takes.
struct KernelNeeds {
  int registers = 0;  // of a thread
  int sharedBytes = 0;
};

// The smallest part of shared memory in which a preference, in percent of the largest, fits.
inline int carveoutBytes(const Chip& chip, int percent) {
  int bytes = chip.sharedBytes;
  for (const int kib : chip.carveouts) {
    const int candidate = kib << 10;
    if (candidate * 100 >= chip.sharedBytes * percent && candidate < bytes) bytes = candidate;
  }
  return bytes;
}

// How many blocks of a kernel a multiprocessor has at once. Registers are given to warps by 256, warps by 4.
inline int residentBlocks(const Chip& chip, const KernelNeeds& needs, int threads, int carveout) {
  const int warps = (threads + 31) / 32;
  const int registersOfWarp = std::max(256, (needs.registers * 32 + 255) / 256 * 256);
  const int warpsByRegisters = chip.registers / registersOfWarp / 4 * 4;
  const int shared = needs.sharedBytes + chip.reservedShared;
  int blocks = std::min(chip.blocks, chip.threads / (warps * 32));
  blocks = std::min(blocks, warpsByRegisters / warps);
  if (shared > 0) blocks = std::min(blocks, carveout / ((shared + 127) / 128 * 128));
  return blocks;
}

// Without a preference the driver takes what as many blocks need as fit otherwise.
inline int carveoutFor(const Chip& chip, const KernelNeeds& needs, int threads) {
  const int blocks = residentBlocks(chip, needs, threads, chip.sharedBytes);
  int bytes = chip.sharedBytes;
  for (const int kib : chip.carveouts) {
    const int candidate = kib << 10;
    if (candidate >= (needs.sharedBytes + chip.reservedShared) * blocks && candidate < bytes) bytes = candidate;
  }
  return bytes;
}

}  // namespace jccl::emulator
