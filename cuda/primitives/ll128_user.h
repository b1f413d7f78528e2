// Moves user memory to and from the layout of LL128 lines. The four lines of a warp contain 480 bytes of user memory,
// 60 granules of 8 bytes. After every 15th granule a line has a gap, which contains the flag:
//
//     line 0    | granule  0  1 |  2  3 | ... | 12 13 | 14 flag |        lane l of line k holds granules 15 k + 2 l and
//     line 1    |         15 16 | 17 18 | ... | 27 28 | 29 flag |        15 k + 2 l + 1; granule 0 of the slot's first
//     ...                                                                line is the check word
//
// The window is the part of user memory that the four lines contain. It is accessed in aligned vectors of 16 bytes, the
// i-th by lane i; only accesses at the beginning and the end of the user's buffer are narrower. If granules are at
// multiples of 8, shuffles move them to their lanes, around the gaps. Otherwise they are shifted in the warp's part of
// shared memory.
#pragma once

#include <cstdint>

#include "cuda/device/memory.h"
#include "cuda/primitives/compiler.h"
#include "cuda/primitives/links.h"

namespace jccl::device {

class UserLines {
 public:
  static constexpr uint32_t kLines = 4;  // lines that a warp moves at once
  static constexpr uint32_t kLanes = 8;  // number of lanes that move one line

  // Selects the user memory of the four lines from `firstLine` on, in a slot that contains `bytes` of user memory.
  JCCL_DEVICE UserLines(uint64_t* staging, const uint8_t* user, uint32_t firstLine, uint32_t bytes)
      : staging_(staging), lane_(simt::laneIndex()) {
    const uint32_t before = firstLine * kLL128PayloadBytes;
    const uint32_t left = kLL128HeaderBytes + bytes - before;
    address_ = reinterpret_cast<uintptr_t>(user) + before - kLL128HeaderBytes;
    begin_ = before == 0 ? static_cast<int>(kLL128HeaderBytes) : 0;
    end_ = static_cast<int>(left < kWindowBytes ? left : kWindowBytes);
    skew_ = static_cast<uint32_t>(address_ % 16);
    at_ = static_cast<int>(16 * lane_) - static_cast<int>(skew_);
  }

  // Loads this lane's vector; bytes outside the user's buffer are zero.
  JCCL_DEVICE simt::Vec16 loadVector() const {
    if (at_ >= begin_ && at_ + 16 <= end_) return simt::loadUser<16>(vector());
    if (at_ + 16 <= begin_ || at_ >= end_) return {0, 0};
    return loadPart(vector(), begin_ - at_, end_ - at_);
  }

  // Returns this lane's granules, made from the vectors of all lanes. All lanes of the warp call it.
  JCCL_DEVICE simt::Vec16 granules(simt::Vec16 vector) const {
    const uint32_t granule = 15 * (lane_ / kLanes) + 2 * (lane_ % kLanes);
    if (skew_ % 8 != 0) return shiftedOut(vector, granule);
    const uint32_t half = granule + skew_ / 8;  // index of the granule's half among all vectors' halves
    const uint32_t from = half / 2;
    const bool across = half % 2 != 0;
    const uint64_t low = simt::shuffle(simt::kFullMask, vector.low, static_cast<int>(across ? from + 1 : from));
    const uint64_t high = simt::shuffle(simt::kFullMask, vector.high, static_cast<int>(from));
    return across ? simt::Vec16{high, low} : simt::Vec16{low, high};
  }

  // Writes the granules of all lanes to user memory. All lanes of the warp call it.
  JCCL_DEVICE void store(simt::Vec16 granules) const {
    const simt::Vec16 vector = skew_ % 8 != 0 ? shiftedIn(granules) : vectorOf(granules);
    if (at_ >= begin_ && at_ + 16 <= end_) return simt::storeUser<16>(this->vector(), vector);
    if (at_ + 16 <= begin_ || at_ >= end_) return;
    storePart(this->vector(), begin_ - at_, end_ - at_, vector);
  }

 private:
  static constexpr uint32_t kWindowBytes = kLines * kLL128PayloadBytes;

  JCCL_DEVICE uint8_t* vector() const { return reinterpret_cast<uint8_t*>(address_ - skew_ + 16 * lane_); }

