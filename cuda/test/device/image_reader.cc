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

bool isReadBy(int driverVersion, const FatbinEntry& entry, const unsigned char* payload) {
  if ((entry.flags & FatbinEntry::kCompressedByZstd) != 0) return driverVersion >= kReadsZstd;
  const bool isElf = entry.kind == FatbinEntry::kElf && entry.compressedBytes == 0;
  return !isElf || payload[kElfSystem] == kSystemOfCuda12 || driverVersion >= kReadsElfOfCuda13;
}

}  // namespace

Result readImage(const void* image, int capability, int driverVersion, std::string& name) {
  const auto* at = static_cast<const unsigned char*>(image);
  FatbinHeader header{};
  if (image != nullptr) std::memcpy(&header, at, sizeof header);
  if (header.magic != FatbinHeader::kMagic) return Result::InvalidImage;
  at += header.headerBytes;
  const unsigned char* end = at + header.bytes;
  while (at < end) {
    FatbinEntry entry;
    std::memcpy(&entry, at, sizeof entry);
    const unsigned char* payload = at + entry.headerBytes;
    if (isFor(entry, capability)) {
      if (!isReadBy(driverVersion, entry, payload)) return Result::InvalidImage;
      name.assign(reinterpret_cast<const char*>(at + entry.nameOffset), entry.nameBytes);
      return Result::Success;
    }
    at = payload + entry.payloadBytes;
  }
  return Result::NoBinaryForGpu;
}

}  // namespace jccl::emulator
