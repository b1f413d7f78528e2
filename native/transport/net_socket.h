// The network over TCP sockets.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/io_thread_pool.h"
#include "transport/event_set.h"
#include "transport/net.h"
#include "transport/net_config.h"
#include "transport/socket_address.h"
#include "transport/socket_dialer.h"
#include "transport/socket_eager_path.h"

namespace jccl {

class SocketNet final : public Net {
 public:
  // `dataEvents` watches sockets that carry data, `controlEvents` those that listen, dial or introduce themselves. All
  // three arguments must outlive the network and everything it makes.
  SocketNet(const NetConfig& config, EventSet& controlEvents, EventSet& dataEvents);

  // Starts the helper threads, if the config asks for any. Must be called once, before everything else.
  Status start();

  const char* name() const override { return "socket"; }
  const std::vector<NetDevice>& devices() const override { return devices_; }

  // Later connections also use the addresses as their source addresses.
  Status listen(const std::vector<std::string>& addresses, std::unique_ptr<NetListener>* listener) override;
  Status connect(const NetRoute& route, std::span<const uint8_t> listenerInfo,
                 std::unique_ptr<NetSendConnection>* connection) override;
  void setPaths(const NetPaths& paths) override;
  Status reachable(std::span<const uint8_t> listenerInfo) const override;
  Status registerMemory(void* address, size_t bytes, NetAccess access, std::unique_ptr<NetMemory>* memory) override;

 private:
  const NetConfig& config_;
  EventSet& controlEvents_;
  EventSet& dataEvents_;
  std::shared_ptr<IoThreadPool> pool_;                  // the helper threads; null: there are none
  const std::shared_ptr<SocketEagerPaths> eagerPaths_;  // shared with the listener, which may live longer
  std::vector<NetDevice> devices_;
  std::vector<SocketAddress> local_;
  NetPaths paths_;
};

}  // namespace jccl
