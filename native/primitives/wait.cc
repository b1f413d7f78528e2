#include "primitives/wait.h"

#include <algorithm>

namespace jccl {
namespace {

void cpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // `yield` does nothing on most cores; this takes about as long as x86's pause
#endif
}

constexpr int64_t kMicrosecond = 1'000;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int kPollsPerClock = 32;
constexpr int64_t kLongWaitNanos = 1 * kMillisecond;  // from here on the progress record shows the wait
constexpr int64_t kFirstSleepNanos = 1 * kMillisecond;
constexpr int64_t kLastSleepNanos = 20 * kMillisecond;  // a notification ends it; it bounds what a missed one costs
constexpr int64_t kLastEventSleepNanos = 5 * kMillisecond;
// A yield that took longer let another thread run on this core.
constexpr int64_t kOthersRanNanos = 3 * kMicrosecond;
constexpr int64_t kMinSpinNanos = 250;
constexpr uint32_t kWaitsUntilFullSpin = 256;

// Writes the record while a wait is long, and clears it at the end.
class RecordGuard {
 public:
  RecordGuard(ProgressRecord& record, const WaitPlace& place) : record_(record), place_(place) {}
  ~RecordGuard() {
    if (shown_) record_.sequence.store(0, std::memory_order_release);
  }
  void show(uint64_t sequence) {
    if (shown_) return;
    shown_ = true;
    record_.peer.store(place_.peer, std::memory_order_relaxed);
    record_.transport.store(static_cast<uint8_t>(place_.transport), std::memory_order_relaxed);
    record_.waitFor.store(static_cast<uint8_t>(place_.waitFor), std::memory_order_relaxed);
    record_.protocol.store(static_cast<uint8_t>(place_.protocol), std::memory_order_relaxed);
    record_.step.store(place_.step, std::memory_order_relaxed);
    record_.sequence.store(sequence + 1, std::memory_order_release);
  }
  // The deadline passed: the record stays, it is the answer to "who was waited for?".
  void keep() { shown_ = false; }

 private:
  ProgressRecord& record_;
  const WaitPlace& place_;
  bool shown_ = false;
};

}  // namespace

void Waiter::fail(Code code, const WaitPlace& place) {
  RecordGuard record(record_, place);
  record.show(control_.sequence.load(std::memory_order_relaxed));
  record.keep();
  control_.fail(code);
}

void Waiter::updateRegistration() {
  if (registered_) avoidsYields(monotonicNanos());
}

void Waiter::pause() { cpuRelax(); }

bool Waiter::waitLong(bool (*ready)(void*), void* context, const WaitPlace& place) {
  if (control_.failed()) return false;
  RecordGuard record(record_, place);
  const int64_t start = monotonicNanos();
  int64_t operationStart = 0;
  control_.startNanos.compare_exchange_strong(operationStart, start, std::memory_order_relaxed);
  if (operationStart == 0) operationStart = start;
  const int64_t timeout = control_.timeoutNanos.load(std::memory_order_relaxed);
  int64_t now = start;
  int64_t before = start;
  for (;;) {
    if (ready(context)) {
      learn(before - start, now - before);
      return true;
    }
    if (control_.failed()) return false;
    if (timeout > 0 && now - operationStart >= timeout) {
      record.show(control_.sequence.load(std::memory_order_relaxed));
      record.keep();
      control_.fail(Code::Timeout);
      return false;
    }
    if (control_.progress != nullptr && control_.progress->failed()) {
      fail(Code::Transport, place);
      return false;
    }
    if (now - start >= kLongWaitNanos) record.show(control_.sequence.load(std::memory_order_relaxed));
    const Round round = waitOnce(ready, context, start, now);
    if (round == Round::Seen) {
      // What others brought while this thread was off its core, the network shows only when it is polled.
      learn(before - start, now - before);
      return true;
    }
    before = now;
    now = monotonicNanos();
    if (round == Round::Yielded) yieldPolicy_.took(now - before, now);
  }
}

// Two ranks on one core, because others use the rest or because the scheduler says so, hinder each other by spinning:
// the peer does its part only when this thread yields. Then spins are cut short, until one is tried in full again.
void Waiter::learn(int64_t waited, int64_t lastRound) {
  if (++longWaits_ % kWaitsUntilFullSpin == 0) {
    spinNanos_ = control_.policy.spinNanos;
  } else if (waited >= spinNanos_ && waited < control_.policy.yieldNanos && lastRound >= kOthersRanNanos) {
    spinNanos_ = spinNanos_ / 4 < kMinSpinNanos ? 0 : spinNanos_ / 4;
  }
}

// One round of waiting, longer the longer it has lasted.
Waiter::Round Waiter::waitOnce(bool (*ready)(void*), void* context, int64_t start, int64_t now) {
  const bool moved = control_.progress != nullptr && control_.progress->poll() > 0;
  if (moved) return ready(context) ? Round::Seen : Round::Waited;
  const int64_t waited = now - start;
  if (waited < spinNanos_) {
    for (int i = 0; i < kPollsPerClock; ++i) {
      if (ready(context)) return Round::Seen;
      cpuRelax();
    }
    return Round::Waited;
  }
  if (waited < control_.policy.yieldNanos && !avoidsYields(now)) {
    YieldPolicy::yieldCore();
    return Round::Yielded;
  }
  sleep(ready, context, waited);
  return Round::Waited;
}

// Whether yields are too expensive just now. While they are, this rank stays registered as a waiter, so that every publisher
// notifies it: registering (a fence in all processes) costs more than a notification.
bool Waiter::avoidsYields(int64_t now) {
  const bool avoids = yieldPolicy_.isAvoided() && !yieldPolicy_.triesAgain(now);
  if (avoids == registered_ || control_.progress != nullptr) return avoids;
  if (avoids) {
    control_.events->addWaiter();
  } else {
    control_.events->removeWaiter();
  }
  registered_ = avoids;
  return avoids;
}

void Waiter::sleep(bool (*ready)(void*), void* context, int64_t waited) {
  const int64_t nanos = std::clamp(waited / 4, kFirstSleepNanos, kLastSleepNanos);
  if (control_.progress != nullptr) {
    // Peers in this host's memory cannot interrupt a sleep on network events, so it stays short.
    const int64_t max = 50 * kMicrosecond * (1 + waited / (10 * kMillisecond));
    control_.progress->waitForEvents(
        std::min(kLastEventSleepNanos, control_.onlyNetwork ? nanos : std::min(nanos, max)));
    return;
  }
  // An abort ends the sleep, too: it notifies as well.
  struct Condition {
    bool (*ready)(void*);
    void* context;
    WaitControl& control;
  } condition{ready, context, control_};
  const auto isOver = [](void* raw) {
    auto* it = static_cast<Condition*>(raw);
    return it->ready(it->context) || it->control.failed();
  };
  if (registered_) {
    control_.events->sleepAsWaiter(nanos, isOver, &condition);
  } else {
    control_.events->sleep(nanos, isOver, &condition);
  }
}

}  // namespace jccl
