// Registered memory, shared by all users of the same pages.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/status.h"
#include "verbs/verbs_objects.h"

namespace jccl::verbs {

// Registration pins pages and takes long: a range inside one that is registered shares it. Ranges that are only sent from
// are widened to whole pages; those that other ends write end where they end, because what shares a page with them is
// another owner's. A region is deregistered when its last user releases it. Nothing is kept beyond that: memory that
// the application freed and mapped anew at the same place must never be taken for the old one. Used under one lock.
class MemoryCache {
 public:
  using Shared = std::shared_ptr<const Region>;

  MemoryCache(std::shared_ptr<OpenDevice> device, bool relaxedOrdering)
      : device_(std::move(device)), relaxedOrdering_(relaxedOrdering) {}

  // `writable`: by other ends.
  Status get(void* address, size_t bytes, bool writable, Shared* region);

  // Memory of a GPU, whole; see Region::makeOnDevice. It has one user, who keeps it.
  Status getOnDevice(void* address, size_t bytes, int dmabuf, Shared* region) const;

  // How many regions of the host's memory are registered now.
  size_t size() const;

 private:
  std::shared_ptr<OpenDevice> device_;
  const bool relaxedOrdering_;
  std::multimap<uintptr_t, std::weak_ptr<const Region>> regions_;  // by first byte
};

}  // namespace jccl::verbs
