// Checks the peers, rings, trees, hosts and CollNet chains that a communicator gets. For the host's engine and the
// GPU's runtime.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/status.h"

namespace jccl {

inline bool isPeer(int other, int rank, int size) { return other >= 0 && other < size && other != rank; }

inline Status checkPeer(int peer, int rank, int size) {
  if (isPeer(peer, rank, size)) return Status::ok();
  return Status::invalid("peer=" + std::to_string(peer) + ", expected another rank below size=" + std::to_string(size));
}

inline Status checkRing(int channel, const std::vector<int>& order, int size, int channels) {
  std::vector<bool> seen(size, false);
  bool whole = static_cast<int>(order.size()) == size && channel >= 0 && channel < channels;
  for (const int rank : order) {
    whole = whole && rank >= 0 && rank < size && !seen[rank];
    if (whole) seen[rank] = true;
  }
  if (whole) return Status::ok();
  return Status::invalid("ring of channel=" + std::to_string(channel) + " has length=" + std::to_string(order.size()) +
                         ", expected every rank below size=" + std::to_string(size) + " once, and channel < " +
                         std::to_string(channels));
}

// Checks that there is a host for each rank, and that hosts are numbered in the order of their first ranks.
inline Status checkHosts(const std::vector<int>& hostOf, int size) {
  int hosts = 0;
  bool whole = static_cast<int>(hostOf.size()) == size;
  for (const int host : hostOf) {
    whole = whole && host >= 0 && host <= hosts;
    hosts = std::max(hosts, host + 1);
  }
  if (whole) return Status::ok();
  return Status::invalid("hosts of " + std::to_string(hostOf.size()) + " ranks, expected one for each of size=" +
                         std::to_string(size) + ", numbered from 0 in the order of their first ranks");
}

inline Status checkTree(int channel, int up, const std::vector<int>& down, int rank, int size, int channels,
                        int maxChildren) {
  if (channel >= 0 && channel < channels && (up == -1 || isPeer(up, rank, size)) &&
      static_cast<int>(down.size()) <= maxChildren &&
      std::all_of(down.begin(), down.end(), [&](int child) { return isPeer(child, rank, size); })) {
    return Status::ok();
  }
  return Status::invalid("tree of channel=" + std::to_string(channel) + " has up=" + std::to_string(up) +
                         " children=" + std::to_string(down.size()) + ", expected up=-1 or another rank, at most " +
                         std::to_string(maxChildren) + " children, channel < " + std::to_string(channels));
}

// A rank's place in the CollNet chain of its host, which leads up to the network; -1 means no rank. The leader has no
// rank above it, and compares operations with the leaders of the hosts before and after its own.
struct CollNetChain {
  int up = -1;
  int down = -1;
  int leaderAfter = -1;
  int leaderBefore = -1;
  int ranks = 1;  // for all-gathers and reduce-scatters: number of ranks from this one downwards
  int place = 0;  // place of this rank among those ranks, by rank number

  bool leads() const { return leaderAfter >= 0; }
};

inline Status checkChain(int channel, const CollNetChain& chain, int rank, int size, int channels) {
  const auto peerOrNobody = [&](int other) { return other == -1 || isPeer(other, rank, size); };
  const bool leads = chain.up == -1;
  if (channel >= 0 && channel < channels && peerOrNobody(chain.up) && peerOrNobody(chain.down) &&
      chain.ranks > (chain.down == -1 ? 0 : 1) && chain.ranks < size && chain.place >= 0 && chain.place < chain.ranks &&
      leads == isPeer(chain.leaderAfter, rank, size) && leads == isPeer(chain.leaderBefore, rank, size)) {
    return Status::ok();
  }
  return Status::invalid("chain of channel=" + std::to_string(channel) + " has up=" + std::to_string(chain.up) +
                         " down=" + std::to_string(chain.down) + " leaders=" + std::to_string(chain.leaderBefore) +
                         "," + std::to_string(chain.leaderAfter) + " ranks=" + std::to_string(chain.ranks) +
                         " place=" + std::to_string(chain.place) +
                         ", expected other ranks or -1, leaders of other hosts only if up=-1, channel < " +
                         std::to_string(channels));
}

}  // namespace jccl
