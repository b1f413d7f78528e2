// LL128 on the device: a warp moves 4 lines at a time with one instruction, 8 lanes for each line. The flag at the end
// of a line publishes the whole line. layout.h draws the slot; docs/tuning-gpu.md tells between which GPUs lines stay
// whole.
//
// A lane has two granules of 8 bytes of each of its lines; the second granule of a line's last lane is the flag. User
// memory has no gaps for flags: ll128_user.h moves it into this layout. If there is enough work, a warp has the loads
// of several lines in flight together.
//
// All lanes of a warp execute every step together. If fewer than 4 lines remain, only some lanes move lines.
#pragma once

#include <cstdint>

#include "cuda/primitives/faults.h"
#include "cuda/primitives/links.h"
#include "cuda/primitives/ll128_user.h"
#include "cuda/primitives/move.h"

namespace jccl::device {

template <class E, class Faults>
class LL128Mover {
 public:
  JCCL_DEVICE LL128Mover(const BlockState& state, const Team& team, const LinkRange& links, const Reduction& reduction)
      : state_(state), team_(team), links_(links), reduction_(reduction) {}

  JCCL_DEVICE bool run(const uint8_t* in, uint8_t* out, uint32_t bytes, uint32_t check) const {
    const Step step{in, out, bytes, check};
    return links_.recvCount <= 1 ? moveAll<kPasses>(step) : moveAll<1>(step);
  }

 private:
  static constexpr uint32_t kLanes = UserLines::kLanes;
  static constexpr uint32_t kLines = UserLines::kLines;
  static constexpr uint32_t kFirstPayload = kLL128PayloadBytes - kLL128HeaderBytes;
  // Number of passes whose loads are in flight together, unless data of several links is reduced.
  static constexpr int kPasses = 4;

  struct Step {
    const uint8_t* in;
    uint8_t* out;
    uint32_t bytes;
    uint32_t check;
  };
  // The lines that a warp moves in one or several passes.
  struct Place {
    uint32_t left;    // number of lines from the warp's first line to the last line of the step
    uint32_t stride;  // distance, in lines, between the lines of two adjacent passes
    size_t offset;    // from the start of the slot to this lane's 16 bytes in the lines of the first pass
    bool flag;        // this lane moves the flags of its lines

    JCCL_DEVICE bool has(int pass) const { return left > pass * stride; }
    JCCL_DEVICE uint32_t lanes(int pass) const {
      const uint32_t lines = has(pass) ? left - pass * stride : 0;
      return (lines < kLines ? lines : kLines) * kLanes;
    }
    // Returns the mask of the lanes that move a line in the pass.
    JCCL_DEVICE unsigned mask(int pass) const {
      const uint32_t count = lanes(pass);
      return count == simt::kWarpThreads ? simt::kFullMask : (1u << count) - 1;
    }
    JCCL_DEVICE bool mine(int pass) const { return simt::laneIndex() < lanes(pass); }
    JCCL_DEVICE uint8_t* in(const SlotChunk& chunk, int pass) const {
      return chunk.at + offset + size_t{pass * stride} * kLL128LineBytes;
    }
  };

  template <int Passes>
  JCCL_DEVICE bool moveAll(const Step& step) const {
    const Waiter waiter(state_.wait);
    const uint32_t lines = step.bytes <= kFirstPayload
                               ? 1
                               : (kLL128HeaderBytes + step.bytes + kLL128PayloadBytes - 1) / kLL128PayloadBytes;
    const uint32_t stride = team_.threads / kLanes, lane = simt::laneIndex();
    JCCL_NO_UNROLL
    for (uint32_t first = team_.thread / simt::kWarpThreads * kLines; first < lines; first += Passes * stride) {
      const Place place{lines - first, stride, size_t{first} * kLL128LineBytes + lane * 16,
                        lane % kLanes == kLanes - 1};
      if (!moveLines<Passes>(waiter, step, place, first)) return false;
    }
    return true;
  }

  template <int Passes>
  JCCL_DEVICE bool moveLines(const Waiter& waiter, const Step& step, const Place& place, uint32_t first) const {
    uint64_t* staging = state_.staging + team_.thread / simt::kWarpThreads * kStagingWords;
    const auto userLines = [&](const uint8_t* user, int pass) {
      return UserLines(staging, user, first + pass * place.stride, step.bytes);
    };
    simt::Vec16 result[Passes] = {};
    if (step.in != nullptr) {
      JCCL_UNROLL
      for (int t = 0; t < Passes; ++t) {
        if (place.has(t)) result[t] = userLines(step.in, t).loadVector();
      }
      JCCL_UNROLL
      for (int t = 0; t < Passes; ++t) {
        if (place.has(t)) result[t] = userLines(step.in, t).granules(result[t]);
      }
    }
    if constexpr (Passes > 1) {
      if (links_.recvCount != 0 && !receiveOne<Passes>(waiter, place, step, result)) return false;
    } else {
      if (!reduce(waiter, place, step, result[0])) return false;
    }
    if (step.out != nullptr) {
      JCCL_UNROLL
      for (int t = 0; t < Passes; ++t) {
        if (place.has(t)) userLines(step.out, t).store(result[t]);
      }
    }
    if (place.offset == 0) result[0].low = step.check;
    JCCL_NO_UNROLL
    for (int i = 0; i < links_.sendCount; ++i) {
      // Lanes that have no line in the last pass of a link must not run ahead.
      if constexpr (!Faults::kDivergesAtLines) simt::syncWarp(simt::kFullMask);
      const SlotChunk& chunk = state_.sent[links_.firstSend + i];
      JCCL_UNROLL
      for (int t = 0; t < Passes; ++t) {
        if (place.flag) result[t].high = chunk.step + 1;
        if (place.mine(t)) storeLine(place.in(chunk, t), result[t], place.mask(t));
      }
    }
    return true;
  }

