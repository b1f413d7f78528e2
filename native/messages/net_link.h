// Frames between two ranks of different hosts: a connection of the communicator's network in each direction. A frame is
// the data of one SIMPLE slot.
#pragma once

#include <atomic>
#include <cstdint>

#include "messages/message_link.h"
#include "primitives/connection.h"

namespace jccl {

class NetMessageLink final : public MessageLink {
 public:
  NetMessageLink(int rank, int peer, TransportKind kind, const ConnectionMemory& send, const ConnectionMemory& recv)
      : rank_(rank) {
    send_.memory = send;
    send_.peer = peer;
    send_.transport = kind;
    recv_.memory = recv;
    recv_.peer = peer;
    recv_.transport = kind;
  }

  uint64_t maxData() const override { return slotBytes() - kMessageFrameBytes; }
  uint64_t maxEager() const override { return std::min<uint64_t>(1 << 16, maxData()); }
  bool trySend(const MessageFrame& frame, const uint8_t* data, uint64_t bytes) override;
  bool hasNews() const override { return recv_.isPublished(); }
  Status receive(Received* next, bool* found) override;
  void release() override { recv_.release(); }
  bool trySendPart(const uint8_t* data, uint64_t bytes, uint64_t* end) override;
  bool hasLeft(uint64_t end) const override { return send_.memory.head->head.load(std::memory_order_acquire) >= end; }
  void expectParts(uint8_t* to, uint64_t bytes) override;

 private:
  uint64_t slotBytes() const { return send_.memory.shape.simpleSlotBytes(); }
  // Sockets send user memory without a registration.
  bool sendsFromMemory() const { return send_.transport == TransportKind::Socket; }

  const int rank_;
  SendConnection send_;
  RecvConnection recv_;
  uint64_t sentParts_ = 0;     // number of parts sent out of user memory
  uint64_t arrivedParts_ = 0;  // number of parts that have arrived
};

}  // namespace jccl
