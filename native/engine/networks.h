// The networks that a communicator offers to its peers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "primitives/wait_place.h"
#include "transport/net_transport.h"

namespace jccl {

// Sockets are required. The other networks are optional; if one is missing, probe() returns the reason.
class Networks {
 public:
  struct Offer {
    NetMaker sockets;  // makes the network that is used instead of sockets; empty: the built-in sockets
    bool ib = false;
    bool plugin = false;  // true: offers the plug-in that NetConfig names
  };

  // Infos contains the information that each network has published, in the order of kKinds.
  static constexpr std::array kKinds = {TransportKind::Socket, TransportKind::Ib, TransportKind::Plugin};
  using Infos = std::array<std::span<const uint8_t>, kKinds.size()>;

  // Opens the offered networks and listens on the addresses.
  Status open(const NetConfig& config, const Offer& offer, const std::vector<std::string>& addresses);
  bool isOpen() const { return find(TransportKind::Socket) != nullptr; }

  // Returns the information that peers need to connect; empty if the network is not open.
  std::span<const uint8_t> info(TransportKind kind) const { return networks_[placeOf(kind)].info; }
  static std::span<const uint8_t> infoOf(const Infos& infos, TransportKind kind) { return infos[placeOf(kind)]; }

  // Returns null if the network is not open.
  NetTransport* find(TransportKind kind) const;
  // Returns the kind of this network; None if it is not one of the open networks.
  TransportKind kindOf(const NetTransport* transport) const;
  // Returns Ok if this network can reach the peer, otherwise the reason.
  Status probe(TransportKind kind, const Infos& peer) const;
  // Closes all networks except `used`.
  void keepOnly(const NetTransport* used);
  void close() { keepOnly(nullptr); }

 private:
  struct Network {
    std::unique_ptr<NetTransport> transport;
    std::vector<uint8_t> info;
    std::string obstacle = "no network address to listen on";  // why `transport` is null
  };

  static constexpr size_t placeOf(TransportKind kind) {
    size_t place = 0;
    while (place < kKinds.size() && kKinds[place] != kind) ++place;
    return place;
  }
  Status open(TransportKind kind, const NetConfig& config, const NetMaker& maker,
              const std::vector<std::string>& addresses);
  Status openOptional(TransportKind kind, bool offered, const NetConfig& config, const NetMaker& maker,
                      const std::vector<std::string>& addresses);

  std::array<Network, kKinds.size()> networks_;
};

}  // namespace jccl
