// The fat binary, NVIDIA's container of kernel images: the parts of its format that choosing an image needs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace jccl::emulator {

struct FatbinHeader {
  static constexpr uint32_t kMagic = 0xba55ed50;
  uint32_t magic;
  uint16_t version;
  uint16_t headerBytes;
  uint64_t bytes;  // size of the entries that follow
};
static_assert(sizeof(FatbinHeader) == 16);

struct FatbinEntry {
  static constexpr uint16_t kPtx = 1, kElf = 2;
  static constexpr uint64_t kCompressedByZstd = 0x8000;
  uint16_t kind;
  uint16_t version;
  uint32_t headerBytes;
  uint64_t payloadBytes;
  uint64_t compressedBytes;
  uint32_t minorAndMajor;  // version of the code, PTX ISA for PTX: the major one in the low 16 bits
  uint32_t architecture;   // 80 is sm_80
  uint32_t nameOffset;     // counted from the entry's beginning
  uint32_t nameBytes;
  uint64_t flags;
  uint64_t unused;
  uint64_t wholeBytes;  // size of a compressed payload before compression
};
static_assert(sizeof(FatbinEntry) == 64);

// Offsets of two bytes in an ELF header: the OS ABI (system) and the ABI version (interface). NVIDIA's forms of ELF
// files differ in these bytes.
constexpr size_t kElfSystem = 7, kElfInterface = 8;
constexpr uint8_t kSystemOfCuda12 = 0x33, kInterfaceOfCuda12 = 7;
constexpr uint8_t kSystemOfCuda13 = 0x41, kInterfaceOfCuda13 = 8;

}  // namespace jccl::emulator
