// One proven TCP connection of a data connection: frames out at one end, frames in at the other.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "base/fd.h"
#include "base/status.h"
#include "transport/event_set.h"
#include "transport/socket_address.h"
#include "transport/socket_frame.h"

namespace jccl {

// What both directions share: the socket, its place in the event set, whether it may be tried, and how it ended.
class SocketStream : public EventHandler {
 public:
  SocketStream(UniqueFd socket, int peer, EventSet& events);
  ~SocketStream() override;
  SocketStream(const SocketStream&) = delete;
  SocketStream& operator=(const SocketStream&) = delete;

  // Puts the socket into the event set.
  Status open() { return events_.add(socket_.get(), this); }
  void onEvents(uint32_t epollEvents) override;

  // The other end said goodbye; nothing more comes.
  bool ended() const { return ended_; }
  std::string describe() const;  // "rank 3 at 10.0.0.4:4711 from 10.0.0.3:4242"

  // Best effort: tells the other end that the coming end of the stream is meant.
  void sayGoodbye();

 protected:
  Status failed(const char* call, int error) const;
  Status closedUnannounced() const;

  UniqueFd socket_;
  const int peer_;
  EventSet& events_;
  const SocketAddress local_;
  const SocketAddress remote_;
  bool readable_ = true;
  bool writable_ = true;
  bool closing_ = false;  // the end of the stream was told; it is not told again
  bool ended_ = false;
  bool saidGoodbye_ = false;
};

// The sending end: a queue of frames whose data stays where it is.
class SocketSendStream : public SocketStream {
 public:
  using SocketStream::SocketStream;

  void push(const SocketFrame& frame, const uint8_t* data) { queue_.push_back({frame, data}); }

  // Hands as much as possible to the kernel. done(sequence) is called for every frame that has left its buffer.
  template <typename Done>
  Status progress(int* work, Done done) {
    if (readable_) {
      if (Status heard = listen(); !heard) return heard;
    }
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

  bool idle() const { return queue_.empty(); }

 private:
  struct Queued {
    SocketFrame frame;
    const uint8_t* data;
    size_t bytes() const { return sizeof frame + frame.length; }
  };

  Status listen();  // the other end only ever says goodbye
  Status sendSome(size_t* moved);
  size_t finishedFrames(size_t moved);

  std::deque<Queued> queue_;
  size_t frontSent_ = 0;  // bytes of the first frame that the kernel has
  SocketFrame heard_;
  size_t heardBytes_ = 0;
};

// The receiving end. Where a frame's data goes is asked of the owner, who also checks the header.
class SocketRecvStream : public SocketStream {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;

    // Checks the header and says where its data goes; *to stays null while the message has no buffer yet.
    virtual Status place(const SocketFrame& frame, uint32_t stream, uint8_t** to) = 0;
    // All data of the frame is in place.
    virtual void placed(const SocketFrame& frame) = 0;
  };

  // A stream that has just delivered is asked for more up to `eagerLooks` times before it needs an event.
  SocketRecvStream(UniqueFd socket, int peer, EventSet& events, uint32_t index, int eagerLooks)
      : SocketStream(std::move(socket), peer, events), index_(index), eagerLooks_(eagerLooks) {}

  // Reads until the kernel has no more, the owner has no buffer, or about `budget` bytes have moved.
  Status progress(Owner& owner, size_t budget, int* work);

  // It will be asked for more even if no event comes.
  bool eager() const { return eagerLooksLeft_ > 0; }

 private:
  enum class Step : uint8_t { Again, Stop };

  Status receive(Step* step, size_t* moved);
  Status takeHeader(Owner& owner, Step* step);
  void takeBuffered(size_t* moved);

  const uint32_t index_;
  const int eagerLooks_;
  int eagerLooksLeft_ = 0;
  std::array<uint8_t, 16384> buffer_;  // headers, and small messages, in one call each
  size_t begin_ = 0;
  size_t end_ = 0;
  SocketFrame frame_;
  bool inFrame_ = false;   // frame_ is valid
  uint8_t* to_ = nullptr;  // where the rest of its data goes; null: no buffer yet
  size_t missing_ = 0;
};

}  // namespace jccl
