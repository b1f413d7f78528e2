// The barriers of a block: syncBlock, syncThreads and syncOr.
#include <string>
#include <vector>

#include "cuda/test/emulator/machine_implementation.h"

namespace jccl::emulator {
namespace {

std::string callOf(Operation operation, int id, int threads) {
  return std::string(nameOf(operation))
      .append("(")
      .append(std::to_string(id))
      .append(", ")
      .append(std::to_string(threads))
      .append(")");
}

std::string nameOf(const Barrier& barrier, int id) {
  if (id == 0) return nameOf(barrier.operation);
  return callOf(barrier.operation, id, barrier.expected);
}

void checkCall(const Thread& thread, int id, int threads) {
  Machine::Implementation& machine = *context.machine;
  const int max = static_cast<int>(thread.blockThreads);
  if (id < 1 || id > 15) machine.misuse(callOf(thread.operation, id, threads) + ": expected a barrier from 1 to 15");
  if (threads <= 0 || threads % 32 != 0 || threads > max) {
    machine.misuse(callOf(thread.operation, id, threads) + ": expected whole warps, no more threads than the block's " +
                   std::to_string(max));
  }
}

}  // namespace

bool meetAtBarrier(int id, int threads, bool vote) {
  Thread& thread = *context.thread;
  Machine::Implementation& machine = *context.machine;
  Block& block = *thread.block;
  if (thread.operation == Operation::SyncBlock) {
    threads = static_cast<int>(thread.blockThreads);
    if (block.exited != 0) {
      machine.misuse("syncBlock after " + std::to_string(block.exited) + " threads of the block have left the kernel");
    }
  } else {
    checkCall(thread, id, threads);
  }
  Barrier& barrier = block.barriers[id];
  if (barrier.arrived == 0) {
    barrier.operation = thread.operation;
    barrier.expected = threads;
    barrier.vote = false;
    barrier.first = barrier.last = nullptr;
  } else if (barrier.operation != thread.operation || barrier.expected != threads) {
    machine.misuse(callOf(thread.operation, id, threads) + " while " + std::to_string(barrier.arrived) +
                   " threads wait at " + nameOf(barrier, id));
  }
  barrier.vote |= vote;
  if (++barrier.arrived < barrier.expected) {
    partFromLine(thread, true);
    thread.nextWaiting = nullptr;
    (barrier.first == nullptr ? barrier.first : barrier.last->nextWaiting) = &thread;
    barrier.last = &thread;
    thread.state = State::AtBarrier;
    thread.barrier = id;
    thread.expected = threads;
    machine.switchAway(thread);
    return thread.result != 0;
  }
  barrier.arrived = 0;
  const bool result = barrier.vote;
  if (WeakMemory* memory = machine.weak()) {
    std::vector<Thread*> met{&thread};
    for (Thread* waiting = barrier.first; waiting != nullptr; waiting = waiting->nextWaiting) met.push_back(waiting);
    memory->meet(met);
  }
  for (Thread* waiting = barrier.first; waiting != nullptr;) {
    Thread* next = waiting->nextWaiting;
    waiting->result = result;
    machine.ready(*waiting);
    waiting = next;
  }
  return result;
}

}  // namespace jccl::emulator
