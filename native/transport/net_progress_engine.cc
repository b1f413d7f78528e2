#include "transport/net_progress_engine.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/futex.h"
#include "base/thread.h"

namespace jccl {
namespace {

// While it drives, the thread looks again after so long even if no event says so.
constexpr int64_t kDrivingNapNanos = 10'000'000;
// How often agents that expect something look for it in one turn.
constexpr int kLooksPerTurn = 4;
constexpr int kMostTurnsWithoutEvents = 8;

// The progress a thread had seen when it last polled. Belongs to whichever engine the thread polled last; a wrong one
// only makes a wait return early.
thread_local uint32_t seenProgress = 0;

timespec toTimespec(int64_t nanos) { return {nanos / 1'000'000'000, nanos % 1'000'000'000}; }

void signalEvent(const UniqueFd& event) {
  const uint64_t one = 1;
  while (::write(event.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

void drainEvent(const UniqueFd& event) {
  uint64_t count;
  while (::read(event.get(), &count, sizeof count) < 0 && errno == EINTR) {
  }
}

}  // namespace

Status NetProgressEngine::start() {
  if (Status opened = controlEvents_.open(); !opened) return opened;
  if (Status opened = dataEvents_.open(); !opened) return opened;
  leaderWake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  threadWake_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!leaderWake_ || !threadWake_) return Status::system("eventfd", "progress engine");
  thread_ = startQuietThread("jccl-net", [this] { threadMain(); });
  return Status::ok();
}

void NetProgressEngine::stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true);
  wakeThread();
  thread_.join();
}

void NetProgressEngine::addData(Agent* agent) {
  const std::lock_guard lock(mutex_);
  data_.push_back(agent);
}

void NetProgressEngine::addControl(Agent* agent) {
  {
    const std::lock_guard lock(mutex_);
    control_.push_back(agent);
  }
  wakeThread();
}

FirstUse* NetProgressEngine::addDormant(Agent* agent) {
  const std::lock_guard lock(mutex_);
  dormant_.push_back(std::make_unique<Dormant>(agent, firstUses_));
  return dormant_.back().get();
}

size_t NetProgressEngine::driven() {
  const std::lock_guard lock(mutex_);
  wakeUsed();
  return data_.size();
}

void NetProgressEngine::wakeUsed() {
  const uint32_t uses = firstUses_.load(std::memory_order_acquire);
  if (__builtin_expect(uses == firstUsesSeen_, 1)) return;
  firstUsesSeen_ = uses;
  for (const auto& dormant : dormant_) {
    if (dormant->woken || !dormant->used.load(std::memory_order_acquire)) continue;
    dormant->woken = true;
    data_.push_back(dormant->agent);
  }
}

void NetProgressEngine::wakeThread() { signalEvent(threadWake_); }

int NetProgressEngine::runAgents(int64_t nowNanos) {
  wakeUsed();
  int work = 0;
  for (Agent* agent : data_) work += agent->doWork(nowNanos);
  return work;
}

// Agents that move data, or expect some, know where to look: events are asked for when they found nothing, and now and
// then for the sake of the others.
int NetProgressEngine::runData() {
  int work = runAgents(monotonicNanos());
  for (int looks = 0; work == 0 && looks < kLooksPerTurn && anyExpecting(); ++looks) {
    work = runAgents(monotonicNanos());
  }
  const bool busy = work > 0 || anyExpecting();
  if (busy && ++turnsWithoutEvents_ < kMostTurnsWithoutEvents) return work;
  turnsWithoutEvents_ = 0;
  if (dataEvents_.dispatch() > 0) work += runAgents(monotonicNanos());
  return work;
}

bool NetProgressEngine::anyExpecting() const {
  return std::any_of(data_.begin(), data_.end(), [](const Agent* agent) { return agent->expecting(); });
}

bool NetProgressEngine::anyPending() {
  wakeUsed();
  return std::any_of(data_.begin(), data_.end(), [](const Agent* agent) { return agent->pending(); });
}

bool NetProgressEngine::pending() {
  const std::lock_guard lock(mutex_);
  return anyPending();
}

void NetProgressEngine::noteProgress() {
  progress_.fetch_add(1);
  if (followers_.load() != 0) futexWake(progress_, INT32_MAX);
  if (leaderSleeps_.load()) signalEvent(leaderWake_);
}

int NetProgressEngine::poll() {
  if (threadDrives_.load(std::memory_order_relaxed)) threadDrives_.store(false, std::memory_order_relaxed);
  seenProgress = progress_.load();
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return 0;  // somebody else moves the data at this moment
  const int work = runData();
  lock.unlock();
  if (work > 0) noteProgress();
  return work;
}

void NetProgressEngine::lead(int64_t nanos) {
  leaderSleeps_.store(true);
  if (progress_.load() == seenProgress) {
    std::array<pollfd, 2> waited = {pollfd{dataEvents_.fd(), POLLIN, 0}, pollfd{leaderWake_.get(), POLLIN, 0}};
    const timespec span = toTimespec(nanos);
    ::ppoll(waited.data(), waited.size(), &span, nullptr);
    if (waited[1].revents != 0) drainEvent(leaderWake_);
  }
  leaderSleeps_.store(false);
}

void NetProgressEngine::waitForEvents(int64_t nanos) {
  if (nanos <= 0 || progress_.load() != seenProgress) return;
  if (std::unique_lock lock(leader_, std::try_to_lock); lock) {
    lead(nanos);
    lock.unlock();
    // The leader may leave for good: somebody else shall look at the events.
    if (followers_.load() != 0) futexWake(progress_, 1);
    return;
  }
  followers_.fetch_add(1);
  futexWaitFor(progress_, seenProgress, nanos);
  followers_.fetch_sub(1);
}

void NetProgressEngine::kick() {
  bool left = true;
  if (std::unique_lock lock(mutex_, std::try_to_lock); lock) {
    if (anyPending()) runData();
    left = anyPending();
  }
  noteProgress();
  if (!left) return;
  threadDrives_.store(true);
  wakeThread();
}

// One look at everything the thread is responsible for. False: it was told to stop.
bool NetProgressEngine::threadTurn(int64_t* sleepNanos) {
  int work = 0;
  int64_t next = INT64_MAX;
  const int64_t now = monotonicNanos();
  {
    const std::lock_guard lock(mutex_);
    if (stopping_.load()) return false;
    controlEvents_.dispatch();
    for (Agent* agent : control_) work += agent->doWork(now);
    work += runData();
    // First clear, then look: a kick() that comes after the look sets it again, and what comes before the look is seen.
    if (threadDrives_.exchange(false) && anyPending()) threadDrives_.store(true);
    for (const Agent* agent : control_) next = std::min(next, agent->nextDeadlineNanos());
    for (const Agent* agent : data_) next = std::min(next, agent->nextDeadlineNanos());
  }
  if (work > 0) noteProgress();
  *sleepNanos = next == INT64_MAX ? INT64_MAX : std::max<int64_t>(next - now, 0);
  return true;
}

void NetProgressEngine::threadMain() {
  int64_t sleepNanos = 0;
  while (threadTurn(&sleepNanos)) {
    const bool drives = threadDrives_.load(std::memory_order_relaxed);
    if (drives) sleepNanos = std::min(sleepNanos, kDrivingNapNanos);
    std::array<pollfd, 3> waited = {pollfd{threadWake_.get(), POLLIN, 0}, pollfd{controlEvents_.fd(), POLLIN, 0},
                                    pollfd{drives ? dataEvents_.fd() : -1, POLLIN, 0}};
    const timespec span = toTimespec(sleepNanos == INT64_MAX ? 0 : sleepNanos);
    ::ppoll(waited.data(), waited.size(), sleepNanos == INT64_MAX ? nullptr : &span, nullptr);
    if (waited[0].revents != 0) drainEvent(threadWake_);
  }
}

}  // namespace jccl
