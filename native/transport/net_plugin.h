// The network over a plug-in with NCCL's network interface.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/event_set.h"
#include "transport/net.h"
#include "transport/net_config.h"
#include "transport/plugin_connection.h"
#include "transport/socket_address.h"

namespace jccl {

// Each connection begins with a TCP connection, on which both ends prove the job's secret and the receiver sends the
// plug-in's handles. The TCP connection stays open, because it reports the death of the other process, which a plug-in
// might not notice.
class PluginNet final : public Net {
 public:
  // Opens config.plugin. An error states in one sentence what is missing; other networks work without the plug-in.
  // `controlEvents` watches the TCP connections, and must outlive the network and everything it makes.
  static Status open(const NetConfig& config, EventSet& controlEvents, EventSet& dataEvents, std::unique_ptr<Net>* net);

  const char* name() const override { return "plugin"; }
  const std::vector<NetDevice>& devices() const override { return devices_; }
  bool needsRegisteredMemory() const override { return true; }
  bool hasEvents() const override { return false; }
  CallWatch* watch() override { return &plugin_->watch(); }
  void close() override;

  // The addresses are for the TCP connections.
  Status listen(const std::vector<std::string>& addresses, std::unique_ptr<NetListener>* listener) override;
  Status connect(const NetRoute& route, std::span<const uint8_t> listenerInfo,
                 std::unique_ptr<NetSendConnection>* connection) override;
  void setPaths(const NetPaths& paths) override;
  Status reachable(std::span<const uint8_t> listenerInfo) const override;
  Status registerMemory(void* address, size_t bytes, NetAccess access, std::unique_ptr<NetMemory>* memory) override;
  // Only checks that the devices report access to GPU memory. The plug-in's communicators of each connection register
  // the memory.
  Status registerDeviceMemory(const NetDeviceMemory& what, const std::set<int>& adapters,
                              std::unique_ptr<NetMemory>* memory) override;

 private:
  PluginNet(const NetConfig& config, EventSet& controlEvents) : config_(config), controlEvents_(controlEvents) {}
  void addDevice(plugin::DeviceProperties properties);
  const PluginDevice& deviceOf(const NetPaths::Ends& ends, int channel, const std::string& whose) const;

  const NetConfig& config_;
  EventSet& controlEvents_;
  std::shared_ptr<plugin::NetPlugin> plugin_;
  std::vector<PluginDevice> pluginDevices_;
  std::vector<NetDevice> devices_;
  std::vector<int> numbers_;  // the devices' numbers in the plan
  NetPaths paths_;
  std::vector<SocketAddress> local_;
};

}  // namespace jccl
