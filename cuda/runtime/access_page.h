// Shared memory by which a rank takes its buffers back from kernels of other processes, after its operation in place
// has failed.
//
// Each rank has one page, which the others map. A rank that wants its buffers back revokes them in the pages of all
// others. Each of these then ends its kernels, begins no more, and answers in its own page. Only the host uses the
// pages, and only after a failure. A process holds a lock on its page while it lives: once a process has ended, so have
// its kernels.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/fd.h"
#include "base/mapped_memory.h"
#include "base/status.h"

namespace jccl::device {

class AccessPage {
 public:
  // Creates this rank's page; `descriptor` is for the other ranks.
  static Status make(const uint64_t token[2], int rank, AccessPage& page, UniqueFd& descriptor);
  // Opens the page of a rank in another process by the descriptor that it sent.
  static Status open(UniqueFd descriptor, const uint64_t token[2], int rank, AccessPage& page);

  explicit operator bool() const { return static_cast<bool>(memory_); }
  void revoke() { words()->revoked.store(1); }
  bool awaitsAnswer() const { return words()->revoked.load() != 0 && words()->answered.load() == 0; }
  void answer() { words()->answered.store(1); }
  // Returns true if the rank that owns the page has answered, or its process has ended.
  bool isReleased() const;

 private:
  struct Words {
    uint64_t token[2];
    int32_t rank;
    std::atomic<uint32_t> revoked, answered;
  };
  Words* words() const { return reinterpret_cast<Words*>(memory_.base()); }

  MappedMemory memory_;
  // The rank that owns the page holds the lock through this descriptor; other ranks check the lock through theirs.
  UniqueFd file_;
};

}  // namespace jccl::device
