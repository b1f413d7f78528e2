// Checks the peers, rings, trees and hosts that a communicator gets. For the host's engine and the GPU's runtime.
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

}  // namespace jccl
