// Who runs next. A thread that can go on is ready; one that waits in a loop spins, and is resumed when all that
// are ready have run, or earlier by chance.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/test/emulator/machine.h"
#include "cuda/test/emulator/random.h"
#include "cuda/test/emulator/thread.h"

namespace jccl::emulator {

class Scheduler {
 public:
  Scheduler(Schedule schedule, Random& random);

  void ready(Thread* thread) {
    if (size_ == ring_.size()) grow();
    ring_[(head_ + size_++) & (ring_.size() - 1)] = thread;
  }
  void spinning(Thread* thread) { spinning_.push_back(thread); }

  // The next thread; null: none is ready. `quiet` says that all that can run were spinning and now run.
  Thread* pick(bool& quiet);

  // How many calls a thread makes until it is interrupted.
  int fuel();

  // In rotation from here on, or as chosen.
  void fair(bool fair) { fair_ = fair; }
  void clear();
  // A launch has ended: its threads are no longer victims.
  void forgetVictim() { victim_ = nullptr, victimLeft_ = 0; }

 private:
  enum class VictimLevel : uint8_t { Thread, Warp, Block, Launch };

  void grow();
  Thread* pop() {
    Thread* thread = ring_[head_];
    head_ = (head_ + 1) & (ring_.size() - 1);
    --size_;
    return thread;
  }
  Thread*& at(size_t i) { return ring_[(head_ + i) & (ring_.size() - 1)]; }
  Thread* popAt(size_t i);
  Thread* popSpinning();
  bool wakeSpinning();
  Thread* bursty();
  Thread* starving();
  bool isVictim(const Thread* thread) const;
  void chooseVictim();

  Schedule schedule_;
  Random& random_;
  bool fair_ = false;
  std::vector<Thread*> ring_;  // a power of two
  size_t head_ = 0, size_ = 0;
  std::vector<Thread*> spinning_;
  uint32_t burstLeft_ = 0;
  uint32_t victimLeft_ = 0;
  VictimLevel victimLevel_ = VictimLevel::Thread;
  const void* victim_ = nullptr;  // compared only
};

}  // namespace jccl::emulator
