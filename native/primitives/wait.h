// How a rank waits for a peer: spin, then yield, then sleep; always bounded by the deadline and the abort word.
//
// With a core for each rank, a peer that does not answer computes, or another program has its core for a slice: this rank
// keeps its own. Each wait is judged by itself, because one that another program made long says nothing about the next.
// A peer that turns out to be on this core gets it at once, and one of the two moves (engine/core_sharing.h).
//
// Where ranks are oversubscribed the awaited peer most likely waits for this core, so this rank yields at once: a few polls,
// then yields of which few read a clock. One context switch for each dependency is the minimum. While yields are expensive
// (primitives/yield_policy.h) it sleeps at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/clock.h"
#include "base/cpu_placement.h"
#include "base/event_count.h"
#include "base/progress_engine.h"
#include "base/status.h"
#include "primitives/spin_policy.h"
#include "primitives/wait_place.h"
#include "primitives/yield_policy.h"

namespace jccl {

// Where a channel waits, readable by any thread at any time. Written only once a wait has become long, so it costs the
// fast path nothing. `sequence` is written last and cleared first: zero means that nothing waits.
struct alignas(64) ProgressRecord {
  std::atomic<uint64_t> sequence{0};  // of the operation, plus one
  std::atomic<int32_t> peer{-1};
  std::atomic<uint8_t> transport{0};
  std::atomic<uint8_t> waitFor{0};
  std::atomic<uint8_t> protocol{0};
  std::atomic<uint64_t> step{0};
  std::atomic<int64_t> sinceNanos{0};  // monotonicNanos() when the wait began; 0: not known
  std::atomic<int64_t> untilNanos{0};  // the same when it was given up; 0: it goes on
};

// What the waits of all channels of one communicator share.
struct WaitControl {
  // The first failure, as a Code; 0 while all is well. Never goes back: counters are out of step after a failure.
  std::atomic<int> failure{0};
  EventCount* events = nullptr;        // our own
  ProgressEngine* progress = nullptr;  // null without network connections
  bool onlyNetwork = false;            // no peer shares memory with this rank: the network's events report everything
  SpinPolicy policy;

  // As in CpuPlacement, where ranks are oversubscribed; otherwise unknown.
  int32_t core = CpuPlacement::kUnknown;
  CpuPlacement* placement = nullptr;                // this rank's
  std::span<const CpuPlacement* const> placements;  // by rank; null: not on this host, or this rank
  bool sharesCore = false;                          // the last long wait was for a rank on this core

  // Of the operation in flight. Set when it starts; the clock is read only when a wait becomes long.
  std::atomic<uint64_t> sequence{0};
  std::atomic<int64_t> timeoutNanos{0};
  std::atomic<int64_t> startNanos{0};  // 0 until a wait has read the clock
  LongWaits longWaits;                 // of the thread that runs operations, which alone uses this

  // Of all operations, of the threads that run them; read by any.
  struct {
    std::atomic<int64_t> count{0};
    std::atomic<int64_t> nanos{0};
  } longWaitsOver[kTransportKinds];

  // Those of the operation in flight.
  LongWaits waitsOfOperation() const {
    const int64_t start = startNanos.load(std::memory_order_relaxed);
    return __builtin_expect(start == 0, 1) || longWaits.operationStart != start ? LongWaits{} : longWaits;
  }

  bool failed() const { return failure.load(std::memory_order_relaxed) != 0; }

  // Records the first failure. Returns whether this was it.
  bool fail(Code code) {
    int expected = 0;
    return failure.compare_exchange_strong(expected, static_cast<int>(code), std::memory_order_acq_rel);
  }
};

// How one channel waits.
class Waiter {
 public:
  // About a microsecond: what it takes until a store is seen on another core.
  static constexpr int kPollsOfOtherCores = 50;

  // `placed`: the thread is the one that publishes where its rank runs.
  Waiter(WaitControl& control, ProgressRecord& record, bool placed)
      : control_(control), record_(record), placed_(placed), spinNanos_(control.policy.spinNanos) {}

  // Returns true as soon as ready() holds; false when the deadline passed or the communicator has failed.
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

  // Whether the rank runs on the same core as this one.
  bool sharesCore(const CpuPlacement* rank) const {
    return rank != nullptr && rank->core.load(std::memory_order_relaxed) == control_.core;
  }

  // Polls for something that a rank on another core is about to do; `polls` is what is left for several of them.
  template <class Ready>
  static void poll(Ready&& ready, int& polls) {
    for (; polls > 0 && !ready(); --polls) pause();
  }

  // To be called now and then between waits: peers need not go on notifying a rank that no longer waits long.
  void updateRegistration();

  // The communicator fails, and the progress record keeps the place.
  void fail(Code code, const WaitPlace& place);

  WaitControl& control() { return control_; }

 private:
  static void pause();
  bool waitLong(bool (*ready)(void*), void* context, const WaitPlace& place);
  bool spin(bool (*ready)(void*), void* context);
  void sleep(bool (*ready)(void*), void* context, int64_t waited);
  bool findsOnThisCore(int peer);
  bool avoidsYields(int64_t now);
  void learn(const WaitPhases& phases);

  WaitControl& control_;
  ProgressRecord& record_;
  const bool placed_;
  int64_t spinNanos_;  // at most the policy's; less while spinning keeps the awaited peer off this core
  uint32_t longWaits_ = 0;
  YieldPolicy yieldPolicy_;
  bool registered_ = false;  // as a waiter, while yields are avoided
};

}  // namespace jccl
