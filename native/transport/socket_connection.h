// Connections that carry messages over several TCP streams.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/io_thread_pool.h"
#include "transport/message_window.h"
#include "transport/net.h"
#include "transport/net_config.h"
#include "transport/socket_dialer.h"
#include "transport/socket_eager_path.h"
#include "transport/socket_stream.h"

namespace jccl {

// Moves the streams of one connection. Streams are independent, except that they report to the connection one at a
// time. With a pool, any free thread moves a stream.
class SocketStreams {
 public:
  // `pool` may be null.
  SocketStreams(const NetConfig& config, std::shared_ptr<IoThreadPool> pool)
      : peerTimeoutNanos_(std::max(config.peerTimeoutNanos, PeerSilence::kShortestNanos)), pool_(std::move(pool)) {}

  // Calls move(stream, work) for every stream, on several threads if at least two streams are `busy`. Adds up the work
  // and returns the first failure.
  template <typename Busy, typename Move>
  Status each(const std::vector<std::unique_ptr<SocketStream>>& streams, int* work, Busy busy, Move move);

  // Fails if the host at the other end of a stream does not answer. Most calls only check whether the next inquiry is
  // due.
  Status checkAnswers(const std::vector<std::unique_ptr<SocketStream>>& streams, int64_t nowNanos);
  int64_t nextCheckNanos() const { return nextCheckNanos_; }

  // Lock to hold while a stream reports to its connection; empty without a pool.
  std::unique_lock<std::mutex> reporting() {
    return pool_ == nullptr ? std::unique_lock<std::mutex>() : std::unique_lock(mutex_);
  }

 private:
  const int64_t peerTimeoutNanos_;
  int64_t nextCheckNanos_ = 0;
  const std::shared_ptr<IoThreadPool> pool_;
  std::mutex mutex_;
};

// Dials its streams, then cuts messages into frames (socket_frame.h). A send is done when the kernel has all its
// frames. Short messages may take the eager path.
class SocketSendConnection final : public NetSendConnection {
 public:
  // Makes one dialer per stream.
  SocketSendConnection(const NetConfig& config, const NetRoute& route, EventSet& dialEvents, EventSet& dataEvents,
                       std::shared_ptr<IoThreadPool> pool, std::vector<std::vector<SocketDialer::Pair>> pairsPerStream,
                       std::shared_ptr<SocketEagerPath> eagerPath);
  ~SocketSendConnection() override;

  bool connected() const override { return !streams_.empty(); }
  Status isend(uint64_t sequence, const NetMessage& message, const NetBuffer& data) override;
  Status test(uint64_t sequence, bool* done) override;
  Status progress(int64_t nowNanos, int* work) override;
  int64_t nextDeadlineNanos() const override;
  void close() override;
  std::string describe() const override;

 private:
  struct Slot {
    NetMessage message;
    const uint8_t* data = nullptr;
    uint32_t framesLeft = 0;
  };

  Status dial(int64_t nowNanos, int* work);
  Status listen(int* work);
  void push(uint64_t sequence);

  const NetConfig& config_;
  const int peer_;
  EventSet& dataEvents_;
  std::vector<std::unique_ptr<SocketDialer>> dialers_;  // empty once connected
  std::vector<std::unique_ptr<SocketStream>> streams_;
  SocketStreams together_;
  const std::shared_ptr<SocketEagerPath> eagerPath_;
  const bool ownsEagerPath_;
  MessageWindow<Slot> window_;
};

// Receives frames into the buffers posted for their messages.
class SocketRecvConnection final : public NetRecvConnection, private SocketStream::Receiver {
 public:
  SocketRecvConnection(const NetConfig& config, int peer, EventSet& dataEvents, std::shared_ptr<IoThreadPool> pool,
                       std::vector<DataSocket> sockets, std::shared_ptr<SocketEagerPath> eagerPath);
  ~SocketRecvConnection() override;

  Status open();
  Status irecv(uint64_t sequence, std::span<const NetBuffer, kNetTags> byTag) override;
  void redirect(uint64_t sequence, const NetMessage& expected, const NetBuffer& buffer) override;
  Status test(uint64_t sequence, bool* done, NetArrival* arrival) override;
  bool expecting() const override;
  Status progress(int64_t nowNanos, int* work) override;
  int64_t nextDeadlineNanos() const override { return together_.nextCheckNanos(); }
  void close() override;
  std::string describe() const override;

 private:
  struct Slot {
    std::array<NetBuffer, kNetTags> byTag;
    NetMessage expected;  // the message that may go to `postedBuffer`, if that is set
    NetBuffer postedBuffer;
    NetMessage message;       // valid, like `data`, once its first stripe has begun to arrive
    uint8_t* data = nullptr;  // destination of the message
    uint64_t begun = 0;       // bit j: stripe j has begun to arrive
    uint32_t placed = 0;      // number of stripes that have arrived completely
  };

  Status place(const SocketFrame& frame, const SocketStream& stream, uint8_t** to) override;
  void placed(const SocketFrame& frame) override;
  Status badFrame(const SocketFrame& frame, const char* why) const;

  const NetConfig& config_;
  std::vector<std::unique_ptr<SocketStream>> streams_;
  SocketStreams together_;
  const std::shared_ptr<SocketEagerPath> eagerPath_;
  const bool ownsEagerPath_;
  MessageWindow<Slot> window_;
};

}  // namespace jccl
