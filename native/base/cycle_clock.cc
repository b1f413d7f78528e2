#include "base/cycle_clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/fd.h"

namespace jccl {
namespace {

bool kernelUsesCounter() {
#if defined(__aarch64__)
  constexpr std::string_view counter = "arch_sys_counter\n";
#else
  constexpr std::string_view counter = "tsc\n";
#endif
  const UniqueFd file(::open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC));
  char name[32];
  const ssize_t length = file ? ::read(file.get(), name, sizeof name) : 0;
  return length > 0 && std::string_view(name, static_cast<size_t>(length)) == counter;
}

struct Instant {
  int64_t ticks;
  int64_t nanos;
};

// Reads both clocks. Of several attempts, keeps the pair of readings that were closest in time.
Instant instant() {
  Instant best{};
  int64_t shortest = INT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const int64_t before = CycleClock::ticks();
    const int64_t nanos = monotonicNanos();
    const int64_t took = CycleClock::ticks() - before;
    if (took >= shortest) continue;
    shortest = took;
    best = {before + took / 2, nanos};
  }
  return best;
}

}  // namespace

const bool CycleClock::usesCounter_ = kernelUsesCounter();

namespace {

const Instant processStart = instant();

// Shortest time from which a rate is computed. Each of its two instants is some 20 ns off: a few millionths of this
// time.
constexpr int64_t kMinCalibrationNanos = 10'000'000;

double rateUntil(const Instant& now) {
  return static_cast<double>(now.nanos - processStart.nanos) / static_cast<double>(now.ticks - processStart.ticks);
}

Instant laterInstant() {
  Instant now = instant();
  while (now.nanos - processStart.nanos < kMinCalibrationNanos) now = instant();
  return now;
}

}  // namespace

int64_t CycleClock::durationNanos(int64_t ticks) {
  static const double rate = rateUntil(laterInstant());
  return static_cast<int64_t>(static_cast<double>(ticks) * rate);
}

CycleClock::Converter::Converter() {
  const Instant now = laterInstant();
  ticks_ = now.ticks;
  nanos_ = now.nanos;
  nanosPerTick_ = rateUntil(now);
}

}  // namespace jccl
