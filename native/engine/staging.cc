#include "engine/staging.h"

#include <algorithm>

#include "base/code.h"
#include "base/thread.h"

namespace jccl {
namespace {

constexpr int kIdlePolls = 64;
// longest sleep between polls, which are needed because no event reports what kernels publish
constexpr int64_t kLastWaitNanos = 200'000;
constexpr int64_t kSleepNanos = 100'000'000;

}  // namespace

StagingProxy::StagingProxy(ProgressEngine& network, const ChannelControls& controls, std::function<void()> failed,
                           int64_t spinNanos, Sharing sharing)
    : network_(network),
      controls_(controls),
      failed_(std::move(failed)),
      spinNanos_(spinNanos),
      othersBroken_(std::move(sharing.broken)),
      activity_(sharing.counts, std::move(sharing.others)),
      started_(startQuietThread(
          "jccl-staging", [this] { run(); }, &thread_)) {}

StagingProxy::~StagingProxy() {
  stopping_.store(true);
  activity_.wake();
  network_.kick();
  if (thread_.joinable()) thread_.join();
}

void StagingProxy::run() {
  Progress progress;
  repeatRounds("jccl-staging", [&] {
    try {
      return !stopping_.load() && round(progress);
    } catch (...) {
      progress.broken = true;  // some data may not have been moved, so kernels must not wait for it
      throw;
    }
  });
}

bool StagingProxy::round(Progress& at) {
  const bool alone = othersBroken_ && activity_.ownInFlight() && othersBroken_();
  if ((network_.failed() || alone || at.broken) && !at.reported) {
    failed_();
    activity_.unlessClosed([this] { controls_.abort(Code::Transport); });
    at.reported = true;
  }
  const uint32_t begun = activity_.begun();
  if (begun != at.seen) {
    at.moves = true;
    at.moved = monotonicNanos();
  }
  at.seen = begun;
  if (at.reported || !activity_.inFlight()) {
    // Makes the network's own thread send the data that the last kernels published.
    if (at.moves) network_.kick();
    at.moves = false;
    activity_.sleep(at.seen, kSleepNanos);
    return true;
  }
  at.moves = true;
  if (network_.poll() != 0) {
    at.idle = 0;
    at.wait = Progress::kFirstWaitNanos;
    at.moved = spinNanos_ == 0 ? 0 : monotonicNanos();
  } else if (++at.idle >= kIdlePolls && monotonicNanos() - at.moved < spinNanos_) {
    at.idle = 0;
    std::this_thread::yield();
  } else if (at.idle >= kIdlePolls) {
    network_.waitForEvents(at.wait);
    at.wait = std::min(2 * at.wait, kLastWaitNanos);
  }
  return true;
}

}  // namespace jccl
