// Window of the messages that one end of a connection has posted and not finished.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "transport/net.h"

namespace jccl {

// Contains a slot for each message from done() up to, but not including, posted(): at most kNetInFlight. Indexed by
// sequence number.
template <typename Slot>
class MessageWindow {
 public:
  // posted() is the next message to post, done() the first one that test() has not reported.
  uint64_t posted() const { return posted_; }
  uint64_t done() const { return done_; }
  bool holds(uint64_t sequence) const { return sequence >= done_ && sequence < posted_; }
  bool isFirst(uint64_t sequence) const { return sequence == done_ && holds(sequence); }
  bool mayPost(uint64_t sequence) const { return sequence == posted_ && posted_ - done_ < kNetInFlight; }

  Slot& operator[](uint64_t sequence) { return slots_[sequence % kNetInFlight]; }
  const Slot& operator[](uint64_t sequence) const { return slots_[sequence % kNetInFlight]; }

  // Posts the next message. Its slot still contains the values of an earlier message.
  Slot& post() { return (*this)[posted_++]; }
  // finish() finishes the first message. finishTo() finishes messages up to `sequence`, in order, while isOver(slot) is
  // true.
  void finish() { ++done_; }
  template <typename IsOver>
  void finishTo(uint64_t sequence, IsOver isOver) {
    while (done_ < posted_ && done_ <= sequence && isOver((*this)[done_])) ++done_;
  }

  // Returns the error of a call whose sequence number does not fit.
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