  // Accesses only bytes `begin` to `end` of a vector; the others are outside the user's buffer. Not inlined, because
  // few vectors need it.
  JCCL_DEVICE_CALL static simt::Vec16 loadPart(const uint8_t* vector, int begin, int end) {
    return {loadHalf(vector, begin, end), loadHalf(vector + 8, begin - 8, end - 8)};
  }
  JCCL_DEVICE_CALL static void storePart(uint8_t* vector, int begin, int end, simt::Vec16 words) {
    storeHalf(vector, begin, end, words.low);
    storeHalf(vector + 8, begin - 8, end - 8, words.high);
  }
  JCCL_DEVICE static uint64_t loadHalf(const uint8_t* half, int begin, int end) {
    if (begin <= 0 && end >= 8) return simt::loadUser<8>(half);
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) {
      if (i >= begin && i < end) word |= uint64_t{simt::loadUser<1>(half + i)} << 8 * i;
    }
    return word;
  }
  JCCL_DEVICE static void storeHalf(uint8_t* half, int begin, int end, uint64_t word) {
    if (begin <= 0 && end >= 8) return simt::storeUser<8>(half, word);
    for (int i = 0; i < 8; ++i) {
      if (i >= begin && i < end) simt::storeUser<1>(half + i, static_cast<uint8_t>(word >> 8 * i));
    }
  }

  // The inverse of granules(): returns this lane's vector, made from the granules of all lanes.
  JCCL_DEVICE simt::Vec16 vectorOf(simt::Vec16 granules) const {
    // A copy of the line's last granule fills the gap. So that granule and the first granule of the next line are in
    // the high half of one lane and the low half of the next lane, like any pair of granules at an odd place.
    if (lane_ % kLanes == kLanes - 1) granules.high = granules.low;
    const uint32_t granule = 15 + 2 * lane_ - skew_ / 8;  // counted from one line before the window
    const uint32_t inLine = granule % 15;
    // For vectors that are not stored, `from` can be outside the warp.
    const uint32_t from = kLanes * (granule / 15) - kLanes + inLine / 2;
    const bool across = inLine % 2 != 0 || inLine == 14;
    const uint64_t low =
        simt::shuffle(simt::kFullMask, granules.low, static_cast<int>((across ? from + 1 : from) % 32));
    const uint64_t high = simt::shuffle(simt::kFullMask, granules.high, static_cast<int>(from % 32));
    return across ? simt::Vec16{high, low} : simt::Vec16{low, high};
  }

  // Returns the eight bytes of shared memory that begin at byte `byte`, which need not be aligned.
  JCCL_DEVICE uint64_t shifted(uint32_t byte) const {
    const uint32_t shift = 8 * (byte % 8);
    return staging_[byte / 8] >> shift | staging_[byte / 8 + 1] << (64 - shift);
  }

  // Returns the lane's granules, of which `granule` is the first. All lanes store their vectors in shared memory, where
  // byte x of the window is at skew + x.
  JCCL_DEVICE simt::Vec16 shiftedOut(simt::Vec16 vector, uint32_t granule) const {
    simt::syncWarp(simt::kFullMask);
    staging_[2 * lane_] = vector.low;
    staging_[2 * lane_ + 1] = vector.high;
    simt::syncWarp(simt::kFullMask);
    return {shifted(skew_ + 8 * granule), shifted(skew_ + 8 * granule + 8)};
  }
  // Returns the lane's vector. All lanes store their granules in shared memory, where byte x of the window is at
  // 16 + x, because the first vector begins up to 15 bytes before the window.
  JCCL_DEVICE simt::Vec16 shiftedIn(simt::Vec16 granules) const {
    const uint32_t granule = 15 * (lane_ / kLanes) + 2 * (lane_ % kLanes);
    simt::syncWarp(simt::kFullMask);
    staging_[2 + granule] = granules.low;
    if (lane_ % kLanes != kLanes - 1) staging_[2 + granule + 1] = granules.high;
    simt::syncWarp(simt::kFullMask);
    const uint32_t byte = 16 + 16 * lane_ - skew_;
    return {shifted(byte), shifted(byte + 8)};
  }

  uint64_t* staging_;  // kStagingWords words
  uint32_t lane_;
  uintptr_t address_;  // of the window
  int begin_, end_;    // the bytes of the window that belong to the user's buffer
  uint32_t skew_;      // distance of the window's address from the last multiple of 16
  int at_;             // offset of this lane's vector in the window
};

}  // namespace jccl::device
