// Kernel images without code, for the emulated driver, which runs kernels on the CPU. Replaces cuda/kernels/images.cc.
// JCCL_EMULATED_KERNELS in the environment is the CUDA version that the images claim to come from, 12000 by default. Like
// a build, images of CUDA 13 have PTX for older drivers, unless JCCL_EMULATED_PTX is "off".
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda/kernels/image.h"
#include "cuda/test/device/fatbin.h"

namespace jccl::device {
namespace {

using emulator::FatbinEntry;
using emulator::FatbinHeader;

constexpr uint32_t kArchitectures[] = {75, 80, 86, 89, 90, 100, 120}, kPtxArchitectures[] = {75, 80, 90};
constexpr size_t kElfBytes = 64, kNameBytes = 24;

std::vector<unsigned char> make(std::string_view name, bool isPtx) {
  std::span<const uint32_t> architectures = isPtx ? std::span<const uint32_t>(kPtxArchitectures) : kArchitectures;
  if (isPtx && name == "nvls") architectures = architectures.last(1);
  constexpr size_t kEntryBytes = sizeof(FatbinEntry) + kNameBytes + kElfBytes;
  std::vector<unsigned char> image(sizeof(FatbinHeader) + architectures.size() * kEntryBytes);
  const FatbinHeader header{FatbinHeader::kMagic, 1, sizeof header, image.size() - sizeof header};
  std::memcpy(image.data(), &header, sizeof header);
  unsigned char* at = image.data() + sizeof header;
  for (const uint32_t architecture : architectures) {
    FatbinEntry entry{};
    entry.kind = isPtx ? FatbinEntry::kPtx : FatbinEntry::kElf;
    // The versions of a build's PTX: NVLS needs 8.2.
    entry.minorAndMajor = architecture < 90 ? 7 << 16 | 7 : name == "nvls" ? 2 << 16 | 8 : 8 << 16 | 7;
    entry.headerBytes = sizeof entry + kNameBytes;
    entry.payloadBytes = kElfBytes;
    entry.architecture = architecture;
    entry.nameOffset = sizeof entry;
    entry.nameBytes = static_cast<uint32_t>(name.size());
    std::memcpy(at, &entry, sizeof entry);
    std::memcpy(at + entry.nameOffset, name.data(), entry.nameBytes);
    at += kEntryBytes;
    if (isPtx) continue;
    unsigned char* elf = at - kElfBytes;
    std::memcpy(elf, "\177ELF", 4);
    const bool later = versionOfImages() >= 13000;
    elf[emulator::kElfSystem] = later ? emulator::kSystemOfCuda13 : emulator::kSystemOfCuda12;
    elf[emulator::kElfInterface] = later ? emulator::kInterfaceOfCuda13 : emulator::kInterfaceOfCuda12;
  }
  return image;
}

const void* made(std::string_view file, bool isPtx) {
  static std::mutex mutex;
  static auto* all = new std::map<std::pair<std::string, bool>, std::vector<unsigned char>>();
  const std::lock_guard lock(mutex);
  std::vector<unsigned char>& image = (*all)[{std::string(file), isPtx}];
  if (image.empty()) image = make(file, isPtx);
  return image.data();
}

}  // namespace

const void* imageOf(std::string_view file) { return made(file, false); }

const void* ptxOf(std::string_view file) { return hasPtx() ? made(file, true) : nullptr; }

bool hasPtx() {
  const char* ptx = std::getenv("JCCL_EMULATED_PTX");
  return versionOfImages() >= 13000 && (ptx == nullptr || std::strcmp(ptx, "off") != 0);
}

int versionOfImages() {
  const char* version = std::getenv("JCCL_EMULATED_KERNELS");
  return version == nullptr ? 12000 : std::atoi(version);
}

}  // namespace jccl::device
