// The network over InfiniBand verbs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/event_set.h"
#include "transport/net.h"
#include "transport/net_config.h"
#include "transport/socket_address.h"
#include "verbs/adapter.h"

namespace jccl {

class IbNet final : public Net {
 public:
  // Opens libibverbs and the adapters that the settings allow. An error states in one sentence what is missing; other
  // networks work without verbs. `controlEvents` watches handshakes and the events of adapters; `dataEvents` watches
  // completions. All three arguments must outlive the network and everything it makes.
  static Status open(const NetConfig& config, EventSet& controlEvents, EventSet& dataEvents, std::unique_ptr<Net>* net);
  ~IbNet() override;

  const char* name() const override { return "ib"; }
  const std::vector<NetDevice>& devices() const override { return devices_; }
  bool needsRegisteredMemory() const override { return true; }

  // The addresses are for the TCP connections that accompany the queue pairs.
  Status listen(const std::vector<std::string>& addresses, std::unique_ptr<NetListener>* listener) override;
  Status connect(const NetRoute& route, std::span<const uint8_t> listenerInfo,
                 std::unique_ptr<NetSendConnection>* connection) override;
  void setPaths(const NetPaths& paths) override;
  Status reachable(std::span<const uint8_t> listenerInfo) const override;
  Status registerMemory(void* address, size_t bytes, NetAccess access, std::unique_ptr<NetMemory>* memory) override;
  Status registerDeviceMemory(const NetDeviceMemory& what, const std::set<int>& adapters,
                              std::unique_ptr<NetMemory>* memory) override;

 private:
  class Watcher;

  IbNet(const NetConfig& config, EventSet& controlEvents, EventSet& dataEvents);
  void assignWatcher(verbs::Adapter& adapter);
  verbs::Adapter& adapterOf(const NetPaths::Ends& ends, int channel, const std::string& whose) const;
  uint32_t linkLayers() const;

  const NetConfig& config_;
  EventSet& controlEvents_;
  EventSet& dataEvents_;
  std::vector<std::unique_ptr<verbs::Adapter>> adapters_;
  std::vector<std::unique_ptr<Watcher>> watchers_;
  std::vector<NetDevice> devices_;
  std::vector<int> numbers_;  // the adapters' numbers in the plan
  NetPaths paths_;
  std::vector<SocketAddress> local_;
};

}  // namespace jccl
