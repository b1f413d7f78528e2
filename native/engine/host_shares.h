// The shares in which the ranks of a host carry its data to other hosts.
//
// A rank has a place among the ranks of its host. On each other host it has one partner: the rank at the same place,
// modulo the number of ranks of that host. A rank exchanges its data with its partners only, and serves the ranks whose
// partner it is: it passes their data on inside its host. So all data crosses from host to host once, every rank of a
// host carries a part of it, and ranks may have any order over the hosts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "engine/rank_hosts.h"

namespace jccl {

// The shares as one rank sees them. All members are ranks.
struct HostShares {
  std::vector<int> locals;    // the other ranks of this host, in rank order
  std::vector<int> partners;  // this rank's partner on each other host, in the order of the hosts
  // Ranks of other hosts, in rank order: those that this rank serves, and those that each of `locals` serves.
  std::vector<int> served;
  std::vector<std::vector<int>> servedByLocals;
  size_t mostServed = 0;  // the largest number of ranks that a rank of this host serves
  size_t place = 0;       // this rank's place: number of `locals` before it
  size_t hostsBefore = 0;

  HostShares() = default;
  HostShares(int rank, int size, const RankHosts& hosts) {
    const int own = hosts[rank];
    hostsBefore = static_cast<size_t>(own);
    std::vector<std::vector<int>> ranksOf(static_cast<size_t>(hosts.count()));
    std::vector<size_t> placeOf;
    for (int other = 0; other < size; ++other) {
      std::vector<int>& ranks = ranksOf[static_cast<size_t>(hosts[other])];
      placeOf.push_back(ranks.size());
      ranks.push_back(other);
    }
    place = placeOf[static_cast<size_t>(rank)];
    for (int host = 0; host < hosts.count(); ++host) {
      const std::vector<int>& ranks = ranksOf[static_cast<size_t>(host)];
      if (host != own) partners.push_back(ranks[place % ranks.size()]);
    }
    const size_t ranksHere = ranksOf[hostsBefore].size();
    for (size_t here = 0; here < ranksHere; ++here) {
      std::vector<int> mine;
      for (int other = 0; other < size; ++other) {
        const bool isServed = hosts[other] != own && placeOf[static_cast<size_t>(other)] % ranksHere == here;
        if (isServed) mine.push_back(other);
      }
      mostServed = std::max(mostServed, mine.size());
      if (here == place) {
        served = std::move(mine);
      } else {
        locals.push_back(ranksOf[hostsBefore][here]);
        servedByLocals.push_back(std::move(mine));
      }
    }
  }
};

}  // namespace jccl
