// The processor's cycle counter as a clock. Reading it takes half as long as asking the kernel's clock.
//
// The counter runs at a constant rate, also while a core sleeps, and is equal on all cores, if the kernel uses it as
// its own clock source (/sys/devices/system/clocksource/clocksource0/current_clocksource). Sources: Intel 64 and IA-32
// Architectures Software Developer's Manual, volume 3, "Time-Stamp Counter: Invariant TSC"; AMD64 Architecture
// Programmer's Manual, volume 2, "TscInvariant"; Arm Architecture Reference Manual for A-profile, "The Generic Timer:
// CNTVCT_EL0". If the kernel uses another clock source, this clock is CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

#include "base/clock.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace jccl {

class CycleClock {
 public:
  // Returns the time in this clock's unit, never 0.
  static int64_t ticks() { return usesCounter_ ? counter() : monotonicNanos(); }

  // Converts a duration to nanoseconds. The rate is fixed at the first call, so that a sum of durations that only grows
  // in ticks also only grows in nanoseconds.
  static int64_t durationNanos(int64_t ticks);

  // Converts past times to CLOCK_MONOTONIC's nanoseconds. The rate is the average between the start of the process and
  // the construction of the converter, so no calibration is needed.
  class Converter {
   public:
    Converter();
    int64_t nanos(int64_t ticks) const {
      return nanos_ - static_cast<int64_t>(static_cast<double>(ticks_ - ticks) * nanosPerTick_);
    }

   private:
    int64_t ticks_;
    int64_t nanos_;
    double nanosPerTick_;
  };

 private:
  static int64_t counter() {
#if defined(__x86_64__)
    return static_cast<int64_t>(__rdtsc());
#elif defined(__aarch64__)
    int64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return monotonicNanos();
#endif
  }

  static const bool usesCounter_;
};

}  // namespace jccl
