// Implementation of the machine: launches, the run, and the functions by which barriers, warp functions and line
// accesses suspend and resume threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cuda/test/emulator/fiber.h"
#include "cuda/test/emulator/machine.h"
#include "cuda/test/emulator/random.h"
#include "cuda/test/emulator/scheduler.h"
#include "cuda/test/emulator/thread.h"
#include "cuda/test/emulator/weak_memory.h"

namespace jccl::emulator {

// Describes where the threads of all unfinished launches are; threads of a block in the same place share a line.
std::string describe(const std::vector<std::unique_ptr<Launch>>& launches);
std::string describe(const Thread& thread);
const char* nameOf(Operation operation);

class Machine::Implementation {
 public:
  explicit Implementation(const Options& options);
  ~Implementation();

  int launch(unsigned blocks, unsigned threads, std::function<void()> body, std::string name, int after, uint16_t user);
  Report run();
  std::string places() const { return describe(launches_); }

  // Suspends the running thread, which the caller has queued where it waits. Returns after another thread has made it
  // ready.
  void switchAway(Thread& thread);
  void interrupt(Thread& thread);
  void ready(Thread& thread) {
    thread.state = State::Ready;
    scheduler_.ready(&thread);
  }
  void spin(Thread& thread);
  // Ends the run. `why` states what happened; the place of the calling thread is appended.
  [[noreturn]] void misuse(const std::string& why);
  [[noreturn]] void illegalAddress(const std::string& why) {
    illegalAddress_ = true;
    misuse(why);
  }

  uint64_t nanos() { return options_.hostClock ? static_cast<uint64_t>(monotonicNanos()) : ++nanos_; }
  Random& random() { return random_; }
  const Options& options() const { return options_; }
  // Returns null if memory is strong.
  WeakMemory* weak() { return weak_.get(); }
  void lineCameApart() { ++tornLines_; }

 private:
  static void threadEntry();
  void runBody(Thread& thread);
  void note(const Thread& thread, const std::string& misuse);
  [[noreturn]] void exit(Thread& thread);
  void begin(Launch& launch);
  void beginAllowed();
  void endLaunches();
  [[noreturn]] void stop(Thread& thread);
  Thread* next();
  bool stillHope();
  void grant();
  void account();

  const Options options_;
  Random random_;
  Scheduler scheduler_;
  std::unique_ptr<WeakMemory> weak_;
  std::vector<std::unique_ptr<Launch>> launches_;
  std::vector<Launch*> ended_;  // launches to free once no thread runs on their stacks
  Fiber main_;
  uint32_t blocks_ = 0;  // blocks begun so far
  uint64_t live_ = 0;    // threads that have not ended

  Outcome outcome_ = Outcome::Finished;
  std::string why_;
  bool illegalAddress_ = false;

  int granted_ = 0;
  uint64_t steps_ = 0, switches_ = 0, nanos_ = 0, tornLines_ = 0;
  uint64_t idleRounds_ = 0, idleSince_ = 0, leap_ = 0;
};

// Breaks up the line meetings that wait for the thread: all if `always`, otherwise those that it can no longer join.
void partFromLine(Thread& thread, bool always);
// Called when the thread leaves the kernel. Reports misuse if other threads still wait for it.
void leaveMeetings(Thread& thread);

}  // namespace jccl::emulator
