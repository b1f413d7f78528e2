// Lets a rank whose operation has failed take its buffers back from kernels of other processes, which work on them in place.
//
// Each rank has such a page, which the others map. Who wants its buffers back revokes them in the pages of all others; each
// of these ends its kernels, begins no more, and answers in its own page. Only the host uses it, after a failure. A process holds
// a lock on its page for as long as it lives: the kernels of one that has ended are ended, too.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/fd.h"
#include "base/mapped_memory.h"
#include "base/status.h"

namespace jccl::device {

class AccessPage {
 public:
  // This rank's; `descriptor` is for the others.
  static Status make(const uint64_t token[2], int rank, AccessPage& page, UniqueFd& descriptor);
  // That of a rank of another process, by what it gave.
  static Status open(UniqueFd descriptor, const uint64_t token[2], int rank, AccessPage& page);

  explicit operator bool() const { return static_cast<bool>(memory_); }
  void revoke() { words()->revoked.store(1); }
  bool awaitsAnswer() const { return words()->revoked.load() != 0 && words()->answered.load() == 0; }
  void answer() { words()->answered.store(1); }
  // Whether the rank has answered, or its process has ended.
  bool isReleased() const;

 private:
  struct Words {
    uint64_t token[2];
    int32_t rank;
    std::atomic<uint32_t> revoked, answered;
  };
  Words* words() const { return reinterpret_cast<Words*>(memory_.base()); }

  MappedMemory memory_;
  UniqueFd file_;  // of its own rank: with the lock; else: to look for it
};

}  // namespace jccl::device
