// Memory that adapters can use.
#pragma once

#include <map>

#include "transport/net.h"
#include "verbs/adapter.h"

namespace jccl {

// Memory is registered with an adapter when a connection over that adapter first uses it, because most memory is used
// with only one of several adapters.
class IbMemory final : public NetMemory {
 public:
  // `writable` must be false for memory that the process can only read.
  IbMemory(void* address, size_t bytes, bool writable) : address_(address), bytes_(bytes), writable_(writable) {}

  // GPU memory; always writable.
  explicit IbMemory(const NetDeviceMemory& device)
      : address_(device.address), bytes_(device.bytes), writable_(true), onDevice_(true), dmabuf_(device.descriptor) {}

  bool onDevice() const { return onDevice_; }

  // Sets *region to the registration with this adapter, which lives as long as this object.
  Status with(verbs::Adapter& adapter, const verbs::Region** region) {
    verbs::MemoryCache::Shared& known = regions_[&adapter];
    if (known == nullptr) {
      Status registered = onDevice_ ? adapter.memory().getOnDevice(address_, bytes_, dmabuf_, &known)
                                    : adapter.memory().get(address_, bytes_, writable_, &known);
      if (!registered) return registered;
    }
    *region = known.get();
    return Status::ok();
  }

 private:
  void* const address_;
  const size_t bytes_;
  const bool writable_;
  const bool onDevice_ = false;
  const int dmabuf_ = -1;
  std::map<const verbs::Adapter*, verbs::MemoryCache::Shared> regions_;
};

inline Status reachWith(verbs::Adapter& adapter, NetMemory& memory) {
  const verbs::Region* region = nullptr;
  auto* own = dynamic_cast<IbMemory*>(&memory);
  return own == nullptr ? Status::internal("ib: memory of another network") : own->with(adapter, &region);
}

}  // namespace jccl
