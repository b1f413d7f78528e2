#include "cuda/test/emulator/machine.h"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

#include "cuda/test/emulator/machine_implementation.h"

namespace jccl::emulator {

constinit thread_local Context context;

namespace {

constexpr uint64_t kNanosPerSwitch = 10;
constexpr uint64_t kIdleRounds = 8;            // rounds without a change of memory before the clock leaps
constexpr uint64_t kLongestLeap = 1ull << 26;  // maximum leap of the clock in a round, in ns
// Thrown in a thread to end the thread and the run.
struct Stopped {};

constexpr unsigned kMaxThreads = 1024;  // maximum number of threads of a block

}  // namespace

Machine::Machine(const Options& options) : implementation_(std::make_unique<Implementation>(options)) {}
Machine::~Machine() = default;

int Machine::launch(unsigned blocks, unsigned threads, std::function<void()> body, std::string name, int after,
                    uint16_t user) {
  return implementation_->launch(blocks, threads, std::move(body), std::move(name), after, user);
}

std::string Machine::places() const { return implementation_->places(); }

Report Machine::run() { return implementation_->run(); }

Machine::Implementation::Implementation(const Options& options)
    : options_(options), random_(options.seed), scheduler_(options.schedule, random_) {
  if (options.memory == Memory::Weak) weak_ = std::make_unique<WeakMemory>(random_);
}

Machine::Implementation::~Implementation() {
  for (auto& launch : launches_) {
    for (auto& block : launch->blocks) {
      for (Thread& thread : block->threads) endFiber(thread.fiber);
    }
  }
}

int Machine::Implementation::launch(unsigned blocks, unsigned threads, std::function<void()> body, std::string name,
                                    int after, uint16_t user) {
  const int id = static_cast<int>(launches_.size());
  if (blocks == 0 || threads == 0 || threads > kMaxThreads) {
    throw std::invalid_argument("blocks=" + std::to_string(blocks) + " threads=" + std::to_string(threads) +
                                ": expected at least one block of 1 to " + std::to_string(kMaxThreads) + " threads");
  }
  if (after < -1 || after >= id) {
    throw std::invalid_argument("after=" + std::to_string(after) + ": expected an earlier launch, or -1");
  }
  if (!body) throw std::invalid_argument("a launch needs a body");
  if (outcome_ != Outcome::Finished) throw std::invalid_argument("the last run did not finish: use a new machine");
  auto launch = std::make_unique<Launch>();
  launch->id = id;
  launch->name = name.empty() ? "launch " + std::to_string(id) : std::move(name);
  launch->blockCount = launch->blocksLeft = blocks;
  launch->threadCount = threads;
  launch->body = std::move(body);
  launch->after = after;
  launch->user = user;
  launches_.push_back(std::move(launch));
  if (context.machine == this) beginAllowed();
  return id;
}

void Machine::Implementation::beginAllowed() {
  for (size_t i = 0; i < launches_.size(); ++i) {
    Launch& launch = *launches_[i];
    if (!launch.begun && (launch.after < 0 || launches_[launch.after]->blocksLeft == 0)) begin(launch);
  }
}

void Machine::Implementation::begin(Launch& launch) {
  launch.begun = true;
  context.changed = true;
  for (unsigned b = 0; b < launch.blockCount; ++b) {
    auto block = std::make_unique<Block>();
    block->launch = &launch;
    block->index = b;
    block->number = blocks_++;
    block->threads = std::vector<Thread>(launch.threadCount);
    block->warps = std::vector<Warp>((launch.threadCount + 31) / 32);
    for (unsigned i = 0; i < launch.threadCount; ++i) {
      Thread& thread = block->threads[i];
      Warp& warp = block->warps[i / 32];
      thread.index = i;
      thread.lane = i % 32;
      thread.blockIndex = b;
      thread.blockThreads = launch.threadCount;
      thread.block = block.get();
      thread.warp = &warp;
      warp.lanes[thread.lane] = &thread;
      warp.existing |= 1u << thread.lane;
    }
    for (Thread& thread : block->threads) {
      thread.mates = thread.warp->existing;
      beginFiber(thread.fiber, threadEntry);
      ready(thread);
    }
    if (weak_ != nullptr) weak_->begin(*block);
    live_ += launch.threadCount;
    launch.blocks.push_back(std::move(block));
  }
}

Report Machine::Implementation::run() {
  if (context.machine != nullptr) throw std::logic_error("run() was called while a machine runs in this thread");
  if (outcome_ != Outcome::Finished) throw std::logic_error("the last run did not finish: use a new machine");
  const uint64_t nanosBefore = nanos_;
  steps_ = switches_ = tornLines_ = 0;
  idleRounds_ = leap_ = 0;
  idleSince_ = nanos_;
  context = Context{};
  context.machine = this;
  context.weak = weak_ != nullptr;
  context.places = options_.places;
  if (weak_ != nullptr) weak_->beginRun();
  beginAllowed();
  while (live_ != 0 && outcome_ == Outcome::Finished) {
    if (Thread* thread = next()) {
      grant();
      context.thread = thread;
      switchFiber(main_, thread->fiber);
    }
    endLaunches();
  }
  context = Context{};
  Report report;
  report.outcome = outcome_;
  report.steps = steps_;
  report.switches = switches_;
  report.nanos = nanos_ - nanosBefore;
  report.tornLines = tornLines_;
  report.illegalAddress = illegalAddress_;
  for (const auto& launch : launches_) report.transactions.push_back(launch->transactions);
  if (outcome_ != Outcome::Finished) {
    report.text = why_ + "\nseed " + std::to_string(options_.seed) + ", after " + std::to_string(steps_) + " steps, " +
                  std::to_string(report.nanos) + " ns\n" + describe(launches_);
  }
  return report;
}

// Frees the launches that have ended, and begins the launches that waited for them.
void Machine::Implementation::endLaunches() {
  if (ended_.empty()) return;
  for (Launch* launch : ended_) {
    for (auto& block : launch->blocks) {
      for (Thread& thread : block->threads) endFiber(thread.fiber);
      if (weak_ != nullptr) weak_->end(*block);
    }
    launch->blocks.clear();
    launch->body = nullptr;
  }
  ended_.clear();
  scheduler_.forgetVictim();
  beginAllowed();
}

void Machine::Implementation::threadEntry() {
  fiberBegun();
  Thread& thread = *context.thread;
  Implementation& machine = *context.machine;
  machine.runBody(thread);
  if (machine.outcome_ != Outcome::Finished) machine.stop(thread);
  machine.exit(thread);
}

// A call that ends the run throws Stopped, so that the objects on the thread's stack are destroyed.
void Machine::Implementation::runBody(Thread& thread) {
  try {
    thread.block->launch->body();
    leaveMeetings(thread);
  } catch (const Stopped&) {
  } catch (const std::exception& e) {
    note(thread, std::string("the kernel has thrown: ") + e.what());
  }
}

void Machine::Implementation::note(const Thread& thread, const std::string& misuse) {
  outcome_ = Outcome::Misuse;
  why_ = misuse + "\n  by " + describe(thread);
}

void Machine::Implementation::exit(Thread& thread) {
  if (context.places != nullptr) countEnd(thread);
  thread.state = State::Exited;
  context.changed = true;
  --live_;
  Block& block = *thread.block;
  if (++block.exited == block.threads.size() && --block.launch->blocksLeft == 0) {
    ended_.push_back(block.launch);
    stop(thread);
  }
  switchAway(thread);
  __builtin_unreachable();
}

// Switches to the OS thread's own stack and never returns.
void Machine::Implementation::stop(Thread& thread) {
  account();
  switchFiber(thread.fiber, main_, true);
  __builtin_unreachable();
}

void Machine::Implementation::misuse(const std::string& why) {
  note(*context.thread, why);
  throw Stopped{};
}

void Machine::Implementation::grant() { granted_ = context.fuel = scheduler_.fuel(); }

void Machine::Implementation::account() { steps_ += static_cast<uint64_t>(granted_ - context.fuel); }

void Machine::Implementation::switchAway(Thread& thread) {
  account();
  if (steps_ > options_.stepBudget) {
    outcome_ = Outcome::StepBudget;
    why_ = "more than stepBudget=" + std::to_string(options_.stepBudget) + " steps";
    granted_ = context.fuel;
    stop(thread);
  }
  Thread* to = next();
  grant();
  if (to == &thread) return;
  const bool last = thread.state == State::Exited;
  if (to == nullptr) {
    granted_ = context.fuel;
    stop(thread);
  }
  context.thread = to;
  switchFiber(thread.fiber, to->fiber, last);
}

void Machine::Implementation::interrupt(Thread& thread) {
  ready(thread);
  switchAway(thread);
}

void Machine::Implementation::spin(Thread& thread) {
  partFromLine(thread, false);
  thread.state = State::Spinning;
  scheduler_.spinning(&thread);
  switchAway(thread);
}

// Returns the thread to run next. On a deadlock, sets the outcome and returns null.
Thread* Machine::Implementation::next() {
  ++switches_;
  nanos_ += kNanosPerSwitch;
  if (weak_ != nullptr) weak_->tick();
  bool quiet = false;
  Thread* thread = scheduler_.pick(quiet);
  if (thread == nullptr) {
    outcome_ = Outcome::Deadlock;
    why_ = "deadlock: every thread waits for others";
    return nullptr;
  }
  if (quiet && !stillHope()) {
    outcome_ = Outcome::Deadlock;
    why_ = "deadlock: threads wait in loops, and nothing has changed in memory for " +
           std::to_string(nanos_ - idleSince_) + " ns";
    scheduler_.ready(thread);
    return nullptr;
  }
  return thread;
}

// Called when all threads that can run have polled. That is normal while memory changes; if it does not change, only
// the clock can end the waiting. Returns false on a deadlock.
bool Machine::Implementation::stillHope() {
  if (context.changed) {
    context.changed = false;
    idleRounds_ = leap_ = 0;
    idleSince_ = nanos_;
    scheduler_.fair(false);
    if (weak_ != nullptr) weak_->fresh(false);
    return true;
  }
  if (options_.hostClock) {
    if (++idleRounds_ > kIdleRounds) std::this_thread::yield();
    return true;
  }
  if (++idleRounds_ <= kIdleRounds || (weak_ != nullptr && weak_->commit())) return true;
  if (weak_ != nullptr) weak_->fresh(true);
  scheduler_.fair(true);
  leap_ = std::min(std::max<uint64_t>(leap_ * 2, 64), kLongestLeap);
  nanos_ += leap_;
  return nanos_ - idleSince_ <= options_.idleNanos;
}

void refuel() { context.machine->interrupt(*context.thread); }

void spin() { context.machine->spin(*context.thread); }

uint64_t virtualNanos() { return context.machine->nanos(); }

void failMisaligned(const void* address, size_t bytes) {
  context.machine->misuse("an access of " + std::to_string(bytes) + " bytes at address " +
                          std::to_string(reinterpret_cast<uintptr_t>(address)) + ": expected a multiple of the size");
}

void failIllegal(const void* address, size_t bytes) {
  context.machine->illegalAddress("an illegal address: " + std::to_string(bytes) + " bytes at " +
                                  std::to_string(reinterpret_cast<uintptr_t>(address)) +
                                  " are not mapped for the kernel's device");
}

// Returns a new number for a shared variable. Each declaration of such a variable in the source calls this function
// once.
unsigned newSharedVariable() {
  static unsigned variables = 0;
  return variables++;
}

void* sharedMemory(unsigned variable, size_t bytes, size_t alignment) {
  constexpr size_t kMaxAligned = 128;
  auto& shared = context.thread->block->shared;
  if (shared.size() <= variable) shared.resize(variable + 1);
  auto& memory = shared[variable];
  if (memory == nullptr) {
    memory = std::make_unique<std::byte[]>(bytes + kMaxAligned);
    std::fill_n(memory.get(), bytes + kMaxAligned, std::byte{0xa5});  // garbage: shared memory is not initialised
  }
  const auto address = reinterpret_cast<uintptr_t>(memory.get());
  return memory.get() + (alignment - address % alignment) % alignment;
}

}  // namespace jccl::emulator
