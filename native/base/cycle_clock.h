// The processor's cycle counter as a clock: to read it takes half as long as to ask the kernel's clock.
//
// It counts at a constant rate, also while a core sleeps, and alike on all cores, where the kernel itself keeps time by it
// (/sys/devices/system/clocksource/clocksource0/current_clocksource). Intel 64 and IA-32 Architectures Software Developer's
// Manual, volume 3, "Time-Stamp Counter: Invariant TSC"; AMD64 Architecture Programmer's Manual, volume 2, "TscInvariant";
// Arm Architecture Reference Manual for A-profile, "The Generic Timer: CNTVCT_EL0". Elsewhere the clock is CLOCK_MONOTONIC.
#pragma once

#include <cstdint>

#include "base/clock.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace jccl {

class CycleClock {
 public:
  // A time in this clock's unit, never 0.
  static int64_t ticks() { return usesCounter_ ? counter() : monotonicNanos(); }

  // A sum of durations. The rate is fixed when this is first called, so that what only grows in ticks only grows in
  // nanoseconds too.
  static int64_t durationNanos(int64_t ticks);

  // Converts times that have passed into CLOCK_MONOTONIC's nanoseconds. The rate is that between the start of the process
  // and the construction, so there is nothing to calibrate.
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
