// Chooses the thread that runs next. A thread that can continue is ready. A thread that polls in a loop spins; it is
// resumed when all ready threads have run, or earlier by chance.
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

  // Returns the next thread, or null if no thread is ready or spins. If no thread was ready, makes all spinning threads
  // ready and sets `quiet`.
  Thread* pick(bool& quiet);

  // Returns the number of calls that a thread may make until it is interrupted.
  int fuel();

  // From now on, runs threads in rotation if `fair`, otherwise by the chosen schedule.
  void fair(bool fair) { fair_ = fair; }
  void clear();
  // Called when a launch has ended: the victim may have been part of it.
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
  std::vector<Thread*> ring_;  // ready threads; the vector's size is a power of two
  size_t head_ = 0, size_ = 0;
  std::vector<Thread*> spinning_;
  uint32_t burstLeft_ = 0;
  uint32_t victimLeft_ = 0;
  VictimLevel victimLevel_ = VictimLevel::Thread;
  const void* victim_ = nullptr;  // only compared, never dereferenced
};

}  // namespace jccl::emulator
