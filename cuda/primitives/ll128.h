// LL128 on the device: a warp moves 4 lines at a time, 8 lanes each, with one instruction; the flag at the end of a line
// is the publication of all of it. layout.h draws the slot; protocols.md says where lines stay whole.
//
// A lane holds two granules of 8 bytes of each of its lines; the second one of a line's last lane is the flag. How they
// come from the user's memory, which has no such holes, ll128_user.h describes. Where there is work enough, a warp has
// the loads of several lines in flight together.
//
// All lanes of a warp do everything together, also where the last lines are fewer than 4: then only some move lines.
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
    const Waiter waiter(state_.wait);
    const Step step{in, out, bytes, check};
    const uint32_t lines =
        bytes <= kFirstPayload ? 1 : (kLL128HeaderBytes + bytes + kLL128PayloadBytes - 1) / kLL128PayloadBytes;
    const uint32_t stride = team_.threads / kLanes;
    uint32_t first = team_.thread / simt::kWarpThreads * kLines;
    if (links_.recvCount <= 1) {
      for (; first + (kPasses - 1) * stride + kLines <= lines; first += kPasses * stride) {
        if (!moveLines<kPasses>(waiter, step, first, kLines)) return false;
      }
    }
    for (; first < lines; first += stride) {
      if (!moveLines<1>(waiter, step, first, lines - first < kLines ? lines - first : kLines)) return false;
    }
    return true;
  }

 private:
  static constexpr uint32_t kLanes = UserLines::kLanes;
  static constexpr uint32_t kLines = UserLines::kLines;
  static constexpr uint32_t kFirstPayload = kLL128PayloadBytes - kLL128HeaderBytes;
  // Of how many passes the loads are in flight together.
  static constexpr int kPasses = 4;

  struct Step {
    const uint8_t* in;
    uint8_t* out;
    uint32_t bytes;
    uint32_t check;
  };
  // Lines that a warp moves in one pass or several.
  struct Place {
    unsigned mask;     // of the lanes that have a line
    bool mine;         // whether this lane is one of them
    bool flag;         // whether it has the line's flag
    size_t offset;     // of its part of its first line in the slot
    size_t passBytes;  // from one pass's lines to the next one's
  };

  template <int Passes>
  JCCL_DEVICE bool moveLines(const Waiter& waiter, const Step& step, uint32_t first, uint32_t here) const {
    const uint32_t lane = simt::laneIndex();
    const uint32_t stride = team_.threads / kLanes;
    const Place place{here == kLines ? simt::kFullMask : (1u << here * kLanes) - 1, lane < here * kLanes,
                      lane % kLanes == kLanes - 1, size_t{first} * kLL128LineBytes + lane * 16,
                      size_t{stride} * kLL128LineBytes};
    uint64_t* staging = state_.staging + team_.thread / simt::kWarpThreads * kStagingWords;
    simt::Vec16 result[Passes] = {};
    if (step.in != nullptr) {
      JCCL_UNROLL
      for (int t = 0; t < Passes; ++t) {
        result[t] = UserLines(staging, step.in, first + t * stride, step.bytes).loadVector();
      }
      JCCL_UNROLL
      for (int t = 0; t < Passes; ++t) {
        result[t] = UserLines(staging, step.in, first + t * stride, step.bytes).granules(result[t]);
      }
    }
    if (links_.recvCount == 1) {
      if (!receiveOne<Passes>(waiter, place, step, result)) return false;
    } else if (links_.recvCount > 1) {
      if (!reduce(waiter, place, step, result[0])) return false;
    }
    if (step.out != nullptr) {
      JCCL_UNROLL
      for (int t = 0; t < Passes; ++t) {
        UserLines(staging, step.out, first + t * stride, step.bytes).store(result[t]);
      }
    }
    if (place.offset == 0) result[0].low = step.check;
    if constexpr (!Faults::kDivergesAtLines) simt::syncWarp(simt::kFullMask);
    for (int i = 0; i < links_.sendCount; ++i) {
      const SlotChunk& chunk = state_.sent[links_.firstSend + i];
      JCCL_UNROLL
      for (int t = 0; t < Passes; ++t) {
        if (place.flag) result[t].high = chunk.step + 1;
        if (place.mine) storeLine(chunk.at + place.offset + t * place.passBytes, result[t], place.mask);
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

  // What comes from the only link, reduced with the own part where there is one.
  template <int Passes>
  JCCL_DEVICE bool receiveOne(const Waiter& waiter, const Place& place, const Step& step,
                              simt::Vec16 (&result)[Passes]) const {
    simt::Vec16 words[Passes] = {};
    if (!receive<Passes>(waiter, place, 0, step.check, words)) return false;
    const bool ownFirst = links_.ownPosition == 0;
    JCCL_UNROLL
    for (int t = 0; t < Passes; ++t) {
      if (step.in == nullptr) {
        result[t] = words[t];
      } else {
        const simt::Vec16 left = ownFirst ? result[t] : words[t], right = ownFirst ? words[t] : result[t];
        result[t] = {folded(left.low, right.low), folded(left.high, right.high)};
      }
    }
    return true;
  }

  JCCL_DEVICE uint64_t folded(uint64_t left, uint64_t right) const {
    Accumulator<E> accumulator;
    accumulator.load(left);
    accumulator.fold(right, reduction_);
    if (reduction_.divisor != 1) accumulator.divide(reduction_);
    return accumulator.pack();
  }

  JCCL_DEVICE bool reduce(const Waiter& waiter, const Place& place, const Step& step, simt::Vec16& result) const {
    const simt::Vec16 own = result;
    Accumulator<E> low, high;
    bool begun = false;
    const auto add = [&](const simt::Vec16& words) {
      if (begun) {
        low.fold(words.low, reduction_);
        high.fold(words.high, reduction_);
      } else {
        low.load(words.low);
        high.load(words.high);
        begun = true;
      }
    };
    for (int i = 0; i <= links_.recvCount; ++i) {
      if (step.in != nullptr && i == links_.ownPosition) add(own);
      if (i == links_.recvCount) break;
      simt::Vec16 words[1] = {};
      if (!receive<1>(waiter, place, i, step.check, words)) return false;
      add(words[0]);
    }
    if (reduction_.divisor != 1) {
      low.divide(reduction_);
      high.divide(reduction_);
    }
    result = {low.pack(), high.pack()};
    return true;
  }

  // Waits until all lines of the warp have their flag, and then reads them again: only that copy is known to be whole.
  template <int Passes>
  JCCL_DEVICE bool receive(const Waiter& waiter, const Place& place, int link, uint32_t check,
                           simt::Vec16 (&words)[Passes]) const {
    const SlotChunk& chunk = state_.received[links_.firstRecv + link];
    const WaitPlace waits = state_.recvs[links_.firstRecv + link].place(WaitFor::Data, Protocol::LL128, chunk.step);
    const auto load = [&] {
      if (!place.mine) return;
      JCCL_UNROLL
      for (int t = 0; t < Passes; ++t) {
        words[t] = simt::loadLine(chunk.at + place.offset + t * place.passBytes, place.mask);
      }
    };
    const auto ready = [&] {
      load();
      bool current = true;
      JCCL_UNROLL
      for (int t = 0; t < Passes; ++t) current = current && words[t].high == chunk.step + 1;
      return simt::all(simt::kFullMask, !place.mine || !place.flag || current);
    };
    simt::syncWarp(simt::kFullMask);
    if (!waiter.waitTogether(simt::kFullMask, ready, waits)) return false;
    simt::syncWarp(simt::kFullMask);  // orders what the flags' lanes have seen before the loads of the others
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
