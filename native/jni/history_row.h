// A record of the history as Java reads it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/history.h"

namespace jccl::jni {

// See NativeCommunicator.history.
inline std::vector<int64_t> historyRow(const History& history, int64_t sequence) {
  HistoryRow row;
  if (!history.read(static_cast<uint64_t>(sequence), row)) return {};
  return {static_cast<int64_t>(row.sequence), static_cast<int64_t>(row.fingerprint), row.code, row.root,
          static_cast<int64_t>(row.count),    static_cast<int64_t>(row.state)};
}

}  // namespace jccl::jni
