#include "cuda/test/device/image_reader.h"

#include <cstring>

#include "cuda/test/device/fatbin.h"

namespace jccl::emulator {
namespace {

using driver::Result;

constexpr int kReadsZstd = 12040, kReadsElfOfCuda13 = 13000;

// Code for a capability runs on later minor versions of the same major version; PTX is compiled for every later
// capability.
bool isFor(const FatbinEntry& entry, int capability) {
  const int architecture = static_cast<int>(entry.architecture);
  return architecture <= capability && (entry.kind == FatbinEntry::kPtx || architecture / 10 == capability / 10);
}

// PTX ISA 8.x belongs to CUDA 12.x, and 9.x to 13.x (PTX ISA, Release History). A driver compiles PTX of its own version
// and of earlier ones.
bool isTooNewFor(int driverVersion, const FatbinEntry& entry) {
  if (entry.kind != FatbinEntry::kPtx) return false;
  const uint32_t major = entry.minorAndMajor & 0xffff, minor = entry.minorAndMajor >> 16;
  return static_cast<int>((major + 4) * 1000 + minor * 10) > driverVersion;
}

bool isReadBy(int driverVersion, const FatbinEntry& entry, const unsigned char* payload) {
  if ((entry.flags & FatbinEntry::kCompressedByZstd) != 0) return driverVersion >= kReadsZstd;
  const bool isElf = entry.kind == FatbinEntry::kElf && entry.compressedBytes == 0;
  return !isElf || payload[kElfSystem] == kSystemOfCuda12 || driverVersion >= kReadsElfOfCuda13;
}

}  // namespace

Result readImage(const void* image, int capability, int driverVersion, std::string& name, bool& compiles) {
  const auto* at = static_cast<const unsigned char*>(image);
  FatbinHeader header{};
  if (image != nullptr) std::memcpy(&header, at, sizeof header);
  if (header.magic != FatbinHeader::kMagic) return Result::InvalidImage;
  at += header.headerBytes;
  const unsigned char* end = at + header.bytes;
  Result result = Result::NoBinaryForGpu;
  while (at < end) {
    FatbinEntry entry;
    std::memcpy(&entry, at, sizeof entry);
    const unsigned char* payload = at + entry.headerBytes;
    if (isFor(entry, capability)) {
      name.assign(reinterpret_cast<const char*>(at + entry.nameOffset), entry.nameBytes);
      result = !isReadBy(driverVersion, entry, payload) ? Result::InvalidImage
               : isTooNewFor(driverVersion, entry)      ? Result::UnsupportedPtxVersion
                                                        : Result::Success;
      compiles = entry.kind == FatbinEntry::kPtx;
      // Of several texts a driver compiles the one for the newest architecture, which comes last.
      if (entry.kind == FatbinEntry::kElf) return result;
    }
    at = payload + entry.payloadBytes;
  }
  return result;
}

}  // namespace jccl::emulator
