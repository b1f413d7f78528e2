#include "messages/memory_offers.h"

#include <thread>

namespace jccl {

MemoryOffers& MemoryOffers::ofProcess() {
  static MemoryOffers offers;
  return offers;
}

uint64_t MemoryOffers::add(const uint8_t* data) {
  const std::lock_guard lock(mutex_);
  offers_[next_] = {data};
  return next_++;
}

const uint8_t* MemoryOffers::hold(uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = offers_.find(number);
  if (found == offers_.end()) return nullptr;
  found->second.isHeld = true;
  return found->second.data;
}

void MemoryOffers::release(uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (const auto found = offers_.find(number); found != offers_.end()) found->second.isHeld = false;
}

void MemoryOffers::withdraw(uint64_t number) {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = offers_.find(number);
      if (found == offers_.end()) return;
      if (!found->second.isHeld) {
        offers_.erase(found);
        return;
      }
    }
    std::this_thread::yield();  // the receiver copies the data
  }
}

}  // namespace jccl
