// The instruction of a loop that polls memory.
#pragma once

namespace jccl {

// Lets the core's other thread run, and slows the loop down to about what a store takes to become visible elsewhere.
inline void pauseCore() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");  // `yield` does nothing on most cores; isb takes about as long as x86's pause
#endif
}

}  // namespace jccl
