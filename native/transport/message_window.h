// The messages that one end of a connection has posted and not finished.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "transport/net.h"

namespace jccl {

// A slot for each of the up to kNetInFlight messages from done() to posted(), by sequence number.
template <typename Slot>
class MessageWindow {
 public:
  // The next message to post, and the first that test() has not reported.
  uint64_t posted() const { return posted_; }
  uint64_t done() const { return done_; }
  bool holds(uint64_t sequence) const { return sequence >= done_ && sequence < posted_; }
  bool isFirst(uint64_t sequence) const { return sequence == done_ && holds(sequence); }
  bool mayPost(uint64_t sequence) const { return sequence == posted_ && posted_ - done_ < kNetInFlight; }

  Slot& operator[](uint64_t sequence) { return slots_[sequence % kNetInFlight]; }
  const Slot& operator[](uint64_t sequence) const { return slots_[sequence % kNetInFlight]; }

  // Posts the next message; its slot is as another message left it.
  Slot& post() { return (*this)[posted_++]; }
  // Finishes the first message; or all up to `sequence` of which `isOver(slot)` holds, up to the first of which it does not.
  void finish() { ++done_; }
  template <typename IsOver>
  void finishTo(uint64_t sequence, IsOver isOver) {
    while (done_ < posted_ && done_ <= sequence && isOver((*this)[done_])) ++done_;
  }

  // The error of a call with a sequence number that does not fit.
  Status outOfOrder(const char* call, uint64_t sequence) const {
    return Status::internal(std::string(call) + ": sequence=" + std::to_string(sequence) +
                            " posted=" + std::to_string(posted_) + " done=" + std::to_string(done_) +
                            ": out of order or too far ahead");
  }

 private:
  std::array<Slot, kNetInFlight> slots_;
  uint64_t posted_ = 0;
  uint64_t done_ = 0;
};

}  // namespace jccl
