#include "engine/staging.h"

#include <algorithm>

#include "base/clock.h"
#include "base/code.h"
#include "base/thread.h"

namespace jccl {
namespace {

constexpr int kIdlePolls = 64;
constexpr int64_t kFirstWaitNanos = 20'000;
constexpr int64_t kLastWaitNanos = 200'000;  // kernels publish without an event
constexpr int64_t kSleepNanos = 100'000'000;

}  // namespace

StagingProxy::StagingProxy(ProgressEngine& network, const ChannelControls& controls, std::function<void()> failed,
                           int64_t spinNanos, Forwarding forwarding)
    : network_(network),
      controls_(controls),
      failed_(std::move(failed)),
      spinNanos_(spinNanos),
      othersBroken_(std::move(forwarding.broken)),
      activity_(forwarding.counts, std::move(forwarding.forwarders)),
      thread_(startQuietThread("jccl-staging", [this] { run(); })) {}

StagingProxy::~StagingProxy() {
  stopping_.store(true);
  activity_.wake();
  network_.kick();
  thread_.join();
}

void StagingProxy::run() {
  int idle = 0;
  int64_t wait = kFirstWaitNanos, moved = monotonicNanos();
  bool reported = false;
  uint32_t seen = 0;
  bool moves = false;  // since the network's own thread was last kicked
  while (!stopping_.load()) {
    const bool alone = othersBroken_ && activity_.ownInFlight() && othersBroken_();
    if ((network_.failed() || alone) && !reported) {
      reported = true;
      failed_();
      activity_.unlessClosed([this] { controls_.abort(Code::Transport); });
    }
    const uint32_t begun = activity_.begun();
    if (begun != seen) {
      moves = true;
      moved = monotonicNanos();
    }
    seen = begun;
    if (reported || !activity_.inFlight()) {
      // What the last kernels published has still to leave: the network's own thread sends it.
      if (moves) network_.kick();
      moves = false;
      activity_.sleep(seen, kSleepNanos);
      continue;
    }
    moves = true;
    if (network_.poll() != 0) {
      idle = 0;
      wait = kFirstWaitNanos;
      moved = spinNanos_ == 0 ? 0 : monotonicNanos();
    } else if (++idle >= kIdlePolls && monotonicNanos() - moved < spinNanos_) {
      idle = 0;
      std::this_thread::yield();
    } else if (idle >= kIdlePolls) {
      network_.waitForEvents(wait);
      wait = std::min(2 * wait, kLastWaitNanos);
    }
  }
}

}  // namespace jccl
