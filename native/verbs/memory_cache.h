// Registered memory that all users of the same pages share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/status.h"
#include "verbs/verbs_objects.h"

namespace jccl::verbs {

// Registration pins pages and takes long, so a range inside a registered range shares the region of that range. Ranges
// that are only sent from are widened to whole pages. Ranges that other ends write are not widened, because the rest of
// a page belongs to other data. A region is deregistered when its last user releases it, and never kept longer: memory
// that the application freed and mapped anew at the same address must not be taken for the old memory. Used under one
// lock.
class MemoryCache {
 public:
  using Shared = std::shared_ptr<const Region>;

  MemoryCache(std::shared_ptr<OpenDevice> device, bool relaxedOrdering)
      : device_(std::move(device)), relaxedOrdering_(relaxedOrdering) {}

  // `writable`: other ends may write the memory.
  Status get(void* address, size_t bytes, bool writable, Shared* region);

  // Registers GPU memory as a whole; see Region::makeOnDevice. The region is not shared; its user keeps it.
  Status getOnDevice(void* address, size_t bytes, int dmabuf, Shared* region) const;

  // Returns the number of regions of host memory that are registered now.
  size_t size() const;

 private:
  std::shared_ptr<OpenDevice> device_;
  const bool relaxedOrdering_;
  std::multimap<uintptr_t, std::weak_ptr<const Region>> regions_;  // key: address of the first byte
};

}  // namespace jccl::verbs
