#include "engine/staging.h"

#include <algorithm>

#include "base/code.h"
#include "base/thread.h"

namespace jccl {
namespace {

constexpr int kIdleTurns = 64;
constexpr int64_t kFirstNapNanos = 20'000;
constexpr int64_t kLastNapNanos = 200'000;  // kernels publish without an event
constexpr int64_t kSleepNanos = 100'000'000;

}  // namespace

StagingPump::StagingPump(ProgressEngine& network, uint32_t* abort, std::function<void()> failed)
    : network_(network),
      abort_(abort),
      failed_(std::move(failed)),
      thread_(startQuietThread("jccl-staging", [this] { run(); })) {}

StagingPump::~StagingPump() {
  stopping_.store(true);
  activity_.wake();
  network_.kick();
  thread_.join();
}

void StagingPump::run() {
  int idle = 0;
  int64_t nap = kFirstNapNanos;
  bool told = false;
  uint32_t seen = 0;
  bool moves = false;  // since the network's own thread was last asked
  while (!stopping_.load()) {
    if (network_.failed() && !told) {
      told = true;
      failed_();
      activity_.unlessClosed([this] {
        uint32_t none = 0;
        __atomic_compare_exchange_n(abort_, &none, static_cast<uint32_t>(Code::Transport), false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE);
      });
    }
    const uint32_t begun = activity_.begun();
    moves = moves || begun != seen;
    seen = begun;
    if (told || !activity_.inFlight()) {
      // What the last kernels published has still to leave: the network's own thread sees to it.
      if (moves) network_.kick();
      moves = false;
      activity_.nap(seen, kSleepNanos);
      continue;
    }
    moves = true;
    if (network_.poll() != 0) {
      idle = 0;
      nap = kFirstNapNanos;
    } else if (++idle >= kIdleTurns) {
      network_.waitForEvents(nap);
      nap = std::min(2 * nap, kLastNapNanos);
    }
  }
}

}  // namespace jccl
