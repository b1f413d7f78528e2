#include "primitives/wait.h"

#include <algorithm>

namespace jccl {
namespace {

constexpr int64_t kMicrosecond = 1'000;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int kPollsPerClock = 32;
constexpr int64_t kLongWaitNanos = 1 * kMillisecond;  // the progress record shows waits from this duration on
constexpr int64_t kFirstSleepNanos = 1 * kMillisecond;
constexpr int64_t kLastSleepNanos = 20 * kMillisecond;  // bounds the cost of a missed notification
constexpr int64_t kLastEventSleepNanos = 5 * kMillisecond;
// A yield that takes longer than this has let another thread run on this core.
constexpr int64_t kOthersRanNanos = 3 * kMicrosecond;
constexpr int64_t kMinSpinNanos = 250;
constexpr uint32_t kWaitsUntilFullSpin = 1024;

// Adds a wait to the operation's long waits, however the wait ends. `now` is the last clock reading of the wait itself.
class LongWaitGuard {
 public:
  LongWaitGuard(WaitControl& control, bool isCaller, int64_t operationStart, const WaitPlace& place, const int64_t& now)
      : control_(control),
        isCaller_(isCaller),
        operationStart_(operationStart),
        place_(place),
        now_(now),
        start_(now) {}
  ~LongWaitGuard() {
    const int64_t waited = now_ - start_;
    if (isCaller_) control_.longWaits.add(operationStart_, waited, place_.peer);
    if (waited < kLongWaitNanos || place_.transport == TransportKind::None) return;
    auto& over = control_.longWaitsOver[static_cast<int>(place_.transport)];
    over.count.fetch_add(1, std::memory_order_relaxed);
    over.nanos.fetch_add(waited, std::memory_order_relaxed);
  }

 private:
  WaitControl& control_;
  const bool isCaller_;
  const int64_t operationStart_;
  const WaitPlace& place_;
  const int64_t& now_;
  const int64_t start_;
};

// Writes the progress record while a wait is long, and clears the record at the end.
class RecordGuard {
 public:
  // `since`: time at which the wait began; 0: not known.
  RecordGuard(ProgressRecord& record, const WaitPlace& place, int64_t since)
      : record_(record), place_(place), since_(since) {}
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
    record_.sinceNanos.store(since_, std::memory_order_relaxed);
    record_.untilNanos.store(0, std::memory_order_relaxed);
    record_.sequence.store(sequence + 1, std::memory_order_release);
  }
  // Keeps the record after a failure, so that the record shows for which rank this rank waited.
  void keep() {
    record_.untilNanos.store(monotonicNanos(), std::memory_order_relaxed);
    shown_ = false;
  }

 private:
  ProgressRecord& record_;
  const WaitPlace& place_;
  const int64_t since_;
  bool shown_ = false;
};

}  // namespace

void Waiter::fail(Code code, const WaitPlace& place) {
  RecordGuard record(record_, place, 0);
  record.show(control_.sequence.load(std::memory_order_relaxed));
  record.keep();
  control_.fail(code);
}

void Waiter::updateRegistration() {
  if (registered_) avoidsYields(monotonicNanos());
}

