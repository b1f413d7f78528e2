// Drives the agents of one communicator's network: the waiting callers do it when there are any, a thread otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/progress_engine.h"
#include "base/status.h"
#include "transport/agent.h"
#include "transport/event_set.h"

namespace jccl {

// Who drives:
//
//     callers of poll()    move data themselves, which saves the hand-over to another thread
//     the engine's thread  sleeps on the control events (listening, dialling, introductions) and serves those alone;
//                          after kick() with data left, it also drives the data, until none is left or a caller polls
//
// Callers that wait: one of them (the leader) sleeps in ppoll on the data events, the others on a futex that every
// progress rings. A caller whose connection another thread has served is thus woken at once.
class NetProgressEngine final : public ProgressEngine {
 public:
  NetProgressEngine() = default;
  ~NetProgressEngine() override { stop(); }

  Status start();
  // Ends the thread. Agents are not called any more afterwards, unless poll() is.
  void stop();

  int poll() override;
  void waitForEvents(int64_t nanos) override;
  void kick() override;

  // Data agents are driven by everybody, control agents by the thread. The agents outlive the engine's thread.
  void addData(Agent* agent);
  void addControl(Agent* agent);

  EventSet& controlEvents() { return controlEvents_; }
  EventSet& dataEvents() { return dataEvents_; }
  std::mutex& mutex() { return mutex_; }  // held while an agent runs

  // Has any data agent work that must go on?
  bool pending();
  // Something changed that the thread must look at.
  void wakeThread();

 private:
  int runData();
  int runAgents(int64_t nowNanos);
  bool anyExpecting() const;
  bool anyPending() const;
  void noteProgress();
  void lead(int64_t nanos);
  void threadMain();
  bool threadTurn(int64_t* sleepNanos);

  EventSet controlEvents_;
  EventSet dataEvents_;
  std::mutex mutex_;
  std::vector<Agent*> data_;
  std::vector<Agent*> control_;
  int turnsWithoutEvents_ = 0;

  std::atomic<uint32_t> progress_{0};  // the futex word: changes with every progress
  std::atomic<uint32_t> followers_{0};
  std::atomic<bool> leaderSleeps_{false};
  std::mutex leader_;
  UniqueFd leaderWake_;
  UniqueFd threadWake_;

  std::atomic<bool> threadDrives_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace jccl
