// Drives the agents of one communicator's network: the waiting callers do it when there are any, a thread otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
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
//     callers of poll()    move data themselves, which saves the hand-over to another thread; the engine's thread stops
//                          driving the data, so a caller calls kick() when it stops polling
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
  void addDataLocked(Agent* agent) { data_.push_back(agent); }  // from an agent, or with the mutex held
  void addControl(Agent* agent);
  // A data agent that is driven from the first use on. What it returns lives as long as the engine.
  FirstUse* addDormant(Agent* agent);

  // How many data agents are driven.
  size_t driven();

  EventSet& controlEvents() { return controlEvents_; }
  EventSet& dataEvents() { return dataEvents_; }
  std::mutex& mutex() { return mutex_; }  // held while an agent runs

  // Has any data agent work that must go on?
  bool pending();
  // Something changed that the thread must look at.
  void wakeThread();

 private:
  // An agent that nobody has used yet.
  class Dormant final : public FirstUse {
   public:
    Dormant(Agent* agent, std::atomic<uint32_t>& uses) : agent(agent), uses_(uses) {}
    void noteFirstUse() override {
      used.store(true, std::memory_order_release);
      uses_.fetch_add(1, std::memory_order_release);
    }

    Agent* const agent;
    std::atomic<bool> used{false};
    bool woken = false;

   private:
    std::atomic<uint32_t>& uses_;
  };

  void wakeUsed();
  int runData();
  int runAgents(int64_t nowNanos);
  bool anyExpecting() const;
  bool anyPending();
  void noteProgress();
  void lead(int64_t nanos);
  void threadMain();
  bool threadTurn(int64_t* sleepNanos);

  EventSet controlEvents_;
  EventSet dataEvents_;
  std::mutex mutex_;
  std::vector<Agent*> data_;
  std::vector<Agent*> control_;
  std::vector<std::unique_ptr<Dormant>> dormant_;
  std::atomic<uint32_t> firstUses_{0};  // of dormant agents
  uint32_t firstUsesSeen_ = 0;
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
