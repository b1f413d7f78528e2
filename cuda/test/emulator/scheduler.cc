#include "cuda/test/emulator/scheduler.h"

#include <utility>

namespace jccl::emulator {

Scheduler::Scheduler(Schedule schedule, Random& random) : schedule_(schedule), random_(random), ring_(64) {
  if (schedule_ == Schedule::BySeed) schedule_ = static_cast<Schedule>(random_.below(4));
}

void Scheduler::clear() {
  head_ = size_ = 0;
  spinning_.clear();
  fair_ = false;
  forgetVictim();
}

void Scheduler::grow() {
  std::vector<Thread*> larger(ring_.size() * 2);
  for (size_t i = 0; i < size_; ++i) larger[i] = at(i);
  ring_ = std::move(larger);
  head_ = 0;
}

Thread* Scheduler::popAt(size_t i) {
  std::swap(at(i), at(0));
  return pop();
}

Thread* Scheduler::popSpinning() {
  std::swap(spinning_[random_.below(static_cast<uint32_t>(spinning_.size()))], spinning_.back());
  Thread* thread = spinning_.back();
  spinning_.pop_back();
  return thread;
}

bool Scheduler::wakeSpinning() {
  for (Thread* thread : spinning_) ready(thread);
  spinning_.clear();
  return size_ != 0;
}

Thread* Scheduler::pick(bool& quiet) {
  quiet = false;
  if (size_ == 0) {
    if (!wakeSpinning()) return nullptr;
    quiet = true;
  }
  if (fair_ || schedule_ == Schedule::RoundRobin) return pop();
  if (!spinning_.empty() && random_.oneIn(8)) return popSpinning();
  if (schedule_ == Schedule::Bursty) return bursty();
  if (schedule_ == Schedule::Starving) return starving();
  return popAt(random_.below(static_cast<uint32_t>(size_)));
}

int Scheduler::fuel() {
  if (fair_ || schedule_ == Schedule::RoundRobin) return 4096;
  const uint64_t bits = random_.next() >> 32;
  return static_cast<int>(bits % 4 == 0 ? bits / 4 % 256 : bits / 4 % 16);
}

// Runs the thread that became ready last, for a random number of switches; then a random one.
Thread* Scheduler::bursty() {
  if (burstLeft_ == 0) {
    burstLeft_ = 1 + random_.below(400);
    return popAt(random_.below(static_cast<uint32_t>(size_)));
  }
  --burstLeft_;
  return ring_[(head_ + --size_) & (ring_.size() - 1)];
}

bool Scheduler::isVictim(const Thread* thread) const {
  switch (victimLevel_) {
    case VictimLevel::Thread:
      return victim_ == thread;
    case VictimLevel::Warp:
      return victim_ == thread->warp;
    case VictimLevel::Block:
      return victim_ == thread->block;
    case VictimLevel::Launch:
      return victim_ == thread->block->launch;
  }
  return false;
}

void Scheduler::chooseVictim() {
  const Thread* thread = at(random_.below(static_cast<uint32_t>(size_)));
  const void* levels[] = {thread, thread->warp, thread->block, thread->block->launch};
  victimLevel_ = static_cast<VictimLevel>(random_.below(4));
  victim_ = levels[static_cast<int>(victimLevel_)];
  victimLeft_ = 1 + random_.below(20'000);
}

Thread* Scheduler::starving() {
  if (victimLeft_ == 0) chooseVictim();
  --victimLeft_;
  for (int attempt = 0; attempt < 8; ++attempt) {
    const size_t i = random_.below(static_cast<uint32_t>(size_));
    if (!isVictim(at(i))) return popAt(i);
  }
  // Nearly all ready threads are victims. In most cases, a spinning thread polls again before a victim runs.
  if (!spinning_.empty() && !random_.oneIn(16)) return popSpinning();
  return popAt(random_.below(static_cast<uint32_t>(size_)));
}

}  // namespace jccl::emulator