  JCCL_DEVICE static void storeLine(uint8_t* at, simt::Vec16 words, unsigned mask) {
    if constexpr (Faults::kDivergesAtLines) {
      if (simt::laneIndex() % 2 == 0) {
        simt::storeLine(at, words, mask);
      } else {
        simt::storeLine(at, words, mask);
      }
    } else {
      simt::storeLine(at, words, mask);
    }
  }

  // Receives from the only link, and reduces with the rank's own input if there is one.
  template <int Passes>
  JCCL_DEVICE bool receiveOne(const Waiter& waiter, const Place& place, const Step& step,
                              simt::Vec16 (&result)[Passes]) const {
    simt::Vec16 words[Passes] = {};
    if (!receive<Passes>(waiter, place, 0, step.check, words)) return false;
    const bool ownSecond = step.in != nullptr && links_.ownPosition != 0;
    JCCL_UNROLL
    for (int t = 0; t < Passes; ++t) {
      const simt::Vec16 own = result[t];
      if (step.in == nullptr || ownSecond) result[t] = words[t];
      if (ownSecond) words[t] = own;
    }
    if (step.in != nullptr) foldVectors<E>(result, words, reduction_);
    return true;
  }

  JCCL_DEVICE bool reduce(const Waiter& waiter, const Place& place, const Step& step, simt::Vec16& result) const {
    Accumulators<E, 1> accumulators, numbers;
    const int own = step.in == nullptr                      ? -1
                    : links_.ownPosition < links_.recvCount ? links_.ownPosition
                                                            : links_.recvCount;
    const int count = links_.recvCount + (step.in == nullptr ? 0 : 1);
    JCCL_NO_UNROLL
    for (int i = 0; i < count; ++i) {
      simt::Vec16 words[1] = {result};
      if (i != own && !receive<1>(waiter, place, own >= 0 && i > own ? i - 1 : i, step.check, words)) return false;
      numbers.load(words);
      if (i == 0) {
        accumulators = numbers;
      } else {
        accumulators.combine(numbers, reduction_);
      }
    }
    if (reduction_.divisor != 1) accumulators.divide(reduction_);
    result = accumulators.pack(0);
    return true;
  }

  // Waits until all lines of the warp have their flags, then reads the lines again: only this second copy is known to
  // be whole.
  template <int Passes>
  JCCL_DEVICE bool receive(const Waiter& waiter, const Place& place, int link, uint32_t check,
                           simt::Vec16 (&words)[Passes]) const {
    const SlotChunk& chunk = state_.received[links_.firstRecv + link];
    const WaitPlace waits = state_.recvs[links_.firstRecv + link].place(WaitFor::Data, Protocol::LL128, chunk.step);
    const auto load = [&] {
      JCCL_UNROLL
      for (int t = 0; t < Passes; ++t) {
        if (place.mine(t)) words[t] = simt::loadLine(place.in(chunk, t), place.mask(t));
      }
    };
    const auto ready = [&] {
      load();
      bool current = true;
      JCCL_UNROLL
      for (int t = 0; t < Passes; ++t) current = current && (!place.mine(t) || words[t].high == chunk.step + 1);
      return simt::all(simt::kFullMask, !place.flag || current);
    };
    simt::syncWarp(simt::kFullMask);
    if (!waiter.waitTogether(simt::kFullMask, ready, waits)) return false;
    // A proxy writes lines word by word, and their flags last, with release. This fence makes the flags that lanes have
    // loaded acquires.
    if (!Faults::kSkipsFence && state_.recvs[links_.firstRecv + link].hasProxy()) simt::fence();
    simt::syncWarp(simt::kFullMask);  // orders the flags that some lanes have read before the loads of all lanes
    load();
    const bool mismatch = place.offset == 0 && words[0].low != check;
    if (mismatch) waiter.fail(Code::Mismatch, waits);
    return !simt::any(simt::kFullMask, mismatch);
  }

  const BlockState& state_;
  const Team& team_;
  const LinkRange& links_;
  const Reduction& reduction_;
};

}  // namespace jccl::device
