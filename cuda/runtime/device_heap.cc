#include "cuda/runtime/device_heap.h"

#include <cstring>
#include <map>
#include <mutex>
#include <tuple>

#include "cuda/runtime/device_api.h"

namespace jccl::device {
namespace {

constexpr size_t kUnit = 2 * 1024 * 1024;  // the unit in which the driver allocates device memory
constexpr size_t kPinnedUnit = 4096;
constexpr int kHost = -1;

// Free memory by device and size. Never destroyed: when the process ends, the driver frees the remaining memory.
struct Heap {
  std::mutex mutex;
  std::multimap<std::tuple<int, size_t>, uint8_t*> free;
};

Heap& heap() {
  static auto* instance = new Heap();
  return *instance;
}

}  // namespace

Status HeapMemory::take(Kind kind, size_t bytes, HeapMemory& memory) {
  memory.reset();
  int device = kHost;
  if (kind == Kind::Device) {
    if (Status status = currentDevice(device); !status) return status;
  }
  const size_t unit = kind == Kind::Device ? kUnit : kPinnedUnit;
  const size_t rounded = (bytes + unit - 1) / unit * unit;
  uint8_t* base = nullptr;
  {
    Heap& known = heap();
    const std::lock_guard lock(known.mutex);
    // Accepts free memory of up to twice the size.
    const auto found = known.free.lower_bound({device, rounded});
    if (found != known.free.end() && std::get<0>(found->first) == device && std::get<1>(found->first) <= 2 * rounded) {
      base = found->second;
      memory.bytes_ = std::get<1>(found->first);
      known.free.erase(found);
    }
  }
  if (base != nullptr) {
    if (kind == Kind::Pinned) std::memset(base, 0, memory.bytes_);
  } else {
    void* fresh = nullptr;
    const Status status = kind == Kind::Device ? allocate(rounded, fresh) : allocatePinned(rounded, fresh);
    if (!status) return status;
    base = static_cast<uint8_t*>(fresh);
    memory.bytes_ = rounded;
  }
  memory.base_ = base;
  memory.device_ = device;
  memory.kind_ = kind;
  return Status::ok();
}

HeapMemory& HeapMemory::operator=(HeapMemory&& other) noexcept {
  if (this != &other) {
    reset();
    base_ = other.base_;
    bytes_ = other.bytes_;
    device_ = other.device_;
    kind_ = other.kind_;
    other.base_ = nullptr;
  }
  return *this;
}

void HeapMemory::reset() {
  if (base_ == nullptr) return;
  Heap& known = heap();
  const std::lock_guard lock(known.mutex);
  known.free.insert({{device_, bytes_}, base_});
  base_ = nullptr;
}

}  // namespace jccl::device
