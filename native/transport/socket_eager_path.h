// The eager path: one socket for the short messages of both directions between two ranks.
//
// A connection carries messages in one direction, over sockets of its own. To a message that nothing follows and
// nothing answers on the same socket, TCP replies with a segment that only acknowledges it: two ranks that exchange 8
// bytes would send four segments where two do. So the short messages of both connections of a pair take the first
// stream of the one that goes from the lower rank to the higher, as soon as both are there. The sequence identifies the
// message, and the end at which it arrives identifies the connection. Long messages fill segments anyway, and two
// sockets are faster.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "transport/socket_stream.h"

namespace jccl {

// One rank's end. The connection whose stream it is, the owner, shares it with the other one.
class SocketEagerPath {
 public:
  // Longer messages keep to their own streams.
  static constexpr uint32_t kMaxBytes = 4096;

  static bool isOwnedBy(int from, int to) { return from < to; }

  void offer(SocketStream* stream) { stream_ = stream; }
  void withdraw() { stream_ = nullptr; }

  // Null before the owner is connected, and after its end.
  SocketStream* stream() const { return stream_; }
  bool takes(uint32_t bytes) const { return bytes <= kMaxBytes && stream_ != nullptr && !stream_->sentFin(); }

  // The connection that shares the stream reads from now on; until then the owner reads whether a FIN message has come.
  void startReading() { isRead_ = true; }
  bool isRead() const { return isRead_; }

 private:
  SocketStream* stream_ = nullptr;
  bool isRead_ = false;
};

// By peer and channel.
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
