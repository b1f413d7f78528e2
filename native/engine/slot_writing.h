// How pieces are written into peers' SIMPLE slots: into the cache, or past it with non-temporal stores. Decided by
// measuring, all the time.
//
// Neither is better everywhere, and by no small factor (all-reduce of 1 MiB between 2 ranks, microseconds):
//
//     cores of the two ranks         cached   past the cache
//     share the third-level cache        60              140
//     share no cache                    640              120
//
// Cores that share nothing take a line back from each other for every store. Which cores the ranks get nobody can ask
// reliably (virtual machines move), and it changes while they run. So each rank times its own operations, by size, and
// keeps to the faster way, and tries the other one now and then: for at most a fiftieth of the time.
//
// This is each sender's own affair: the receiver cannot tell the difference, and results do not depend on it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace jccl {

class SlotWriting {
 public:
  // Below, a piece is written so quickly that reading the clock costs more than can be won.
  static constexpr size_t kLeastBytes = 16 * 1024;

  // Whether an operation of so many bytes that starts now is to write past the cache.
  bool streams(size_t bytes, int64_t nowNanos) {
    SizeClass& entry = at(bytes);
    if (entry.trialsLeft == 0 && isDue(entry, nowNanos)) entry.trialsLeft = kTrials;
    return entry.trialsLeft > 0 ? !entry.streaming : entry.streaming;
  }

  // The operation is over; `streamed` is what streams() answered.
  void took(size_t bytes, bool streamed, int64_t startNanos, int64_t endNanos) {
    SizeClass& entry = at(bytes);
    const int64_t nanos = endNanos - startNanos;
    // The first operation of a trial finds the slots as the other way has left them.
    const bool settled = entry.trialsLeft != kTrials;
    if (settled || entry.best[streamed] == 0) note(entry.best[streamed], nanos);
    if (entry.trialsLeft == 0) return;
    entry.lastTrialNanos = nanos;
    if (--entry.trialsLeft > 0) return;
    entry.trialEndNanos = endNanos;
    if (entry.best[!entry.streaming] < entry.best[entry.streaming]) entry.streaming = !entry.streaming;
  }

 private:
  static constexpr int kTrials = 3;
  static constexpr int64_t kTrialShare = 50;  // a trial may take this part of the time
  static constexpr int kClasses = 64;

  struct SizeClass {
    int64_t best[2] = {0, 0};  // nanoseconds, [streaming]; 0: not measured yet
    int64_t trialEndNanos = 0;
    int64_t lastTrialNanos = 0;
    int trialsLeft = 0;
    bool streaming = false;
  };

  SizeClass& at(size_t bytes) { return classes_[std::bit_width(bytes) % kClasses]; }

  static bool isDue(const SizeClass& entry, int64_t nowNanos) {
    if (entry.best[entry.streaming] == 0) return false;  // the present way is measured first
    return nowNanos - entry.trialEndNanos >= kTrials * kTrialShare * entry.lastTrialNanos;
  }

  // The least of what was seen, which forgets: waiting for a late peer only ever adds, and places change.
  static void note(int64_t& best, int64_t nanos) {
    best = best == 0 || nanos < best ? nanos : best + (nanos - best) / 16;
  }

  std::array<SizeClass, kClasses> classes_;
};

}  // namespace jccl
