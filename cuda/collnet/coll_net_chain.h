// A rank's place in the CollNet chain of its host.
#pragma once

#include <string>

#include "base/status.h"
#include "engine/plan_arguments.h"

namespace jccl::device {

// The chain leads up to the network; -1 means no rank. The leader has no rank above it, and compares operations with
// the leaders of the hosts before and after its own.
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

}  // namespace jccl::device
