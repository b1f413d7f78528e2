// The eager path: one socket for the short messages of both directions between two ranks.
//
// A connection carries messages in one direction, over sockets of its own. TCP acknowledges a message with a separate
// segment, unless another message follows or answers it soon on the same socket: two ranks that exchange 8 bytes would
// send four segments instead of two. The owner of an eager path is the connection from the lower to the higher rank. As
// soon as both connections of the pair exist, the opposite one sends its short messages on the owner's first stream.
// The sequence identifies a message, and the end at which it arrives identifies the connection. Long messages fill
// segments anyway, and two sockets are faster for them.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "transport/socket_stream.h"

namespace jccl {

// One rank's end of an eager path. The owner of the stream shares it with the opposite connection.
class SocketEagerPath {
 public:
  // Longer messages use the streams of their own connection.
  static constexpr uint32_t kMaxBytes = 4096;

  static bool isOwnedBy(int from, int to) { return from < to; }

  void offer(SocketStream* stream) { stream_ = stream; }
  void withdraw() { stream_ = nullptr; }

  // Returns null until the owner is connected, and after the owner has ended.
  SocketStream* stream() const { return stream_; }
  bool takes(uint32_t bytes) const { return bytes <= kMaxBytes && stream_ != nullptr && !stream_->sentFin(); }

  // After this call the opposite connection reads the stream. Until then the owner looks for a FIN message on it.
  void startReading() { isRead_ = true; }
  bool isRead() const { return isRead_; }

 private:
  SocketStream* stream_ = nullptr;
  bool isRead_ = false;
};

// The eager paths of one rank, by peer and channel.
class SocketEagerPaths {
 public:
  std::shared_ptr<SocketEagerPath> of(int peer, int channel) {
    std::shared_ptr<SocketEagerPath>& path = paths_[{peer, channel}];
    if (path == nullptr) path = std::make_shared<SocketEagerPath>();
    return path;
  }

 private:
  std::map<std::pair<int, int>, std::shared_ptr<SocketEagerPath>> paths_;
};

}  // namespace jccl
