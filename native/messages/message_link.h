// The connection on which two ranks exchange the frames of messages, in both directions. Frames keep their order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "base/status.h"
#include "messages/message_frame.h"

namespace jccl {

// One thread at a time uses a link, except hasNews(), which any thread may call.
class MessageLink {
 public:
  struct Received {
    MessageFrame frame;
    const uint8_t* data = nullptr;
    uint64_t bytes = 0;  // of data
  };

  virtual ~MessageLink() = default;

  // Returns the most data of one frame.
  virtual uint64_t maxData() const = 0;
  // Returns the longest message that is sent with its frame.
  virtual uint64_t maxEager() const = 0;
  // Sends a frame if there is space. `data` may change when this returns.
  virtual bool trySend(const MessageFrame& frame, const uint8_t* data, uint64_t bytes) = 0;
  // Returns true if a frame may have arrived.
  virtual bool hasNews() const = 0;
  // Sets *next to the next frame, which is valid until release(); false if there is none.
  virtual Status receive(Received* next, bool* found) = 0;
  virtual void release() = 0;

  // Sends a part of a message, of at most maxData() bytes, after a Take. The data may change when hasLeft(*end).
  virtual bool trySendPart(const uint8_t* data, uint64_t bytes, uint64_t* end) {
    *end = 0;
    return trySend({.kind = MessageFrame::Kind::Data}, data, bytes);
  }
  virtual bool hasLeft(uint64_t /*end*/) const { return true; }
  // Tells where the next parts go, so that the network may store them there.
  virtual void expectParts(uint8_t* /*to*/, uint64_t /*bytes*/) {}
};

// Sends frames to this rank itself.
class OwnMessageLink final : public MessageLink {
 public:
  uint64_t maxData() const override { return 1 << 16; }
  uint64_t maxEager() const override { return 1 << 12; }
  bool trySend(const MessageFrame& frame, const uint8_t* data, uint64_t bytes) override {
    frames_.push_back({frame, std::vector<uint8_t>(data, data + bytes)});
    hasNews_.store(true, std::memory_order_relaxed);
    return true;
  }
  bool hasNews() const override { return hasNews_.load(std::memory_order_relaxed); }
  Status receive(Received* next, bool* found) override {
    *found = !frames_.empty();
    if (*found) *next = {frames_.front().frame, frames_.front().data.data(), frames_.front().data.size()};
    return Status::ok();
  }
  void release() override {
    frames_.pop_front();
    hasNews_.store(!frames_.empty(), std::memory_order_relaxed);
  }

 private:
  struct Stored {
    MessageFrame frame;
    std::vector<uint8_t> data;
  };
  std::deque<Stored> frames_;
  std::atomic<bool> hasNews_{false};
};

}  // namespace jccl
