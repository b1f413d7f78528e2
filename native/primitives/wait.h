// How a rank waits for a peer: it spins, then yields, then sleeps, always limited by the deadline and by an abort.
//
// If every rank has a core, a peer that does not answer is computing, or another program has its core for a slice; this
// rank keeps its own core. Each wait is judged by itself, because a wait that another program made long says nothing
// about the next one. A peer that turns out to be on this core gets the core at once, and one of the two ranks moves
// (engine/core_sharing.h).
//
// If ranks are oversubscribed, the awaited peer most likely waits for this core, so this rank yields almost at once:
// after a few polls, and mostly without reading a clock. One context switch for each dependency is the minimum. While
// yields are expensive (primitives/yield_policy.h), the rank sleeps at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/clock.h"
#include "base/cpu_placement.h"
#include "base/event_count.h"
#include "base/fiber.h"
#include "base/pause_core.h"
#include "base/progress_engine.h"
#include "base/status.h"
#include "primitives/spin_policy.h"
#include "primitives/wait_place.h"
#include "primitives/yield_policy.h"

namespace jccl {

// The place where a channel waits; any thread may read it at any time. The record is written only once a wait has
// become long, so it costs short waits nothing. `sequence` is written last and cleared first; zero means that the
// channel does not wait.
struct alignas(64) ProgressRecord {
  std::atomic<uint64_t> sequence{0};  // the operation's sequence, plus one
  std::atomic<int32_t> peer{-1};
  std::atomic<uint8_t> transport{0};
  std::atomic<uint8_t> waitFor{0};
  std::atomic<uint8_t> protocol{0};
  std::atomic<uint64_t> step{0};
  std::atomic<int64_t> sinceNanos{0};  // monotonicNanos() when the wait began; 0: not known
  std::atomic<int64_t> untilNanos{0};  // monotonicNanos() when the wait was given up; 0: the wait continues
};

// State that the waits of all channels of one communicator share.
struct WaitControl {
  // The first failure, as a Code; 0 while there is none. Never reset: step counters disagree after a failure.
  std::atomic<int> failure{0};
  EventCount* events = nullptr;        // this rank's eventcount
  ProgressEngine* progress = nullptr;  // null without network connections
  SpinPolicy policy;

  // This rank's core as in CpuPlacement, if ranks are oversubscribed; otherwise unknown.
  int32_t core = CpuPlacement::kUnknown;
  CpuPlacement* placement = nullptr;                // where this rank publishes its core
  std::span<const CpuPlacement* const> placements;  // by rank; null for this rank and for ranks of other hosts
  bool sharesCore = false;                          // the last long wait was for a rank on this core

  // The fiber that executes the operation in flight, and whether that pauses instead of waiting. Used only by the thread
  // that executes operations.
  Fiber* fiber = nullptr;
  bool pauses = false;

  // The members below belong to the operation in flight and are set when it starts.
  std::atomic<uint64_t> sequence{0};
  std::atomic<int64_t> timeoutNanos{0};
  std::atomic<int64_t> startNanos{0};  // 0 until a wait becomes long and reads the clock
  LongWaits longWaits;                 // used only by the thread that executes operations

  // Totals over all operations, by transport. The threads that wait add to them; any thread may read them.
  struct {
    std::atomic<int64_t> count{0};
    std::atomic<int64_t> nanos{0};
  } longWaitsOver[kTransportKinds];

  // Returns the long waits of the operation in flight.
  LongWaits waitsOfOperation() const {
    const int64_t start = startNanos.load(std::memory_order_relaxed);
    return __builtin_expect(start == 0, 1) || longWaits.operationStart != start ? LongWaits{} : longWaits;
  }

  bool failed() const { return failure.load(std::memory_order_relaxed) != 0; }

  // Records `code` if it is the first failure. Returns true if it was the first.
  bool fail(Code code) {
    int expected = 0;
    return failure.compare_exchange_strong(expected, static_cast<int>(code), std::memory_order_acq_rel);
  }
};

// How one channel waits.
class Waiter {
 public:
  // These polls take about a microsecond, the time until a store becomes visible on another core.
  static constexpr int kPollsOfOtherCores = 50;

  // `placed`: this thread is the only one that publishes the core of its rank.
  Waiter(WaitControl& control, ProgressRecord& record, bool placed)
      : control_(control), record_(record), placed_(placed), spinNanos_(control.policy.spinNanos) {}

  // Returns true as soon as ready() is true; false if the deadline has passed or the communicator has failed. Pauses
  // instead of waiting long if the operation does.
  template <class Ready>
  bool wait(Ready&& ready, const WaitPlace& place) {
    for (int i = control_.policy.polls; i > 0; --i) {
      if (__builtin_expect(ready(), 1)) return true;
    }
    if (!yieldPolicy_.isAvoided()) {
      for (int i = control_.policy.firstYields; i > 0; --i) {
        const bool expensive = yieldPolicy_.yield();
        if (ready()) return true;
        if (expensive) break;
      }
    }
    using Condition = std::remove_reference_t<Ready>;
    return waitLong([](void* context) { return (*static_cast<Condition*>(context))(); },
                    const_cast<void*>(static_cast<const void*>(&ready)), place);
  }

  // Returns true if `rank` runs on this rank's core.
  bool sharesCore(const CpuPlacement* rank) const {
    return rank != nullptr && rank->core.load(std::memory_order_relaxed) == control_.core;
  }

  // Polls for something that a rank on another core is about to do. `polls` is the number of polls left, shared by
  // several calls.
  template <class Ready>
  static void poll(Ready&& ready, int& polls) {
    for (; polls > 0 && !ready(); --polls) pauseCore();
  }

  // Must be called now and then between waits, so that peers stop notifying a rank that no longer waits long.
  void updateRegistration();

  // Fails the communicator. The progress record keeps the place.
  void fail(Code code, const WaitPlace& place);

  WaitControl& control() { return control_; }

 private:
  bool waitLong(bool (*ready)(void*), void* context, const WaitPlace& place);
  bool spin(bool (*ready)(void*), void* context);
  void sleep(bool (*ready)(void*), void* context, const WaitPlace& place, int64_t waited);
  bool findsOnThisCore(int peer);
  bool avoidsYields(int64_t now);
  void learn(const WaitPhases& phases);

  WaitControl& control_;
  ProgressRecord& record_;
  const bool placed_;
  int64_t spinNanos_;  // at most SpinPolicy::spinNanos; less while spinning keeps the awaited peer off this core
  uint32_t longWaits_ = 0;
  YieldPolicy yieldPolicy_;
  bool registered_ = false;  // true if EventCount::addWaiter was called, because yields are avoided
};

}  // namespace jccl
