#include "engine/networks.h"

#include "base/log.h"
#include "transport/net_ib.h"
#include "transport/net_plugin.h"

namespace jccl {

Status Networks::open(const NetConfig& config, const Offer& offer, const std::vector<std::string>& addresses) {
  if (Status opened = open(TransportKind::Socket, config, offer.sockets, addresses); !opened) return opened;
  if (Status tried = openOptional(TransportKind::Ib, offer.ib, config, IbNet::open, addresses); !tried) return tried;
  return openOptional(TransportKind::Plugin, offer.plugin, config, PluginNet::open, addresses);
}

Status Networks::open(TransportKind kind, const NetConfig& config, const NetMaker& maker,
                      const std::vector<std::string>& addresses) {
  Network& network = networks_[placeOf(kind)];
  std::unique_ptr<NetTransport> transport;
  if (Status made = NetTransport::create(config, &transport, maker); !made) return made;
  if (Status listening = transport->listen(addresses, &network.info); !listening) {
    network.info.clear();
    return listening;
  }
  network.transport = std::move(transport);
  return Status::ok();
}

Status Networks::openOptional(TransportKind kind, bool offered, const NetConfig& config, const NetMaker& maker,
                              const std::vector<std::string>& addresses) {
  std::string& obstacle = networks_[placeOf(kind)].obstacle;
  if (!offered) {
    obstacle = "settings of this rank turn it off, or the host has none";
    return Status::ok();
  }
  Status opened = open(kind, config, maker, addresses);
  if (opened) return opened;
  obstacle = opened.message();
  if (opened.code() == Code::Invalid) return opened;  // a setting is wrong; other errors only exclude this network
  logMessage(LogLevel::Info, "net", std::string(nameOf(kind)) + ": not used: " + obstacle);
  return Status::ok();
}

NetTransport* Networks::find(TransportKind kind) const {
  return isNetwork(kind) ? networks_[placeOf(kind)].transport.get() : nullptr;
}

TransportKind Networks::kindOf(const NetTransport* transport) const {
  for (const TransportKind kind : kKinds) {
    if (transport != nullptr && find(kind) == transport) return kind;
  }
  return TransportKind::None;
}

Status Networks::probe(TransportKind kind, const Infos& peer) const {
  const std::string name = nameOf(kind);
  const Network& network = networks_[placeOf(kind)];
  if (network.transport == nullptr) return Status::transport(name + ": " + network.obstacle);
  if (infoOf(peer, kind).empty()) return Status::transport(name + ": the peer does not offer it; its log says why");
  return network.transport->probe(infoOf(peer, kind));
}

void Networks::keepOnly(const NetTransport* used) {
  for (Network& network : networks_) {
    if (network.transport.get() != used) network.transport.reset();
  }
}

}  // namespace jccl
