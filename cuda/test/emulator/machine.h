// A small GPU machine on which kernels run on the CPU: every CUDA thread is a fiber, all fibers of all launches share
// one OS thread, and a seeded scheduler says who goes on. The same options and the same launches give the same run.
//
//   Machine machine(options);
//   machine.launch(blocks, threads, [&] { kernelBody(arguments); }, "rank 0");
//   machine.launch(blocks, threads, [&] { kernelBody(others); }, "rank 1");
//   const Report report = machine.run();
//   ASSERT_TRUE(report.finished()) << report.text;
//
// Inside a launch the functions of cuda/device/simt.h and memory.h work; outside they must not be called. A launch of
// one block of one thread can act as the host: it may call them, too, and may launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/test/emulator/transactions.h"

namespace jccl::emulator {

enum class Memory : uint8_t {
  Strong,  // accesses happen at once, one after the other: for what is computed
  Weak,    // whatever the memory model allows may happen, by seed: for the protocols
};

// Who runs when several could.
enum class Schedule : uint8_t {
  RoundRobin,  // all in rotation; a thread runs until it has to wait
  Random,      // anyone, and threads are interrupted anywhere
  Bursty,      // one warp for a while, then another
  Starving,    // some block, warp or thread only when no other can; another one after a while
  BySeed,      // one of the above
};

struct Options {
  Memory memory = Memory::Strong;
  Schedule schedule = Schedule::RoundRobin;
  uint64_t seed = 1;
  bool splitLines = false;               // LL128 lines never stay whole
  uint64_t stepBudget = 1'000'000'000;   // calls of simt.h and memory.h by all threads together, per run
  bool hostClock = false;                // time is the host's; who waits may wait for the host, so it is no deadlock
  uint64_t idleNanos = 600'000'000'000;  // virtual time without any change of memory after which waiting is a deadlock
  const MemoryPlaces* places = nullptr;  // transactions are counted, of these; null: they are not
};

enum class Outcome : uint8_t {
  Finished,
  Deadlock,    // no thread can go on, or all wait for what no thread will write
  StepBudget,  // too many steps
  Misuse,      // what hardware punishes or leaves undefined: barriers, masks, alignment
};

struct Report {
  Outcome outcome = Outcome::Finished;
  std::string text;                        // why it did not finish, and where every thread is
  uint64_t steps = 0;                      // calls of simt.h and memory.h
  uint64_t switches = 0;                   // from one thread to another
  uint64_t nanos = 0;                      // virtual time that has passed
  uint64_t tornLines = 0;                  // storeLine and loadLine that came apart
  std::vector<Transactions> transactions;  // by launch, where they are counted
  bool illegalAddress = false;             // of Misuse: an access to memory that access_map.h forbids
  bool finished() const { return outcome == Outcome::Finished; }
};

class Machine {
 public:
  explicit Machine(const Options& options = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // A grid of `blocks` x `threads` that runs `body` in every thread; all blocks are resident at once. It begins when
  // `after`, an earlier launch, has ended (-1: at once), and then sees all that it wrote, as in a stream. Returns the
  // launch's number. Throws std::invalid_argument. A thread has a stack of 64 KiB. `user` is its bit in access_map.h.
  int launch(unsigned blocks, unsigned threads, std::function<void()> body, std::string name = {}, int after = -1,
             uint16_t user = 0xffff);

  // Runs all that was launched to its end. Without an end the machine is not fit for more launches.
  Report run();

  // Where all threads are; called by one of them.
  std::string places() const;

  class Implementation;

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace jccl::emulator
