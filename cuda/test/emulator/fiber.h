// Fibers: a stack of their own and a switch of a few nanoseconds, x86-64 (System V). Made known to AddressSanitizer.
#pragma once

#include <cstddef>

namespace jccl::emulator {

// Kept for reuse by the OS thread, with a page below that faults.
struct Stack {
  std::byte* bottom = nullptr;
  size_t size = 0;
};

struct Fiber {
  void* stackPointer = nullptr;
  Stack stack;                // none: the OS thread's own
  void* sanitizer = nullptr;  // AddressSanitizer's notes while the fiber does not run
};

// Prepares the fiber to run `entry`, which must not return, at the first switch to it. Throws std::system_error.
void beginFiber(Fiber& fiber, void (*entry)());
// Its stack can be used again; the fiber must not be running.
void endFiber(Fiber& fiber);
// Goes on in `to`; returns when something switches back. `last`: nothing ever will.
void switchFiber(Fiber& from, Fiber& to, bool last = false);
// Called first thing in an entry.
void fiberBegun();

}  // namespace jccl::emulator
