// A record of the history as Java reads it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/history.h"
#include "engine/transfer_history.h"

namespace jccl::jni {

// See NativeCommunicator.history.
inline std::vector<int64_t> historyRow(const History& history, int64_t sequence) {
  HistoryRow row;
  if (!history.read(static_cast<uint64_t>(sequence), row)) return {};
  return {static_cast<int64_t>(row.sequence),
          static_cast<int64_t>(row.fingerprint),
          row.code,
          row.root,
          static_cast<int64_t>(row.count),
          static_cast<int64_t>(row.state),
          row.begun,
          row.ended,
          row.waitedNanos,
          row.waitedFor,
          row.choice,
          static_cast<int64_t>(row.bytes)};
}

// See NativeCommunicator.transfers.
inline std::vector<int64_t> transferRow(const TransferHistory& history, int64_t number) {
  TransferRow row;
  if (!history.read(static_cast<uint64_t>(number), row)) return {};
  return {static_cast<int64_t>(row.number),
          static_cast<int64_t>(row.after),
          static_cast<int64_t>(row.state),
          row.sends,
          row.to,
          static_cast<int64_t>(row.sentBytes),
          row.receives,
          row.from,
          static_cast<int64_t>(row.receivedBytes),
          row.begun,
          row.ended,
          row.waitedNanos,
          row.waitedFor};
}

}  // namespace jccl::jni
