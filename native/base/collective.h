// The collectives of the library. Java knows their numbers; jni/numbers.cc compares them.
#pragma once

#include <cstdint>

#include "base/function.h"

namespace jccl {

enum class Collective : uint8_t {
  AllReduce = 0,
  Reduce = 1,
  Broadcast = 2,
  AllGather = 3,
  ReduceScatter = 4,
  AllToAll = 5,
  Gather = 6,
  Scatter = 7,
  SendRecv = 8,
  Barrier = 9,
  Scan = 10,
  Exscan = 11,
};
inline constexpr int kCollectiveCount = 12;

JCCL_FN constexpr bool hasRoot(Collective collective) {
  return collective == Collective::Reduce || collective == Collective::Broadcast || collective == Collective::Gather ||
         collective == Collective::Scatter;
}

// Returns true if every rank ends with the reduction of the elements of lower ranks, in a scan also of its own.
JCCL_FN constexpr bool isScan(Collective collective) {
  return collective == Collective::Scan || collective == Collective::Exscan;
}

// Returns true if the collective combines elements of different ranks.
JCCL_FN constexpr bool reduces(Collective collective) {
  return collective == Collective::AllReduce || collective == Collective::Reduce ||
         collective == Collective::ReduceScatter || isScan(collective);
}

// Returns true if the collective consists of sends and receives between pairs of ranks.
JCCL_FN constexpr bool isExchange(Collective collective) {
  return collective == Collective::AllToAll || collective == Collective::Gather || collective == Collective::Scatter;
}

constexpr const char* nameOf(Collective collective) {
  constexpr const char* names[kCollectiveCount] = {"all_reduce",     "reduce",     "broadcast", "all_gather",
                                                   "reduce_scatter", "all_to_all", "gather",    "scatter",
                                                   "send_recv",      "barrier",    "scan",      "exscan"};
  const auto index = static_cast<unsigned>(collective);
  return index < kCollectiveCount ? names[index] : "unknown";
}

}  // namespace jccl
