// The hosts of a communicator's ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "collectives/ring.h"

namespace jccl {

// Hosts are numbered from 0. An object without ranks stands for ranks that are all on one host.
class RankHosts {
 public:
  RankHosts() = default;
  explicit RankHosts(std::vector<int> hostOf)
      : hostOf_(std::move(hostOf)),
        count_(1 + *std::max_element(hostOf_.begin(), hostOf_.end())),
        consecutive_(std::is_sorted(hostOf_.begin(), hostOf_.end())) {}

  int count() const { return count_; }
  int operator[](int rank) const { return hostOf_[static_cast<size_t>(rank)]; }
  // Returns true if the ranks of each host have consecutive numbers.
  bool areConsecutive() const { return consecutive_; }
  // Requires areConsecutive().
  ring::Part ranksOf(int host) const {
    const auto [begin, end] = std::equal_range(hostOf_.begin(), hostOf_.end(), host);
    return {static_cast<size_t>(begin - hostOf_.begin()), static_cast<size_t>(end - begin)};
  }
  int firstOf(int host) const {
    return static_cast<int>(std::find(hostOf_.begin(), hostOf_.end(), host) - hostOf_.begin());
  }
  // Returns the number of ranks of the host that has the most.
  size_t largest() const {
    size_t most = 0;
    for (int host = 0; host < count_; ++host) most = std::max(most, sizeOf(host));
    return most;
  }
  size_t sizeOf(int host) const { return static_cast<size_t>(std::count(hostOf_.begin(), hostOf_.end(), host)); }

 private:
  std::vector<int> hostOf_;
  int count_ = 1;
  bool consecutive_ = true;
};

}  // namespace jccl
