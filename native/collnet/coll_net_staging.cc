#include "collnet/coll_net_staging.h"

#include <algorithm>
#include <chrono>

#include "base/futex.h"
#include "base/limited_run.h"
#include "base/thread.h"

namespace jccl {
namespace {

constexpr int kIdlePolls = 64;
// number of yields before the thread sleeps between polls; no event reports what kernels publish
constexpr int kYields = 256;
constexpr std::chrono::microseconds kIdleSleep{50};
constexpr int64_t kSleepNanos = 100'000'000;

}  // namespace

CollNetStaging::CollNetStaging(const std::vector<Led>& led, int ranks, int ranksOfHost) {
  for (const Led& one : led) {
    state_->links.emplace_back(one.toNetwork, one.fromNetwork, *one.group, ranks, ranksOfHost);
    groups_.push_back(one.group);
  }
}

void CollNetStaging::stop() {
  if (!thread_.joinable()) return;
  state_->stopping.store(true);
  activity_->wake();
  while (state_->ended.load() == 0) {
    if (isStuck()) return leaveThread(thread_);
    futexWaitFor(state_->ended, 0, kLookNanos);
  }
  thread_.join();
}

Status CollNetStaging::start(StagingActivity& activity) {
  if (groups_.empty()) return Status::ok();
  activity_ = &activity;
  return startQuietThread(
      "jccl-collnet",
      [state = state_, &activity] {
        state->run(activity);
        state->ended.store(1);
        futexWake(state->ended);
      },
      &thread_);
}

void CollNetStaging::ThreadState::run(StagingActivity& activity) {
  int idle = 0;
  while (!stopping.load()) {
    const uint32_t begun = activity.begun();
    if (failed.load() || !activity.inFlight()) {
      activity.sleep(begun, kSleepNanos);
      continue;
    }
    int work = 0;
    for (CollNetLink& link : links) {
      if (Status polled = orThrown([&] { return link.poll(&work); }); !polled) {
        const std::lock_guard lock(mutex);
        error = polled;
        failed.store(true);
        break;
      }
    }
    idle = work != 0 ? 0 : idle + 1;
    if (idle > kIdlePolls + kYields) {
      std::this_thread::sleep_for(kIdleSleep);
    } else if (idle > kIdlePolls) {
      std::this_thread::yield();
    }
  }
}

bool CollNetStaging::isStuck() const {
  return std::any_of(groups_.begin(), groups_.end(), [](CollNetGroup* group) { return group->isStuck(); });
}

bool CollNetStaging::failed() const { return state_->failed.load() || isStuck(); }

Status CollNetStaging::error() const {
  for (const CollNetGroup* group : groups_) {
    if (group->failed()) return group->error();
  }
  const std::lock_guard lock(state_->mutex);
  return state_->error;
}

}  // namespace jccl
