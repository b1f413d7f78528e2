// Protocol of an authenticated data socket: frames, each a header and a part of one message.
//
//     0         4      5      6       8            16            20           24           28
//     +---------+------+------+-------+------------+-------------+------------+------------+-----------+
//     | magic   | kind | tag  | zero  | sequence   | total bytes | offset     | length     | check     |
//     +---------+------+------+-------+------------+-------------+------------+------------+-----------+
//
// A message of less than 2 * stripeBytes is one frame. A larger one is cut into nearly equal stripes of whole cache
// lines, at most one per stream. Stripe j of message s goes on stream (s + j) mod streams, so small messages alternate
// between streams, unless they take the eager path (socket_eager_path.h). Both ends know these rules, so the receiver
// can check every word of a header.
#pragma once

#include <algorithm>
#include <cstdint>

namespace jccl {

struct SocketFrame {
  static constexpr uint32_t kMagic = 0x31464e4a;
  enum Kind : uint8_t { kData = 1, kFin = 2 };
  uint32_t magic = kMagic;
  uint8_t kind = kData;
  uint8_t tag = 0;
  uint16_t zero = 0;
  uint64_t sequence = 0;
  uint32_t totalBytes = 0;
  uint32_t offset = 0;
  uint32_t length = 0;
  uint32_t check = 0;
};
static_assert(sizeof(SocketFrame) == 32);

struct StripePlan {
  struct Stripe {
    uint32_t offset;
    uint32_t length;
  };

  StripePlan(uint32_t totalBytes, uint32_t stripeBytes, uint32_t streams)
      : total_(totalBytes),
        count_(std::clamp<uint32_t>(totalBytes / std::max(stripeBytes, 1u), 1, streams)),
        step_(((uint64_t{totalBytes} + count_ - 1) / count_ + 63) / 64 * 64) {}

  uint32_t count() const { return count_; }

  Stripe stripe(uint32_t index) const {
    const uint32_t offset = static_cast<uint32_t>(std::min<uint64_t>(total_, index * step_));
    return {offset, static_cast<uint32_t>(std::min<uint64_t>(step_, total_ - offset))};
  }

  static uint32_t streamOf(uint64_t sequence, uint32_t index, uint32_t streams) {
    return static_cast<uint32_t>((sequence + index) % streams);
  }

  // The inverse of streamOf: returns the index of the stripe that goes on the stream. If the result is at least
  // count(), no stripe does.
  static uint32_t indexOf(uint64_t sequence, uint32_t stream, uint32_t streams) {
    return static_cast<uint32_t>((stream + streams - sequence % streams) % streams);
  }

 private:
  uint32_t total_;
  uint32_t count_;
  uint64_t step_;
};

}  // namespace jccl
