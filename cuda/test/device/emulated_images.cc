// Kernel images without code, for the emulated driver, which runs kernels on the CPU. Replaces cuda/kernels/images.cc.
// JCCL_EMULATED_KERNELS in the environment is the CUDA version that the images claim to come from, 12000 by default.
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/kernels/image.h"
#include "cuda/test/device/fatbin.h"

namespace jccl::device {
namespace {

using emulator::FatbinEntry;
using emulator::FatbinHeader;

constexpr uint32_t kArchitectures[] = {75, 80, 86, 89, 90, 100, 120};
constexpr size_t kElfBytes = 64, kNameBytes = 24;

std::vector<unsigned char> make(std::string_view name) {
  constexpr size_t kEntryBytes = sizeof(FatbinEntry) + kNameBytes + kElfBytes;
  std::vector<unsigned char> image(sizeof(FatbinHeader) + std::size(kArchitectures) * kEntryBytes);
  const FatbinHeader header{FatbinHeader::kMagic, 1, sizeof header, image.size() - sizeof header};
  std::memcpy(image.data(), &header, sizeof header);
  unsigned char* at = image.data() + sizeof header;
  for (const uint32_t architecture : kArchitectures) {
    FatbinEntry entry{};
    entry.kind = FatbinEntry::kElf;
    entry.headerBytes = sizeof entry + kNameBytes;
    entry.payloadBytes = kElfBytes;
    entry.architecture = architecture;
    entry.nameOffset = sizeof entry;
    entry.nameBytes = static_cast<uint32_t>(name.size());
    std::memcpy(at, &entry, sizeof entry);
    std::memcpy(at + entry.nameOffset, name.data(), entry.nameBytes);
    unsigned char* elf = at + entry.headerBytes;
    std::memcpy(elf, "\177ELF", 4);
    const bool later = versionOfImages() >= 13000;
    elf[emulator::kElfSystem] = later ? emulator::kSystemOfCuda13 : emulator::kSystemOfCuda12;
    elf[emulator::kElfInterface] = later ? emulator::kInterfaceOfCuda13 : emulator::kInterfaceOfCuda12;
    at += kEntryBytes;
  }
  return image;
}

}  // namespace

const void* imageOf(std::string_view file) {
  static std::mutex mutex;
  static auto* made = new std::map<std::string, std::vector<unsigned char>, std::less<>>();
  const std::lock_guard lock(mutex);
  auto found = made->find(file);
  if (found == made->end()) found = made->emplace(file, make(file)).first;
  return found->second.data();
}

int versionOfImages() {
  const char* version = std::getenv("JCCL_EMULATED_KERNELS");
  return version == nullptr ? 12000 : std::atoi(version);
}

}  // namespace jccl::device
