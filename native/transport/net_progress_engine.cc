#include "transport/net_progress_engine.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/clock.h"
#include "base/futex.h"
#include "base/limited_run.h"
#include "base/thread.h"

namespace jccl {
namespace {

// Longest sleep of the engine's thread while it polls data, even if no event comes.
constexpr int64_t kMaxSleepNanos = 10'000'000;
// Number of times that one poll repeats the callbacks while they find no work but expect data.
constexpr int kCallsPerPoll = 4;
constexpr int kMaxPollsWithoutEvents = 8;
// After a caller's last request, an engine's thread that serves callers continues to look for data for this time.
constexpr int64_t kServeNanos = 1'000'000;
// The engine's thread sleeps after this number of consecutive polls that find no work.
constexpr int kIdlePolls = 16;

// Value of progress_ when this thread last polled any engine. If the thread then waits for another engine, the value
// only makes that wait return early.
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
  return startQuietThread(
      "jccl-net", [this] { threadMain(); }, &thread_);
}

void NetProgressEngine::stop(const std::function<void()>& last) {
  if (!thread_.joinable()) return;
  if (servedByThread()) {
    run([this, &last] {
      last();
      stopping_.store(true);
    });
    while (ended_.load() == 0) {
      if (isStuck()) return leaveThread(thread_);
      futexWaitFor(ended_, 0, kLookNanos);
    }
    thread_.join();
    stopped_ = true;
    return;
  }
  stopping_.store(true);
  wakeThread();
  thread_.join();
  const std::lock_guard lock(mutex_);
  last();
}

void NetProgressEngine::serveByThread(CallWatch& watch, int64_t limitNanos) {
  const std::lock_guard lock(mutex_);
  watch_ = &watch;
  limitNanos_ = limitNanos;
}

bool NetProgressEngine::run(std::function<void()> task) {
  if (!servedByThread()) {
    // A call that holds another thread also holds the mutex, so a plain lock() could block for ever.
    std::unique_lock lock(mutex_, std::defer_lock);
    if (watch_ == nullptr) lock.lock();
    while (!lock.owns_lock() && !lock.try_lock()) {
      if (isStuck()) return false;
      std::this_thread::yield();
    }
    task();
    return true;
  }
  const std::shared_ptr<Task> posted = passToThread(std::move(task));
  while (posted->done.load() == 0) {
    if (isStuck() || ended_.load() != 0) return posted->done.load() != 0;
    futexWaitFor(posted->done, 0, kLookNanos);
  }
  if (posted->thrown != nullptr) std::rethrow_exception(posted->thrown);
  return true;
}

void NetProgressEngine::post(std::function<void()> task) {
  if (!servedByThread()) {
    run(std::move(task));
    return;
  }
  passToThread(std::move(task));
}

std::shared_ptr<NetProgressEngine::Task> NetProgressEngine::passToThread(std::function<void()> task) {
  auto posted = std::make_shared<Task>();
  posted->run = std::move(task);
  {
    const std::lock_guard lock(tasksMutex_);
    tasks_.push_back(posted);
  }
  wakeThread();
  return posted;
}

void NetProgressEngine::runTasks() {
  std::vector<std::shared_ptr<Task>> tasks;
  {
    const std::lock_guard lock(tasksMutex_);
    tasks.swap(tasks_);
  }
  for (const auto& task : tasks) {
    try {
      task->run();
    } catch (...) {
      task->thrown = std::current_exception();
    }
    task->done.store(1);
    futexWake(task->done);
  }
}

void NetProgressEngine::addData(ProgressCallback* callback) {
  run([this, callback] { data_.push_back(callback); });
}

void NetProgressEngine::addControl(ProgressCallback* callback) {
  run([this, callback] { control_.push_back(callback); });
  wakeThread();
}

FirstUse* NetProgressEngine::addDormant(ProgressCallback* callback) {
  const auto made = std::make_shared<Dormant>(callback, firstUses_);
  run([this, made] { dormant_.push_back(made); });
  return made.get();
}

size_t NetProgressEngine::active() {
  size_t active = 0;
  run([this, &active] {
    wakeUsed();
    active = data_.size();
  });
  return active;
}

void NetProgressEngine::wakeUsed() {
  const uint32_t uses = firstUses_.load(std::memory_order_acquire);
  if (__builtin_expect(uses == firstUsesSeen_, 1)) return;
  firstUsesSeen_ = uses;
  for (const auto& dormant : dormant_) {
    if (dormant->woken || !dormant->used.load(std::memory_order_acquire)) continue;
    dormant->woken = true;
    data_.push_back(dormant->callback);
  }
}

void NetProgressEngine::wakeThread() { signalEvent(threadWake_); }

int NetProgressEngine::pollCallbacks(int64_t nowNanos) {
  wakeUsed();
  int work = 0;
  for (ProgressCallback* callback : data_) work += callback->poll(nowNanos);
  return work;
}

// Callbacks that move or expect data read without waiting for events. So events are dispatched only if these callbacks
// find no work. For the sake of the other callbacks, events are also dispatched after every kMaxPollsWithoutEvents
// polls.
int NetProgressEngine::runData() {
  int work = pollCallbacks(monotonicNanos());
  for (int calls = 0; work == 0 && calls < kCallsPerPoll && anyExpecting(); ++calls) {
    work = pollCallbacks(monotonicNanos());
  }
  const bool busy = work > 0 || anyExpecting();
  if (!hasEvents_.load(std::memory_order_relaxed) || (busy && ++pollsWithoutEvents_ < kMaxPollsWithoutEvents))
    return work;
  pollsWithoutEvents_ = 0;
  if (dataEvents_.dispatch() > 0) work += pollCallbacks(monotonicNanos());
  return work;
}

bool NetProgressEngine::anyExpecting() const {
  return std::any_of(data_.begin(), data_.end(),
                     [](const ProgressCallback* callback) { return callback->expecting(); });
}

bool NetProgressEngine::anyPending() {
  wakeUsed();
  return std::any_of(data_.begin(), data_.end(), [](const ProgressCallback* callback) { return callback->pending(); });
}

bool NetProgressEngine::pending() {
  bool pending = false;
  run([this, &pending] { pending = anyPending(); });
  return pending;
}

void NetProgressEngine::noteProgress() {
  progress_.fetch_add(1);
  if (followers_.load() != 0) futexWake(progress_, INT32_MAX);
  if (leaderSleeps_.load()) signalEvent(leaderWake_);
}

// Does not wake the engine's thread while that thread polls. threadPolls_ is stored even if it is set already, so that
// the thread, when it clears the flag, sees what this caller has published.
void NetProgressEngine::askThread() {
  threadPolls_.store(true);
  if (threadSleeps_.load() && threadSleeps_.exchange(false)) wakeThread();
}

int NetProgressEngine::pollByThread() {
  const uint32_t progress = progress_.load();
  const int work = progress == seenProgress ? 0 : 1;
  seenProgress = progress;
  askThread();
  return work;
}

int NetProgressEngine::poll() {
  if (servedByThread()) return pollByThread();
  if (threadPolls_.load(std::memory_order_relaxed)) threadPolls_.store(false, std::memory_order_relaxed);
  seenProgress = progress_.load();
  polls_.fetch_add(1, std::memory_order_relaxed);
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return 0;  // another thread is moving the data
  const int work = runData();
  lock.unlock();
  if (work > 0) noteProgress();
  return work;
}

void NetProgressEngine::lead(int64_t nanos) {
  leaderSleeps_.store(true);
  if (progress_.load() == seenProgress) {
    std::array<pollfd, 2> waited = {pollfd{dataEvents_.fd(), POLLIN, 0}, pollfd{leaderWake_.get(), POLLIN, 0}};
    const timespec span = toTimespec(std::min(nanos, maxSleepNanos_.load(std::memory_order_relaxed)));
    ::ppoll(waited.data(), waited.size(), &span, nullptr);
    if (waited[1].revents != 0) drainEvent(leaderWake_);
  }
  leaderSleeps_.store(false);
}

void NetProgressEngine::waitForEvents(int64_t nanos) {
  if (nanos <= 0 || progress_.load() != seenProgress) return;
  if (servedByThread()) {
    followers_.fetch_add(1);
    futexWaitFor(progress_, seenProgress, std::min(nanos, kServeNanos / 2));
    followers_.fetch_sub(1);
    return;
  }
  if (std::unique_lock lock(leader_, std::try_to_lock); lock) {
    lead(nanos);
    lock.unlock();
    // The leader may never wait again, so another thread must wait for the events.
    if (followers_.load() != 0) futexWake(progress_, 1);
    return;
  }
  followers_.fetch_add(1);
  futexWaitFor(progress_, seenProgress, nanos);
  followers_.fetch_sub(1);
}

void NetProgressEngine::kick() {
  if (servedByThread()) return askThread();
  bool left = true;
  if (std::unique_lock lock(mutex_, std::try_to_lock); lock) {
    if (anyPending()) runData();
    left = anyPending();
  }
  noteProgress();
  if (!left) return;
  threadPolls_.store(true);
  wakeThread();
}

// Polls once everything that the thread is responsible for. Returns false if the thread must stop.
bool NetProgressEngine::pollOnThread(int64_t* sleepNanos) {
  int work = 0;
  int64_t next = INT64_MAX;
  const int64_t now = monotonicNanos();
  {
    const std::lock_guard lock(mutex_);
    runTasks();
    if (stopping_.load()) return false;
    controlEvents_.dispatch();
    for (ProgressCallback* callback : control_) work += callback->poll(now);
    work += runData();
    // The flag is cleared before anyPending() is called. That call sees everything that was published before, and a
    // later kick() sets the flag again.
    const bool asked = threadPolls_.exchange(false);
    if (asked || work > 0) askedNanos_ = now;
    if (asked && anyPending()) threadPolls_.store(true);
    for (const ProgressCallback* callback : control_) next = std::min(next, callback->nextDeadlineNanos());
    for (const ProgressCallback* callback : data_) next = std::min(next, callback->nextDeadlineNanos());
    *sleepNanos = next == INT64_MAX ? INT64_MAX : std::max<int64_t>(next - now, 0);
    if (watch_ != nullptr) *sleepNanos = sleepOfServing(*sleepNanos, work > 0, now);
    if (work > 0) *sleepNanos = 0;  // more data may have arrived for which there is no event yet
  }
  if (work > 0) noteProgress();
  return true;
}

// Returns how long the thread that serves callers sleeps. A caller that asked a moment ago may ask for more, so the
// thread first polls kIdlePolls times without a sleep.
int64_t NetProgressEngine::sleepOfServing(int64_t nanos, bool worked, int64_t nowNanos) {
  if (worked) idlePolls_ = 0;
  if (nowNanos - askedNanos_ >= kServeNanos) return nanos;
  return ++idlePolls_ < kIdlePolls ? 0 : std::min(nanos, maxSleepNanos_.load(std::memory_order_relaxed));
}

bool NetProgressEngine::threadRound() {
  int64_t sleepNanos = 0;
  if (!pollOnThread(&sleepNanos)) return false;
  const bool polls = threadPolls_.load(std::memory_order_relaxed);
  if (polls) sleepNanos = std::min({sleepNanos, kMaxSleepNanos, maxSleepNanos_.load(std::memory_order_relaxed)});
  if (sleepNanos == 0) {
    std::this_thread::yield();
    return true;
  }
  threadSleeps_.store(!polls);
  if (!polls && threadPolls_.load()) return true;  // a caller has asked for polls in the meantime
  std::array<pollfd, 3> waited = {pollfd{threadWake_.get(), POLLIN, 0}, pollfd{controlEvents_.fd(), POLLIN, 0},
                                  pollfd{polls ? dataEvents_.fd() : -1, POLLIN, 0}};
  const timespec span = toTimespec(sleepNanos == INT64_MAX ? 0 : sleepNanos);
  ::ppoll(waited.data(), waited.size(), sleepNanos == INT64_MAX ? nullptr : &span, nullptr);
  threadSleeps_.store(false);
  if (waited[0].revents != 0) drainEvent(threadWake_);
  return true;
}

void NetProgressEngine::threadMain() {
  repeatRounds("jccl-net", [this] { return threadRound(); });
  ended_.store(1);
  futexWake(ended_);
}

}  // namespace jccl
