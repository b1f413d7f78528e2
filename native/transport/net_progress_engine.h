// Progress engine of one communicator's network: polls its callbacks on threads that wait for operations if there are
// any, otherwise on the engine's own thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/call_watch.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/progress_engine.h"
#include "base/status.h"
#include "transport/event_set.h"
#include "transport/progress_callback.h"

namespace jccl {

// Threads that poll:
//
//     callers of poll()    move data themselves, which saves a context switch. The engine's thread then does not poll
//                          data, so a caller calls kick() when it stops polling.
//     the engine's thread  sleeps on the control events (listening, dialling, introductions) and serves only these.
//                          If data is left at a kick(), it also polls data until none is left or a caller polls.
//
// If calls of the network can block (serveByThread), a call may never return, and its thread is left behind
// (CallWatch). So only two kinds of threads make such calls: the engine's thread, and threads that run operations,
// which poll as above. The engine's thread serves all other callers: it runs their tasks, polls data while they poll,
// and continues until no data is left. The time for which these callers wait for the engine's thread is limited,
// because it can be stuck in a call.
//
// Callers that wait: one of them, the leader, sleeps in ppoll on the data events; the others sleep on a futex that
// every progress wakes. A caller whose connection was served by another thread is thus woken at once.
class NetProgressEngine final : public ProgressEngine {
 public:
  NetProgressEngine() = default;
  ~NetProgressEngine() override { stop(); }

  Status start();
  // Ends the engine's thread. If a call holds the thread, both the thread and the engine are left behind. Afterwards
  // only poll() still calls callbacks. `last` runs as the last task; see run().
  void stop(const std::function<void()>& last = [] {});

  // Declares that calls of the network can block. Must be called before anything is added. A call that takes longer
  // than `limitNanos` counts as holding its thread for ever.
  void serveByThread(CallWatch& watch, int64_t limitNanos);
  // Returns true if a call holds its thread. Nothing that callbacks use may be touched then.
  bool isStuck() { return watch_ != nullptr && watch_->isStuck(monotonicNanos(), limitNanos_); }

  // Runs the task under the mutex, as callbacks run, and throws what it throws. If the caller must not call the
  // network, the engine's thread runs the task. Returns false if the task has not ended and never will: a call holds a
  // thread, or the engine's thread has ended.
  bool run(std::function<void()> task);
  // Like run(), but does not wait if the engine's thread runs the task. Tasks keep their order and run before that
  // thread polls again.
  void post(std::function<void()> task);

  int poll() override;
  void waitForEvents(int64_t nanos) override;
  // Returns the number of calls of poll(), by which a thread recognises that others move data.
  uint64_t polls() const { return polls_.load(std::memory_order_relaxed); }
  void kick() override;

  // Every poll calls the data callbacks; only the engine's thread calls the control callbacks. Callbacks must outlive
  // that thread.
  void addData(ProgressCallback* callback);
  // Like addData(), for callers that hold the mutex, and for callbacks, which run under it.
  void addDataLocked(ProgressCallback* callback) { data_.push_back(callback); }
  void addControl(ProgressCallback* callback);
  // Adds a data callback that is called only after noteFirstUse() of the returned object, which lives as long as the
  // engine.
  FirstUse* addDormant(ProgressCallback* callback);

  // Limits sleeps between polls of data to `nanos`, for networks without events. The engine's thread may be running.
  void pollWithin(int64_t nanos) {
    hasEvents_.store(false, std::memory_order_relaxed);
    maxSleepNanos_.store(nanos, std::memory_order_relaxed);
  }

  // Returns the number of data callbacks that every poll calls.
  size_t active();

  EventSet& controlEvents() { return controlEvents_; }
  EventSet& dataEvents() { return dataEvents_; }
  std::mutex& mutex() { return mutex_; }  // held while a callback runs; callers use run()

  // Returns true if any data callback has work that must continue.
  bool pending();
  // Wakes the engine's thread, so that it sees a change.
  void wakeThread();

 private:
  // A data callback that is not called before its first use.
  class Dormant final : public FirstUse {
   public:
    Dormant(ProgressCallback* callback, std::atomic<uint32_t>& uses) : callback(callback), uses_(uses) {}
    void noteFirstUse() override {
      used.store(true, std::memory_order_release);
      uses_.fetch_add(1, std::memory_order_release);
    }

    ProgressCallback* const callback;
    std::atomic<bool> used{false};
    bool woken = false;

   private:
    std::atomic<uint32_t>& uses_;
  };

  struct Task {
    std::function<void()> run;
    std::exception_ptr thrown;  // written before `done`
    std::atomic<uint32_t> done{0};
  };

  bool servedByThread() const { return watch_ != nullptr && !stopped_ && !canBeLeftBehind; }
  std::shared_ptr<Task> passToThread(std::function<void()> task);
  int pollByThread();
  void askThread();
  void runTasks();
  int64_t sleepOfServing(int64_t nanos, bool worked, int64_t nowNanos);
  void wakeUsed();
  int runData();
  int pollCallbacks(int64_t nowNanos);
  bool anyExpecting() const;
  bool anyPending();
  void noteProgress();
  void lead(int64_t nanos);
  void threadMain();
  bool pollOnThread(int64_t* sleepNanos);
  bool threadRound();

  EventSet controlEvents_;
  EventSet dataEvents_;
  std::mutex mutex_;
  std::vector<ProgressCallback*> data_;
  std::vector<ProgressCallback*> control_;
  std::vector<std::shared_ptr<Dormant>> dormant_;
  std::atomic<uint32_t> firstUses_{0};  // number of first uses of dormant callbacks
  uint32_t firstUsesSeen_ = 0;
  int pollsWithoutEvents_ = 0;
  std::atomic<bool> hasEvents_{true};
  std::atomic<int64_t> maxSleepNanos_{INT64_MAX};  // longest sleep between two polls of data

  std::atomic<uint32_t> progress_{0};  // the futex word: changes with every progress
  std::atomic<uint32_t> followers_{0};
  std::atomic<bool> leaderSleeps_{false};
  std::mutex leader_;
  UniqueFd leaderWake_;
  UniqueFd threadWake_;

  std::atomic<bool> threadPolls_{false};
  std::atomic<uint64_t> polls_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> threadSleeps_{false};
  std::atomic<uint32_t> ended_{0};
  std::atomic<bool> stopped_{false};

  CallWatch* watch_ = nullptr;  // null: no call can block, and every caller may poll
  int64_t limitNanos_ = 0;
  std::mutex tasksMutex_;
  std::vector<std::shared_ptr<Task>> tasks_;
  int64_t askedNanos_ = 0;  // time at which the thread last had work or was asked for polls
  int idlePolls_ = 0;       // number of consecutive polls that found no work
  std::thread thread_;
};

}  // namespace jccl
