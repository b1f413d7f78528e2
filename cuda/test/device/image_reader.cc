#include "cuda/test/device/image_reader.h"

#include <cstring>
#include <string_view>

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

Result readImage(const void* image, int capability, int driverVersion, device::KernelImage& name) {
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
      const std::string_view found(reinterpret_cast<const char*>(at + entry.nameOffset), entry.nameBytes);
      for (int i = 0; i < device::kKernelImageCount; ++i) {
        if (found != nameOf(static_cast<device::KernelImage>(i))) continue;
        name = static_cast<device::KernelImage>(i);
        return Result::Success;
      }
      return Result::InvalidImage;
    }
    at = payload + entry.payloadBytes;
  }
  return Result::NoBinaryForGpu;
}

}  // namespace jccl::emulator
