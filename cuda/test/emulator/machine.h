// An emulated GPU that runs kernels on the CPU. Every CUDA thread is a fiber, the fibers of all launches share one OS
// thread, and a seeded scheduler chooses the fiber that runs. Equal options and launches lead to equal runs.
//
//   Machine machine(options);
//   machine.launch(blocks, threads, [&] { kernelBody(arguments); }, "rank 0");
//   machine.launch(blocks, threads, [&] { kernelBody(others); }, "rank 1");
//   const Report report = machine.run();
//   ASSERT_TRUE(report.finished()) << report.text;
//
// Only code inside a launch may call the functions of cuda/device/simt.h and memory.h. A launch of one block of one
// thread can act as the host: it may call these functions as well, and it may add launches.
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
  Strong,  // each access takes effect at once: for tests of results
  Weak,    // accesses take effect in an order that the memory model allows, chosen by seed: for tests of protocols
};

// Order in which threads run if several can.
enum class Schedule : uint8_t {
  RoundRobin,  // threads run in rotation, each until it has to wait, or for 4096 calls
  Random,      // a random thread is next, and threads are interrupted anywhere
  Bursty,      // the threads that became ready last run for a while, then a random one
  Starving,    // a launch, block, warp or thread hardly runs; after a while another one is the victim
  BySeed,      // the seed chooses one of the above
};

struct Options {
  Memory memory = Memory::Strong;
  Schedule schedule = Schedule::RoundRobin;
  uint64_t seed = 1;
  bool splitLines = false;               // LL128 lines never stay whole
  uint64_t stepBudget = 1'000'000'000;   // maximum of calls of simt.h and memory.h in a run, by all threads together
  bool hostClock = false;                // the clock is the host's; a wait is no deadlock, because the host may end it
  uint64_t idleNanos = 600'000'000'000;  // virtual time without any change of memory after which waiting is a deadlock
  const MemoryPlaces* places = nullptr;  // regions by which transactions are counted; null: they are not counted
};

enum class Outcome : uint8_t {
  Finished,
  Deadlock,    // no thread can continue, or all poll memory that no thread changes
  StepBudget,  // the run exceeded Options::stepBudget
  Misuse,      // a call that hardware rejects or leaves undefined: barriers, masks, alignment, illegal addresses
};

struct Report {
  Outcome outcome = Outcome::Finished;
  std::string text;                        // why the run did not finish, and where every thread is
  uint64_t steps = 0;                      // calls of simt.h and memory.h
  uint64_t switches = 0;                   // switches from one thread to another
  uint64_t nanos = 0;                      // virtual time that has passed
  uint64_t tornLines = 0;                  // calls of storeLine and loadLine whose lines came apart
  std::vector<Transactions> transactions;  // by launch; zeros if they are not counted
  bool illegalAddress = false;             // the misuse is an access that access_map.h forbids
  bool finished() const { return outcome == Outcome::Finished; }
};

class Machine {
 public:
  explicit Machine(const Options& options = {});
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Adds a grid of `blocks` x `threads` threads that run `body`; all blocks are resident at once. The grid begins when
  // the earlier launch `after` has ended (-1: at once), and sees all that `after` wrote, as in a stream. A thread has a
  // stack of 64 KiB. `user` is the launch's bit in access_map.h. Returns the launch's number. Throws
  // std::invalid_argument if the arguments are invalid or the last run did not finish.
  int launch(unsigned blocks, unsigned threads, std::function<void()> body, std::string name = {}, int after = -1,
             uint16_t user = 0xffff);

  // Runs all launches to their end. After a run that did not finish, the machine accepts no more launches.
  Report run();

  // Describes where all threads are.
  std::string places() const;

  class Implementation;

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace jccl::emulator
