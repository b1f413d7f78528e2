// Fibers: threads of execution with their own stacks that switch in a few nanoseconds, for x86-64 (System V) and
// AArch64. AddressSanitizer is told of each switch.
#pragma once

#include <cstddef>

namespace jccl::emulator {

// A fiber's stack. The page below it faults. The OS thread keeps free stacks for reuse.
struct Stack {
  std::byte* bottom = nullptr;
  size_t size = 0;
};

struct Fiber {
  void* stackPointer = nullptr;
  Stack stack;                // empty: the OS thread's own stack
  void* sanitizer = nullptr;  // AddressSanitizer's state of the fiber while it does not run
};

// Prepares the fiber to run `entry`, which must not return, at the first switch to it. Throws std::system_error.
void beginFiber(Fiber& fiber, void (*entry)());
// Frees the fiber's stack for reuse. The fiber must not be running.
void endFiber(Fiber& fiber);
// Continues in `to`. Returns when another fiber switches back; `last` says that none ever will.
void switchFiber(Fiber& from, Fiber& to, bool last = false);
// Every `entry` calls this first.
void fiberBegun();

}  // namespace jccl::emulator
