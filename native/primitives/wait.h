// How a rank waits for a peer: spin, then yield, then nap; always bounded by the deadline and the abort word. While yields
// are dear (primitives/yielding.h) it naps at once.
//
// Where ranks outnumber cores the awaited peer most likely waits for this core, so it is let on at once: a few looks, then
// yields of which few read a clock. One change of thread per hand-over is the least that can be.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "base/clock.h"
#include "base/doorbell.h"
#include "base/progress_engine.h"
#include "base/status.h"
#include "base/whereabouts.h"
#include "primitives/wait_place.h"
#include "primitives/yielding.h"

namespace jccl {

// Where a channel waits, readable by any thread at any time. Written only once a wait has turned long, so it costs the
// fast path nothing. `sequence` is written last and cleared first: zero means that nothing waits.
struct alignas(64) ProgressRecord {
  std::atomic<uint64_t> sequence{0};  // of the operation, plus one
  std::atomic<int32_t> peer{-1};
  std::atomic<uint8_t> transport{0};
  std::atomic<uint8_t> waitFor{0};
  std::atomic<uint8_t> protocol{0};
  std::atomic<uint64_t> step{0};
  std::atomic<int64_t> sinceNanos{0};
};

// What the waits of all channels of one communicator share.
struct WaitControl {
  // The first failure, as a Code; 0 while all is well. Never goes back: counters are out of step after a failure.
  std::atomic<int> failure{0};
  Doorbell* bell = nullptr;            // our own
  ProgressEngine* progress = nullptr;  // null without network connections
  bool onlyNetwork = false;            // no peer shares memory with this rank: the network's events tell of everything
  int spins = 2000;                    // looks at the condition before anything else
  int firstYields = 0;                 // then lets others run so many times before it reads a clock
  int64_t spinNanos = 20'000;          // then pauses for so long
  int64_t yieldNanos = 300'000;        // then yields for so long, then naps

  // As in Whereabouts, where ranks take turns on the cores; unknown where they need not.
  int32_t core = Whereabouts::kUnknown;

  // Of the operation in flight. Set when it starts; the clock is read only when a wait turns long.
  std::atomic<uint64_t> sequence{0};
  std::atomic<int64_t> timeoutNanos{0};
  std::atomic<int64_t> startNanos{0};  // 0 until a wait has read the clock

  bool failed() const { return failure.load(std::memory_order_relaxed) != 0; }

  // Records the first failure. Returns whether this was it.
  bool fail(Code code) {
    int expected = 0;
    return failure.compare_exchange_strong(expected, static_cast<int>(code), std::memory_order_acq_rel);
  }
};

// One channel's way of waiting.
class Waiter {
 public:
  // About a microsecond: what a hand-over between cores takes.
  static constexpr int kLooksElsewhere = 50;

  Waiter(WaitControl& control, ProgressRecord& record)
      : control_(control), record_(record), spinNanos_(control.spinNanos) {}

  // Returns true as soon as ready() holds; false when the deadline passed or the communicator has failed.
  template <class Ready>
  bool wait(Ready&& ready, const WaitPlace& place) {
    for (int i = control_.spins; i > 0; --i) {
      if (__builtin_expect(ready(), 1)) return true;
    }
    if (!yielding_.isAvoided()) {
      for (int i = control_.firstYields; i > 0; --i) {
        const bool dear = yielding_.yield();
        if (ready()) return true;
        if (dear) break;
      }
    }
    using Condition = std::remove_reference_t<Ready>;
    return waitLong([](void* context) { return (*static_cast<Condition*>(context))(); },
                    const_cast<void*>(static_cast<const void*>(&ready)), place);
  }

  // Whether the rank takes turns with this one on one core.
  bool sharesCore(const Whereabouts* rank) const {
    return rank != nullptr && rank->core.load(std::memory_order_relaxed) == control_.core;
  }

  // Looks for something that a rank on another core is about to do; `looks` is what is left for several of them.
  template <class Ready>
  static void lookFor(Ready&& ready, int& looks) {
    for (; looks > 0 && !ready(); --looks) pause();
  }

  // To be called now and then between waits: peers need not go on ringing for a rank that listened and no longer waits long.
  void settle();

  // The communicator fails, and the progress record keeps the place.
  void fail(Code code, const WaitPlace& place);

  WaitControl& control() { return control_; }

 private:
  static void pause();
  bool waitLong(bool (*ready)(void*), void* context, const WaitPlace& place);
  enum class Round { Seen, Yielded, Waited };
  Round waitOnce(bool (*ready)(void*), void* context, int64_t start, int64_t now);
  void nap(bool (*ready)(void*), void* context, int64_t waited);
  bool avoidsYields(int64_t now);
  void learn(int64_t waited, int64_t lastRound);

  WaitControl& control_;
  ProgressRecord& record_;
  int64_t spinNanos_;  // at most the control's; less while spinning keeps the awaited peer off this core
  uint32_t longWaits_ = 0;
  Yielding yielding_;
  bool listens_ = false;  // to the bell, while yields are avoided
};

}  // namespace jccl
