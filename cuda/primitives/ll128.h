// LL128 on the device: a warp moves 4 lines at a time, 8 lanes each, with one instruction; the flag at the end of a line
// is the publication of all of it. layout.h draws the slot; protocols.md says where lines travel whole.
//
// A lane holds two granules of 8 bytes; the second one of a line's last lane is the flag. User memory has no such holes:
// the granules of lane l of line k lie at 120 k + 16 l - 8, and the first one of line 0 is the check word.
#pragma once

#include <cstdint>

#include "cuda/primitives/faults.h"
#include "cuda/primitives/links.h"
#include "cuda/primitives/move.h"

namespace jccl::device {

template <class E, class Faults>
class LL128Mover {
 public:
  JCCL_DEVICE LL128Mover(const BlockState& state, const Team& team, const LinkRange& links, const Reduction& reduction)
      : state_(state), team_(team), links_(links), reduction_(reduction) {}

  JCCL_DEVICE bool run(const uint8_t* in, uint8_t* out, uint32_t bytes, uint32_t check) {
    const Waiter waiter(state_.wait);
    const uint32_t lines =
        bytes <= kFirstPayload ? 1 : (kLL128HeaderBytes + bytes + kLL128PayloadBytes - 1) / kLL128PayloadBytes;
    const uint32_t stride = team_.threads / kLanes;
    for (uint32_t first = team_.thread / simt::kWarpThreads * kLines; first < lines; first += stride) {
      const uint32_t here = lines - first < kLines ? lines - first : kLines;
      const uint32_t lane = simt::laneIndex();
      if (lane >= here * kLanes) return true;  // only in the last turn
      const unsigned mask = here == kLines ? simt::kFullMask : (1u << here * kLanes) - 1;
      if (!moveLines(waiter, mask, first + lane / kLanes, lane % kLanes, in, out, bytes, check)) return false;
    }
    return true;
  }

 private:
  static constexpr uint32_t kLanes = 8;  // of a line
  static constexpr uint32_t kLines = 4;  // of a warp
  static constexpr uint32_t kFirstPayload = kLL128PayloadBytes - kLL128HeaderBytes;

  // Which bytes of the user's memory a granule holds: none before the first and behind the last.
  struct Span {
    uint32_t at;
    uint32_t bytes;
  };
  JCCL_DEVICE static Span spanOf(uint32_t at, uint32_t bytes) {
    if (at < kLL128HeaderBytes) return {0, 0};
    const uint32_t begin = at - kLL128HeaderBytes;
    if (begin >= bytes) return {0, 0};
    return {begin, bytes - begin < 8 ? bytes - begin : 8};
  }

  JCCL_DEVICE bool moveLines(const Waiter& waiter, unsigned mask, uint32_t line, uint32_t lane, const uint8_t* in,
                             uint8_t* out, uint32_t bytes, uint32_t check) const {
    const uint32_t at = line * kLL128PayloadBytes + lane * 16;
    const Span low = spanOf(at, bytes);
    const Span high = lane == kLanes - 1 ? Span{0, 0} : spanOf(at + 8, bytes);
    simt::Vec16 result{0, 0};
    if (in != nullptr) {
      if (low.bytes != 0) result.low = loadGranule(in + low.at, low.bytes);
      if (high.bytes != 0) result.high = loadGranule(in + high.at, high.bytes);
    }
    const size_t offset = size_t{line} * kLL128LineBytes + lane * 16;
    if (links_.recvCount == 1 && in == nullptr) {
      if (!receive(waiter, mask, 0, offset, lane, check, result)) return false;
    } else if (links_.recvCount > 0) {
      if (!reduce(waiter, mask, in != nullptr, offset, lane, check, result)) return false;
    }
    if (out != nullptr) {
      if (low.bytes != 0) storeGranule(out + low.at, low.bytes, result.low);
      if (high.bytes != 0) storeGranule(out + high.at, high.bytes, result.high);
    }
    if (offset == 0) result.low = check;
    if constexpr (!Faults::kDivergesAtLines) simt::syncWarp(mask);
    for (int i = 0; i < links_.sendCount; ++i) {
      const Piece& piece = state_.sent[links_.firstSend + i];
      if (lane == kLanes - 1) result.high = piece.step + 1;
      if constexpr (Faults::kDivergesAtLines) {
        if (lane % 2 == 0) {
          simt::storeLine(piece.at + offset, result, mask);
        } else {
          simt::storeLine(piece.at + offset, result, mask);
        }
      } else {
        simt::storeLine(piece.at + offset, result, mask);
      }
    }
    return true;
  }

  JCCL_DEVICE bool reduce(const Waiter& waiter, unsigned mask, bool hasOwn, size_t offset, uint32_t lane,
                          uint32_t check, simt::Vec16& result) const {
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
      if (hasOwn && i == links_.ownPosition) add(own);
      if (i == links_.recvCount) break;
      simt::Vec16 words{0, 0};
      if (!receive(waiter, mask, i, offset, lane, check, words)) return false;
      add(words);
    }
    if (reduction_.divisor != 1) {
      low.divide(reduction_);
      high.divide(reduction_);
    }
    result = {low.pack(), high.pack()};
    return true;
  }

  // Waits until all lines of the warp carry their flag, and then reads them again: only that copy is known to be whole.
  JCCL_DEVICE bool receive(const Waiter& waiter, unsigned mask, int link, size_t offset, uint32_t lane, uint32_t check,
                           simt::Vec16& words) const {
    const Piece& piece = state_.received[links_.firstRecv + link];
    const WaitPlace place = state_.recvs[links_.firstRecv + link].place(WaitFor::Data, Protocol::LL128, piece.step);
    const auto ready = [&] {
      const simt::Vec16 look = simt::loadLine(piece.at + offset, mask);
      return simt::all(mask, lane != kLanes - 1 || look.high == piece.step + 1);
    };
    simt::syncWarp(mask);
    if (!waiter.waitTogether(mask, ready, place)) return false;
    words = simt::loadLine(piece.at + offset, mask);
    const bool mismatch = offset == 0 && words.low != check;
    if (mismatch) waiter.fail(Code::Mismatch, place);
    return !simt::any(mask, mismatch);
  }

  const BlockState& state_;
  const Team& team_;
  const LinkRange& links_;
  const Reduction& reduction_;
};

}  // namespace jccl::device
