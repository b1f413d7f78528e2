// Messages whose data receivers in the same process copy straight out of the sender's memory.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace jccl {

// Thread-safe. The sender may reuse its memory only after withdraw(), also if its communicator has failed.
class MemoryOffers {
 public:
  static MemoryOffers& ofProcess();

  // Offers memory; returns its number, which is never used again in this process.
  uint64_t add(const uint8_t* data);
  // Returns the memory, which stays until release(); null if it was withdrawn.
  const uint8_t* hold(uint64_t number);
  void release(uint64_t number);
  // Ends an offer. Waits while a receiver holds the memory. Does nothing for an offer that has ended.
  void withdraw(uint64_t number);

 private:
  struct Offer {
    const uint8_t* data;
    bool isHeld = false;
  };

  std::mutex mutex_;
  std::map<uint64_t, Offer> offers_;  // guarded by mutex_
  uint64_t next_ = 1;                 // guarded by mutex_
};

}  // namespace jccl
