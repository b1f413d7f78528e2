#include "cuda/runtime/device_heap.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "cuda/runtime/device_api.h"

namespace jccl::device {
namespace {

using Kind = HeapMemory::Kind;

constexpr size_t kUnit = 2 * 1024 * 1024;  // the unit in which the driver allocates device memory
constexpr size_t kPinnedUnit = 4096;
// Pinned memory is allocated in slabs, which are divided, because each allocation waits for kernels.
constexpr size_t kSlabBytes = 4 * 1024 * 1024;
constexpr size_t kMaxReserveBytes = 64 * 1024 * 1024;
constexpr int kHost = -1;

struct Piece {
  uint8_t* base;
  bool mapped;
};

// Free memory by device, kind and size. Never destroyed: when the process ends, the driver frees the remaining memory.
struct Heap {
  using Key = std::tuple<int, Kind, size_t>;

  std::mutex mutex;
  std::multimap<Key, Piece> free;
  size_t pinnedInUse = 0;

  // Returns the smallest free piece of at least `bytes`; end() if there is none.
  std::multimap<Key, Piece>::iterator find(int device, Kind kind, size_t bytes) {
    const auto found = free.lower_bound({device, kind, bytes});
    const bool fits = found != free.end() && std::get<0>(found->first) == device && std::get<1>(found->first) == kind;
    return fits ? found : free.end();
  }
  size_t freePinned() const {
    size_t bytes = 0;
    for (const auto& [key, piece] : free) bytes += std::get<1>(key) == Kind::Pinned ? std::get<2>(key) : 0;
    return bytes;
  }
};

Heap& heap() {
  static auto* instance = new Heap();
  return *instance;
}

Status addSlab(size_t bytes) {
  void* slab = nullptr;
  if (Status status = allocatePinned(bytes, slab); !status) return status;
  const std::lock_guard lock(heap().mutex);
  heap().free.insert({{kHost, Kind::Pinned, bytes}, {static_cast<uint8_t*>(slab), false}});
  return Status::ok();
}

// Takes pinned memory from a slab; the rest of a larger piece stays free.
bool takePinned(size_t bytes, uint8_t*& base) {
  Heap& known = heap();
  const std::lock_guard lock(known.mutex);
  const auto found = known.find(kHost, Kind::Pinned, bytes);
  if (found == known.free.end()) return false;
  base = found->second.base;
  const size_t rest = std::get<2>(found->first) - bytes;
  known.free.erase(found);
  if (rest != 0) known.free.insert({{kHost, Kind::Pinned, rest}, {base + bytes, false}});
  known.pinnedInUse += bytes;
  return true;
}

// Allocates device memory of at least `bytes`, and sets `bytes` to its size.
Status allocateDevice(Kind kind, size_t& bytes, Piece& piece) {
  DescriptorMemory mapped;
  Status status;
  if (kind == Kind::Device) {
    status = allocateMapped(bytes, mapped);
    if (status) {
      piece = {static_cast<uint8_t*>(mapped.address), true};
      bytes = mapped.bytes;
      return status;
    }
    if (status.code() == Code::NoMemory) return status;
  }
  void* plain = nullptr;
  status = allocate(bytes, plain);
  piece = {static_cast<uint8_t*>(plain), false};
  return status;
}

}  // namespace

Status HeapMemory::reservePinned() {
  size_t bytes = 0;
  {
    const std::lock_guard lock(heap().mutex);
    const size_t wanted = std::clamp(heap().pinnedInUse, kSlabBytes, kMaxReserveBytes), has = heap().freePinned();
    bytes = has < wanted ? wanted - has : 0;
  }
  return bytes == 0 ? Status::ok() : addSlab((bytes + kSlabBytes - 1) / kSlabBytes * kSlabBytes);
}

Status HeapMemory::take(Kind kind, size_t bytes, HeapMemory& memory) {
  memory.reset();
  memory.kind_ = kind;
  const size_t unit = kind == Kind::Pinned ? kPinnedUnit : kUnit;
  size_t rounded = (bytes + unit - 1) / unit * unit;
  Piece piece{};
  if (kind == Kind::Pinned) {
    while (!takePinned(rounded, piece.base)) {
      if (Status status = addSlab(std::max(rounded, kSlabBytes)); !status) return status;
    }
    std::memset(piece.base, 0, rounded);
  } else {
    if (Status status = currentDevice(memory.device_); !status) return status;
    {
      Heap& known = heap();
      const std::lock_guard lock(known.mutex);
      const auto found = known.find(memory.device_, kind, rounded);
      // Accepts free memory of up to twice the size.
      if (found != known.free.end() && std::get<2>(found->first) <= 2 * rounded) {
        rounded = std::get<2>(found->first);
        piece = found->second;
        known.free.erase(found);
      }
    }
    if (piece.base == nullptr) {
      if (Status status = allocateDevice(kind, rounded, piece); !status) return status;
    }
  }
  memory.base_ = piece.base;
  memory.mapped_ = piece.mapped;
  memory.bytes_ = rounded;
  return Status::ok();
}

HeapMemory& HeapMemory::operator=(HeapMemory&& other) noexcept {
  if (this != &other) {
    reset();
    base_ = other.base_;
    bytes_ = other.bytes_;
    device_ = other.device_;
    kind_ = other.kind_;
    mapped_ = other.mapped_;
    other.base_ = nullptr;
  }
  return *this;
}

void HeapMemory::reset() {
  if (base_ == nullptr) return;
  Heap& known = heap();
  const std::lock_guard lock(known.mutex);
  if (kind_ == Kind::Pinned) known.pinnedInUse -= bytes_;
  known.free.insert({{kind_ == Kind::Pinned ? kHost : device_, kind_, bytes_}, {base_, mapped_}});
  base_ = nullptr;
}

}  // namespace jccl::device
