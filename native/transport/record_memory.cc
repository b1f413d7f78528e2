#include "transport/record_memory.h"

#include <array>
#include <mutex>

namespace jccl {
namespace {

struct Blocks {
  std::mutex mutex;
  std::array<std::unique_ptr<uint8_t[]>, RecordMemory::kSpares> spare;
  size_t spares = 0;
  size_t inUse = 0;
};

// Never destroyed, because threads may give memory back while the process ends.
Blocks& blocks() {
  static auto& all = *new Blocks;
  return all;
}

}  // namespace

std::unique_ptr<uint8_t[]> RecordMemory::take() {
  Blocks& all = blocks();
  {
    const std::lock_guard lock(all.mutex);
    ++all.inUse;
    if (all.spares > 0) return std::move(all.spare[--all.spares]);
  }
  return std::unique_ptr<uint8_t[]>(new uint8_t[kBytes]);  // not zeroed
}

void RecordMemory::keep(std::unique_ptr<uint8_t[]> memory) {
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  --all.inUse;
  if (all.spares < kSpares) all.spare[all.spares++] = std::move(memory);
}

size_t RecordMemory::inUse() {
  Blocks& all = blocks();
  const std::lock_guard lock(all.mutex);
  return all.inUse;
}

}  // namespace jccl
