// The network over which a communicator reaches peers of other hosts.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "transport/net_transport.h"

namespace jccl {

// Any thread may call get() and error().
class NetworkInUse {
 public:
  // `memory`: returns the memory of all connections, which a call of the network that never returns may use for ever.
  NetworkInUse(const Engine& engine, std::function<std::shared_ptr<const void>()> memory)
      : engine_(engine), memory_(std::move(memory)) {}
  // Waits until the remaining data is sent, except after a failure, and ends the network's threads.
  ~NetworkInUse() {
    NetTransport* network = get();
    if (network == nullptr) return;
    network->close(engine_.failure() == Code::Ok ? kFlushNanos : 0);
    if (network->isStuck()) network->keep(memory_());
  }
  NetworkInUse(const NetworkInUse&) = delete;
  NetworkInUse& operator=(const NetworkInUse&) = delete;

  // The network must outlive this object.
  void set(NetTransport* network) { network_.store(network, std::memory_order_release); }
  // Returns null if no peer is reached over a network.
  NetTransport* get() const { return network_.load(std::memory_order_acquire); }
  bool failed() const { return get() != nullptr && get()->failed(); }

  // Returns why the network has failed, or an empty string.
  std::string error() const {
    if (!failed()) return {};
    int peer = -1;
    const Status error = get()->error(&peer);
    return (peer < 0 ? std::string() : "peer=" + std::to_string(peer) + " ") + error.message();
  }

 private:
  // Longest time for which closing waits until the network has sent the remaining data.
  static constexpr int64_t kFlushNanos = 5'000'000'000;

  const Engine& engine_;
  const std::function<std::shared_ptr<const void>()> memory_;
  std::atomic<NetTransport*> network_{nullptr};
};

}  // namespace jccl
