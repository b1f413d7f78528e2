// Polls the progress callbacks of one communicator's network: on waiting threads when there are any, else on its own.
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

// Who polls:
//
//     callers of poll()    move data themselves, which saves a context switch to another thread; the engine's thread stops
//                          polling the data, so a caller calls kick() when it stops polling
//     the engine's thread  sleeps on the control events (listening, dialling, introductions) and serves those alone;
//                          after kick() with data left, it also polls the data, until none is left or a caller polls
//
// Where calls of the network may block (serveByThread), only threads make them that can be left behind (CallWatch): the engine's,
// and those that run operations, which poll as above. For other callers the engine's thread polls the data while they poll, and
// until nothing is left, and it runs what they have to do with connections. They only wait for it, and not for ever.
//
// Callers that wait: one of them (the leader) sleeps in ppoll on the data events, the others on a futex that every
// progress wakes. A caller whose connection another thread has served is thus woken at once.
class NetProgressEngine final : public ProgressEngine {
 public:
  NetProgressEngine() = default;
  ~NetProgressEngine() override { stop(); }

  Status start();
  // Ends the thread, unless a call holds it: then it and the engine stay. Callbacks are not called any more afterwards, unless
  // poll() is. `last` runs as the last task, see run().
  void stop(const std::function<void()>& last = [] {});

  // From now on, before anything is added. A call that takes longer than the limit holds its thread for ever.
  void serveByThread(CallWatch& watch, int64_t limitNanos);
  // Whether a call holds its thread. Then nothing that callbacks use may be touched any more.
  bool isStuck() { return watch_ != nullptr && watch_->isStuck(monotonicNanos(), limitNanos_); }

  // Runs the task as callbacks run, and throws what it throws: under the mutex, and on the engine's thread where the caller may not. False: a call holds a
  // thread, or the engine's has ended, and the task has not ended, nor will it.
  bool run(std::function<void()> task);
  // The same without waiting for it where the thread runs it; in order with others, and before the thread polls again.
  void post(std::function<void()> task);

  int poll() override;
  void waitForEvents(int64_t nanos) override;
  void kick() override;

  // Every poll calls the data callbacks, the thread calls the control callbacks. They outlive the engine's thread.
  void addData(ProgressCallback* callback);
  void addDataLocked(ProgressCallback* callback) {
    data_.push_back(callback);
  }  // from a callback, or with the mutex held
  void addControl(ProgressCallback* callback);
  // A data callback that is called from the first use on. What it returns lives as long as the engine.
  FirstUse* addDormant(ProgressCallback* callback);

  // No events report what callbacks of the data wait for: nobody sleeps for longer. The thread may run.
  void pollWithin(int64_t nanos) {
    hasEvents_.store(false, std::memory_order_relaxed);
    maxSleepNanos_.store(nanos, std::memory_order_relaxed);
  }

  // How many data callbacks every poll calls.
  size_t active();

  EventSet& controlEvents() { return controlEvents_; }
  EventSet& dataEvents() { return dataEvents_; }
  std::mutex& mutex() { return mutex_; }  // held while a callback runs; for callers see run()

  // Has any data callback work that must go on?
  bool pending();
  // Something changed that the thread must see.
  void wakeThread();

 private:
  // A callback that no thread has used yet.
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
    std::exception_ptr thrown;  // published by `done`
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
  std::atomic<uint32_t> firstUses_{0};  // of dormant callbacks
  uint32_t firstUsesSeen_ = 0;
  int pollsWithoutEvents_ = 0;
  std::atomic<bool> hasEvents_{true};
  std::atomic<int64_t> maxSleepNanos_{INT64_MAX};  // between polls of data

  std::atomic<uint32_t> progress_{0};  // the futex word: changes with every progress
  std::atomic<uint32_t> followers_{0};
  std::atomic<bool> leaderSleeps_{false};
  std::mutex leader_;
  UniqueFd leaderWake_;
  UniqueFd threadWake_;

  std::atomic<bool> threadPolls_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> threadSleeps_{false};
  std::atomic<uint32_t> ended_{0};
  std::atomic<bool> stopped_{false};

  CallWatch* watch_ = nullptr;  // null: callers poll as well
  int64_t limitNanos_ = 0;
  std::mutex tasksMutex_;
  std::vector<std::shared_ptr<Task>> tasks_;
  int64_t askedNanos_ = 0;  // when the thread last had something to do, or was asked for it
  int idlePolls_ = 0;       // since it had
  std::thread thread_;
};

}  // namespace jccl
