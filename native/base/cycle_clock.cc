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

// Both clocks at once: of some tries that between whose readings the least time passed.
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

}  // namespace

CycleClock::Converter::Converter() {
  const Instant now = instant();
  ticks_ = now.ticks;
  nanos_ = now.nanos;
  const int64_t passed = std::max<int64_t>(1, now.ticks - processStart.ticks);
  nanosPerTick_ = static_cast<double>(now.nanos - processStart.nanos) / static_cast<double>(passed);
}

}  // namespace jccl
