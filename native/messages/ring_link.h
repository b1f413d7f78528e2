// Frames between two ranks of one host: a ring in shared memory for each direction.
//
// A ring is in the segment of the receiving rank (engine/segment.h). Its first line has the number of lines that the
// receiver has freed. Then come lines of 64 bytes, used in turn. A frame takes whole lines without a gap:
//
//     0               8               40
//     +---------------+---------------+--------------------+----
//     | ready u64     | MessageFrame  | data               | ...
//     | = bytes + 1   |               |                    |
//     +---------------+---------------+--------------------+----
//
// `ready` is stored last, with release; bytes is the length of the data. Before it publishes a frame, the sender clears
// the first word of the line after the frame, so that the receiver polls a word that is 0 until the next frame. A frame
// that does not fit before the end of the ring begins at line 0: then kSkip is in the line where it would have begun.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/event_count.h"
#include "engine/segment.h"
#include "messages/message_link.h"
#include "primitives/connection.h"

namespace jccl {

class RingMessageLink final : public MessageLink {
 public:
  static constexpr uint64_t kLineBytes = 64;
  static constexpr uint64_t kHeadBytes = 128;  // the head's line and one more, which the processor prefetches with it
  static constexpr uint64_t kLines = (SegmentShape::kInboxBytes - kHeadBytes) / kLineBytes;
  static constexpr uint64_t kDataOffset = 8 + sizeof(MessageFrame);
  static constexpr uint64_t kSkip = ~uint64_t{0};

  // `out`: this rank's ring in the peer's segment. `in`: the peer's ring in the segment of this rank. Events: of both.
  RingMessageLink(uint8_t* out, uint8_t* in, EventCount& peerEvents) : out_(out), in_(in), peerEvents_(peerEvents) {}

  uint64_t maxData() const override { return 1 << 14; }
  uint64_t maxEager() const override { return 1 << 13; }

  bool trySend(const MessageFrame& frame, const uint8_t* data, uint64_t bytes) override {
    const uint64_t lines = linesOf(bytes);
    const uint64_t at = tail_ % kLines;
    const bool skips = at + lines > kLines;
    const uint64_t skipped = skips ? kLines - at : 0;
    if (!hasSpace(skipped + lines + 1)) return false;
    if (skips) {
      wordOf(out_, 0).store(0, std::memory_order_relaxed);
      wordOf(out_, at).store(kSkip, std::memory_order_release);
      tail_ += skipped;
    }
    uint8_t* line = lineOf(out_, tail_ % kLines);
    std::memcpy(line + 8, &frame, sizeof frame);
    if (bytes > 0) std::memcpy(line + kDataOffset, data, bytes);
    wordOf(out_, (tail_ + lines) % kLines).store(0, std::memory_order_relaxed);
    wordOf(out_, tail_ % kLines).store(bytes + 1, std::memory_order_release);
    tail_ += lines;
    // The next frame clears a line that the receiver does not poll yet. Fetching it now keeps its frame from waiting.
    prefetchForWriting(lineOf(out_, (tail_ + 1) % kLines));
    peerEvents_.notifyIfWaiting();
    return true;
  }

  bool hasNews() const override {
    return wordOf(in_, read_.load(std::memory_order_relaxed) % kLines).load(std::memory_order_acquire) != 0;
  }

  Status receive(Received* next, bool* found) override {
    uint64_t at = read_.load(std::memory_order_relaxed);
    uint64_t ready = wordOf(in_, at % kLines).load(std::memory_order_acquire);
    if (ready == kSkip) {
      at += kLines - at % kLines;
      read_.store(at, std::memory_order_relaxed);
      ready = wordOf(in_, 0).load(std::memory_order_acquire);
    }
    *found = ready != 0;
    if (ready == 0) return Status::ok();
    const uint64_t bytes = ready - 1;
    if (bytes > maxData() || at % kLines + linesOf(bytes) > kLines) {
      return Status::transport("a frame of bytes=" + std::to_string(bytes) + " does not fit in the ring of messages");
    }
    const uint8_t* line = lineOf(in_, at % kLines);
    std::memcpy(&next->frame, line + 8, sizeof next->frame);
    next->data = line + kDataOffset;
    next->bytes = bytes;
    lines_ = linesOf(bytes);
    return Status::ok();
  }

  void release() override {
    const uint64_t before = read_.load(std::memory_order_relaxed);
    const uint64_t read = before + lines_;
    read_.store(read, std::memory_order_relaxed);
    headOf(in_).store(read, std::memory_order_release);
    // A sender that waits for space has filled the ring, so reading it crosses the ends of quarters.
    if (before / (kLines / 4) != read / (kLines / 4)) peerEvents_.notifyIfWaiting();
  }

 private:
  using Word = std::atomic<uint64_t>;
  static Word& headOf(uint8_t* ring) { return *reinterpret_cast<Word*>(ring); }
  static uint8_t* lineOf(uint8_t* ring, uint64_t line) { return ring + kHeadBytes + line * kLineBytes; }
  static Word& wordOf(uint8_t* ring, uint64_t line) { return *reinterpret_cast<Word*>(lineOf(ring, line)); }
  static uint64_t linesOf(uint64_t bytes) { return (kDataOffset + bytes + kLineBytes - 1) / kLineBytes; }

  bool hasSpace(uint64_t lines) {
    if (tail_ + lines <= freed_ + kLines) return true;
    freed_ = headOf(out_).load(std::memory_order_acquire);
    return tail_ + lines <= freed_ + kLines;
  }

  uint8_t* const out_;
  uint8_t* const in_;
  EventCount& peerEvents_;
  uint64_t tail_ = 0;              // lines written ever, skipped ones included
  uint64_t freed_ = 0;             // head that was read last
  std::atomic<uint64_t> read_{0};  // lines read ever; written by the thread that uses the link
  uint64_t lines_ = 0;             // of the frame that receive() returned last
};

}  // namespace jccl
