// One authenticated TCP connection of a data connection, and its frames.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "transport/data_socket.h"
#include "transport/event_set.h"
#include "transport/net_config.h"
#include "transport/peer_silence.h"
#include "transport/sealed_stream.h"
#include "transport/socket_address.h"
#include "transport/socket_frame.h"

namespace jccl {

// Sends and receives frames over one socket. The data of a queued frame stays where it is until the kernel has it. A
// Receiver checks the header of an arriving frame and returns the destination of its data. On most streams only one
// direction carries data (socket_connection.h), and the other carries only a FIN message.
class SocketStream : public EventHandler {
 public:
  class Receiver {
   public:
    virtual ~Receiver() = default;

    // Checks the header and sets *to to the destination of the data; null while the message has no buffer.
    virtual Status place(const SocketFrame& frame, const SocketStream& stream, uint8_t** to) = 0;
    // Called when all data of the frame is in place.
    virtual void placed(const SocketFrame& frame) = 0;
  };

  // The stream obeys NetConfig::pollsAfterData, sharesCores and looksAtMemory.
  SocketStream(DataSocket socket, int peer, EventSet& events, uint32_t index, const NetConfig& config);
  ~SocketStream() override;
  SocketStream(const SocketStream&) = delete;
  SocketStream& operator=(const SocketStream&) = delete;

  // Adds the socket to the event set.
  Status open();
  void onEvents(uint32_t epollEvents) override;

  uint32_t index() const { return index_; }
  std::string describe() const;  // for example "rank 3 at 10.0.0.4:4711 from 10.0.0.3:4242"

  // Tells the peer that the coming end of the stream is intended, if the kernel accepts the message. A stream with
  // unsent frames sends no FIN, because a FIN would tell the peer that it has received all frames.
  void sendFin();
  bool sentFin() const { return sentFin_; }

  void push(const SocketFrame& frame, const uint8_t* data) { queue_.push_back({frame, data}); }

  // Passes as much as possible to the kernel. Calls done(sequence) for every frame whose data has left its buffer.
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
      const bool sentAll = sealing_ != nullptr && !sealing_->hasUnsent();  // of a part of a long frame
      if (queue_.size() == before && !sentAll) break;                      // the kernel accepts no more
    }
    return Status::ok();
  }

  // Reads until the kernel has no more, the receiver has no buffer, or about `budget` bytes have moved.
  Status receive(Receiver& receiver, size_t budget, int* work);

  // Fails if the peer's host has left something unanswered for `limitNanos`. Must be called periodically. A peer that
  // answers and does not read is only late.
  Status checkAnswers(int64_t nowNanos, int64_t limitNanos);

  // maySend() returns true if send() would probably pass data to the kernel, mayReceive() if receive() would ask it for
  // data.
  bool maySend() const { return writable_ && !queue_.empty(); }
  bool mayReceive() const { return readable_ || eager() || (sealing_ != nullptr && sealing_->hasRecord()); }

  // Returns true if the stream is to be polled for more data even without an event.
  bool eager() const { return pollsLeft_ > 0; }

 private:
  enum class Step : uint8_t { Again, Stop };

  struct Queued {
    SocketFrame frame;
    const uint8_t* data;
    size_t bytes() const { return sizeof frame + frame.length; }
  };

  Status sendSome(size_t* moved);
  Status sealSome();
  Status sentSome(const char* call, ssize_t sent, size_t* moved);
  size_t finishedFrames(size_t moved);
  Status readSome(Step* step, size_t* moved);
  Status openRecord(size_t* moved);
  Status received(const char* call, ssize_t got, size_t asked, Step* step);
  Status takeHeader(Receiver& receiver, Step* step);
  uint8_t* buffer() { return sealing_ == nullptr ? buffer_.data() : sealing_->plain(); }
  void moveToFront();  // moves the bytes in buffer() to its beginning
  void takeBuffered(size_t* moved);
  Status failed(const char* call, int error) const;
  Status closedWithoutFin() const;
  Status unsent() const;

  UniqueFd socket_;
  const std::unique_ptr<SealedStream> sealing_;  // null: the bytes are not encrypted
  const int peer_;
  EventSet& events_;
  const uint32_t index_;
  const int pollsAfterData_;
  const std::shared_ptr<const std::atomic<bool>> looksAtMemory_;
  const SocketAddress local_;
  const SocketAddress remote_;
  bool readable_ = true;
  bool writable_ = true;
  bool closing_ = false;   // the kernel has reported the end of the stream, which it reports only once
  bool ended_ = false;     // the other end has sent its FIN message
  bool finished_ = false;  // the other end has sent its FIN message and closed its half of the connection
  bool sentFin_ = false;   // this end has sent its FIN message
  PeerSilence silence_;

  std::deque<Queued> queue_;
  // number of bytes of the first queued frame that the kernel has accepted; if the stream is encrypted, number of
  // bytes of the first frame after sealedFrames_ that are sealed
  size_t frontSent_ = 0;
  size_t sealedFrames_ = 0;  // number of queued frames that are sealed completely and not all sent

  int pollsLeft_ = 0;
  // headers and small messages, which one call reads together; empty if the stream is encrypted, see buffer()
  std::vector<uint8_t> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  SocketFrame frame_;
  bool inFrame_ = false;   // frame_ is valid
  uint8_t* to_ = nullptr;  // destination of the rest of the frame's data; null: there is no buffer yet
  size_t missing_ = 0;
};

}  // namespace jccl