bool Waiter::waitLong(bool (*ready)(void*), void* context, const WaitPlace& place) {
  using Phase = WaitPhases::Phase;
  if (control_.failed()) return false;
  const int64_t start = monotonicNanos();
  RecordGuard record(record_, place, start);
  int64_t operationStart = 0;
  control_.startNanos.compare_exchange_strong(operationStart, start, std::memory_order_relaxed);
  if (operationStart == 0) operationStart = start;
  int64_t timeout = control_.timeoutNanos.load(std::memory_order_relaxed);
  WaitPhases phases(spinNanos_, control_.policy.yieldNanos);
  int64_t now = start;
  const LongWaitGuard waited(control_, placed_, operationStart, place, now);
  for (;;) {
    if (ready(context)) break;
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
    const bool moved = control_.progress != nullptr && control_.progress->poll() > 0;
    // Data that arrived while this thread was off its core becomes visible only through the poll above.
    if (moved && ready(context)) break;
    if (placed_ && control_.pauses) {
      if (control_.policy.oversubscribed) YieldPolicy::yieldCore();
      control_.fiber->pause();
      timeout = control_.timeoutNanos.load(std::memory_order_relaxed);  // whoever resumes sets another
      now = monotonicNanos();
      continue;
    }
    if (moved) phases.restart();
    Phase phase = moved ? Phase::Spin : phases.next(findsOnThisCore(place.peer));
    if (phase == Phase::Yield && avoidsYields(now)) phase = Phase::Sleep;
    if (phase == Phase::Spin && !moved && spin(ready, context)) break;
    if (phase == Phase::Yield) YieldPolicy::yieldCore();
    if (phase == Phase::Sleep) sleep(ready, context, place, now - start);
    const int64_t before = now;
    now = monotonicNanos();
    phases.took(phase, now - before);
    if (phase == Phase::Yield && control_.policy.oversubscribed) yieldPolicy_.took(now - before, now);
  }
  learn(phases);
  return true;
}

bool Waiter::spin(bool (*ready)(void*), void* context) {
  for (int i = 0; i < kPollsPerClock; ++i) {
    if (ready(context)) return true;
    pauseCore();
  }
  return false;
}

// Shortens spins that only keep the awaited peer off this core. The published placements do not reveal every such peer:
// threads of other channels and ranks of other isolation domains do not publish their cores to this rank. The peer
// probably is on this core if all spins of a wait failed and a yield let another thread run. Every kWaitsUntilFullSpin
// waits, a full spin is tried again.
void Waiter::learn(const WaitPhases& phases) {
  if (++longWaits_ % kWaitsUntilFullSpin == 0) {
    spinNanos_ = control_.policy.spinNanos;
  } else if (phases.neededYield(kOthersRanNanos, YieldPolicy::kExpensiveNanos)) {
    spinNanos_ = spinNanos_ / 4 < kMinSpinNanos ? 0 : spinNanos_ / 4;
  }
}

// If every rank has a core, publishes this rank's core, and returns true if the awaited rank was last seen there. Both
// ranks publish their core in long waits, and between ranks that share a core all waits are long.
bool Waiter::findsOnThisCore(int peer) {
  if (!placed_ || control_.policy.oversubscribed || control_.placement == nullptr) return false;
  const int32_t here = control_.placement->publish();
  const auto at = static_cast<size_t>(peer);
  const CpuPlacement* other = peer >= 0 && at < control_.placements.size() ? control_.placements[at] : nullptr;
  control_.sharesCore = other != nullptr && other->core.load(std::memory_order_relaxed) == here;
  return control_.sharesCore;
}

// Returns true while yields are too expensive. During that time this rank stays registered as a waiter, so that every
// publisher notifies it: registering (a fence in all processes) costs more than a notification.
bool Waiter::avoidsYields(int64_t now) {
  const bool avoids = yieldPolicy_.isAvoided() && !yieldPolicy_.triesAgain(now);
  if (avoids == registered_) return avoids;
  if (avoids) {
    control_.events->addWaiter();
  } else {
    control_.events->removeWaiter();
  }
  registered_ = avoids;
  return avoids;
}

// A peer on this host ends the sleep by a notification, and a peer on another host by the arrival of its data. No event
// reports all of several things that can end a wait, so such sleeps stay short.
void Waiter::sleep(bool (*ready)(void*), void* context, const WaitPlace& place, int64_t waited) {
  const int64_t nanos = std::clamp(waited / 4, kFirstSleepNanos, kLastSleepNanos);
  if (control_.progress != nullptr && (isNetwork(place.transport) || place.isOneOfMany)) {
    const int64_t most =
        place.isOneOfMany ? 50 * kMicrosecond * (1 + waited / (10 * kMillisecond)) : kLastEventSleepNanos;
    control_.progress->waitForEvents(std::min({nanos, most, kLastEventSleepNanos}));
    return;
  }
  // While this thread sleeps, the engine's thread moves what is left to move.
  if (control_.progress != nullptr) control_.progress->kick();
  // An abort ends the sleep, because it notifies, too.
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
