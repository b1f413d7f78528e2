// Resources of the multiprocessors of real GPUs, and the number of a kernel's blocks that fit. Source: the tables of
// technical specifications in the CUDA C Programming Guide.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace jccl::emulator {

struct Chip {
  const char* name;
  int capability;  // compute capability times ten
  int multiprocessors;
  int registers;               // registers of a multiprocessor
  int sharedBytes;             // largest shared memory of a multiprocessor
  int threads, blocks;         // maximum numbers that are resident on a multiprocessor
  int reservedShared;          // bytes of shared memory that each block occupies in addition to its own
  std::vector<int> carveouts;  // possible sizes of a multiprocessor's shared memory, in KiB
};

inline const Chip kChips[] = {
    // The emulated GPU is small, so that a few ranks fill it.
    {"Emulated GPU", 90, 6, 65536, 228 << 10, 2048, 2, 1024, {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}},
    {"T4", 75, 40, 65536, 64 << 10, 1024, 16, 0, {32, 64}},
    {"A100", 80, 108, 65536, 164 << 10, 2048, 32, 1024, {0, 8, 16, 32, 64, 100, 132, 164}},
    {"L4", 89, 58, 65536, 100 << 10, 1536, 24, 1024, {0, 8, 16, 32, 64, 100}},
    {"H100", 90, 132, 65536, 228 << 10, 2048, 32, 1024, {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}},
    {"B200", 100, 148, 65536, 228 << 10, 2048, 32, 1024, {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}},
};

// Returns the chip that JCCL_EMULATED_CHIP names, or else the first.
inline const Chip& chipOfThisProcess() {
  const char* name = std::getenv("JCCL_EMULATED_CHIP");
  for (const Chip& chip : kChips) {
    if (name != nullptr && std::strcmp(chip.name, name) == 0) return chip;
  }
  return kChips[0];
}

// Resources that a kernel's code needs.
struct KernelNeeds {
  int registers = 0;  // registers of a thread
  int sharedBytes = 0;
};

// Returns the smallest carve-out of at least `percent` of the largest.
inline int carveoutBytes(const Chip& chip, int percent) {
  int bytes = chip.sharedBytes;
  for (const int kib : chip.carveouts) {
    const int candidate = kib << 10;
    if (candidate * 100 >= chip.sharedBytes * percent && candidate < bytes) bytes = candidate;
  }
  return bytes;
}

// Returns the number of a kernel's blocks that are resident on a multiprocessor at once. Hardware allocates registers
// to a warp in units of 256, and to warps in units of four.
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

// Returns the carve-out that the driver chooses without a preference: the smallest that does not limit the number of
// resident blocks.
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
