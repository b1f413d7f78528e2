// One proven TCP connection of a data connection, and its frames.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "base/fd.h"
#include "base/status.h"
#include "transport/event_set.h"
#include "transport/peer_silence.h"
#include "transport/socket_address.h"
#include "transport/socket_frame.h"

namespace jccl {

// Both halves of a socket: a queue of frames whose data stays where it is goes out, frames come in. The receiver
// returns where the data of an arriving frame goes, and checks its header. Mostly only one half is used
// (socket_connection.h); the other then has a FIN message and nothing else.
class SocketStream : public EventHandler {
 public:
  class Receiver {
   public:
    virtual ~Receiver() = default;

    // Checks the header and returns where its data goes; *to stays null while the message has no buffer yet.
    virtual Status place(const SocketFrame& frame, const SocketStream& stream, uint8_t** to) = 0;
    // All data of the frame is in place.
    virtual void placed(const SocketFrame& frame) = 0;
  };

  // A stream that has just delivered is polled for more up to `pollsAfterData` times before it needs an event.
  SocketStream(UniqueFd socket, int peer, EventSet& events, uint32_t index, int pollsAfterData);
  ~SocketStream() override;
  SocketStream(const SocketStream&) = delete;
  SocketStream& operator=(const SocketStream&) = delete;

  // Puts the socket into the event set.
  Status open();
  void onEvents(uint32_t epollEvents) override;

  uint32_t index() const { return index_; }
  std::string describe() const;  // "rank 3 at 10.0.0.4:4711 from 10.0.0.3:4242"

  // Best effort: reports to the peer that the coming end of the stream is intended. A stream with unsent frames is cut off
  // instead: the peer must not take what it has for all.
  void sendFin();
  bool sentFin() const { return sentFin_; }

  void push(const SocketFrame& frame, const uint8_t* data) { queue_.push_back({frame, data}); }

  // Passes as much as possible to the kernel. done(sequence) is called for every frame that has left its buffer.
  template <typename Done>
  Status send(int* work, Done done) {
    if (finished_ && !queue_.empty()) return unsent();
    while (writable_ && !queue_.empty()) {
      const size_t before = queue_.size();
      size_t moved = 0;
      if (Status sent = sendSome(&moved); !sent) return sent;
      if (moved == 0) break;
      ++*work;
      for (size_t left = finishedFrames(moved); left > 0; --left) {
        const uint64_t sequence = queue_.front().frame.sequence;
        queue_.pop_front();
        done(sequence);
      }
      if (queue_.size() == before) break;  // the kernel is full
    }
    return Status::ok();
  }

  // Reads until the kernel has no more, the receiver has no buffer, or about `budget` bytes have moved.
  Status receive(Receiver& receiver, size_t budget, int* work);

  // To be called every now and then: fails where the peer's host has left something unanswered for so long. A peer that
  // answers and does not read is only late.
  Status checkAnswers(int64_t nowNanos, int64_t limitNanos);

  // Would send() pass data to the kernel, as far as is known? Would receive() request some?
  bool maySend() const { return writable_ && !queue_.empty(); }
  bool mayReceive() const { return readable_ || eager(); }

  // It will be polled for more even if no event comes.
  bool eager() const { return pollsLeft_ > 0; }

 private:
  enum class Step : uint8_t { Again, Stop };

  struct Queued {
    SocketFrame frame;
    const uint8_t* data;
    size_t bytes() const { return sizeof frame + frame.length; }
  };

  Status sendSome(size_t* moved);
  size_t finishedFrames(size_t moved);
  Status readSome(Step* step, size_t* moved);
  Status takeHeader(Receiver& receiver, Step* step);
  void takeBuffered(size_t* moved);
  Status failed(const char* call, int error) const;
  Status closedWithoutFin() const;
  Status unsent() const;

  UniqueFd socket_;
  const int peer_;
  EventSet& events_;
  const uint32_t index_;
  const int pollsAfterData_;
  const SocketAddress local_;
  const SocketAddress remote_;
  bool readable_ = true;
  bool writable_ = true;
  bool closing_ = false;   // the kernel has reported the end of the stream, once
  bool ended_ = false;     // the other end has sent its FIN message
  bool finished_ = false;  // and has closed its half
  bool sentFin_ = false;   // this end did
  PeerSilence silence_;

  std::deque<Queued> queue_;
  size_t frontSent_ = 0;  // bytes of the first frame that the kernel has

  int pollsLeft_ = 0;
  std::array<uint8_t, 16384> buffer_;  // headers, and small messages, in one call each
  size_t begin_ = 0;
  size_t end_ = 0;
  SocketFrame frame_;
  bool inFrame_ = false;   // frame_ is valid
  uint8_t* to_ = nullptr;  // where the rest of its data goes; null: no buffer yet
  size_t missing_ = 0;
};

}  // namespace jccl
