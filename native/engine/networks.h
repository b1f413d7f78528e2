// The networks by which a communicator can be reached.
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

// Sockets are required; what else there is may be missing, and the reason is what probe() returns.
class Networks {
 public:
  struct Offer {
    NetMaker sockets;  // empty: the built-in ones
    bool ib = false;
    bool plugin = false;  // the one that NetConfig names
  };

  // What is published of each, in the order of kKinds.
  static constexpr std::array kKinds = {TransportKind::Socket, TransportKind::Ib, TransportKind::Plugin};
  using Infos = std::array<std::span<const uint8_t>, kKinds.size()>;

  // Opens what is offered, and listens on the addresses.
  Status open(const NetConfig& config, const Offer& offer, const std::vector<std::string>& addresses);
  bool isOpen() const { return find(TransportKind::Socket) != nullptr; }

  // What peers need to connect; empty for a network that is not open.
  std::span<const uint8_t> info(TransportKind kind) const { return networks_[placeOf(kind)].info; }
  static std::span<const uint8_t> infoOf(const Infos& infos, TransportKind kind) { return infos[placeOf(kind)]; }

  // Null: it is not open.
  NetTransport* find(TransportKind kind) const;
  TransportKind kindOf(const NetTransport* transport) const;
  // Ok, or why a peer cannot be reached by this network.
  Status probe(TransportKind kind, const Infos& peer) const;
  // Closes those that are not in use.
  void keepOnly(const NetTransport* used);
  void close() { keepOnly(nullptr); }

 private:
  struct Network {
    std::unique_ptr<NetTransport> transport;
    std::vector<uint8_t> info;
    std::string obstacle = "no network address to listen on";  // why there is no transport
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
