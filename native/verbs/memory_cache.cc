#include "verbs/memory_cache.h"

#include <algorithm>

#include "base/page.h"

namespace jccl::verbs {

Status MemoryCache::get(void* address, size_t bytes, bool writable, Shared* region) {
  const uintptr_t unit = writable ? 1 : pageBytes();
  const uintptr_t begin = reinterpret_cast<uintptr_t>(address) / unit * unit;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(address) + std::max<size_t>(bytes, 1) + unit - 1) / unit * unit;
  for (auto one = regions_.begin(); one != regions_.end() && one->first <= begin;) {
    Shared known = one->second.lock();
    if (known == nullptr) {
      one = regions_.erase(one);
      continue;
    }
    if (one->first + known->bytes() >= end && (known->writable() || !writable)) {
      *region = std::move(known);
      return Status::ok();
    }
    ++one;
  }
  const int access = writable ? kAccessLocalWrite | kAccessRemoteWrite : 0;
  std::unique_ptr<Region> made;
  if (Status registered =
          Region::make(device_, reinterpret_cast<void*>(begin), end - begin, access, relaxedOrdering_, &made);
      !registered) {
    return registered;
  }
  *region = std::move(made);
  regions_.emplace(begin, *region);
  return Status::ok();
}

Status MemoryCache::getOnDevice(void* address, size_t bytes, int dmabuf, Shared* region) const {
  std::unique_ptr<Region> made;
  Status registered = Region::makeOnDevice(device_, address, bytes, dmabuf, relaxedOrdering_, &made);
  if (registered) *region = std::move(made);
  return registered;
}

size_t MemoryCache::size() const {
  return static_cast<size_t>(
      std::count_if(regions_.begin(), regions_.end(), [](const auto& one) { return !one.second.expired(); }));
}

}  // namespace jccl::verbs
