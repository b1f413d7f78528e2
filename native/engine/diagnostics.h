// Reports of a communicator: the waits of its channels, its failure, its memory use. Shared by the host's engine and
// the GPU's runtime, so that both use the same terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/code.h"
#include "engine/history.h"
#include "primitives/wait_place.h"

namespace jccl {

// The current wait of one channel. Only waits that have become long are reported.
struct ChannelWait {
  int channel = 0;
  WaitPlace place{};
  uint64_t sequence = 0;
  int64_t waitedNanos = -1;  // -1: not known
};

struct MemoryUsage {
  size_t segmentBytes = 0;   // address space of this rank's segment
  size_t residentBytes = 0;  // memory that backs the segment, plus scratchBytes
  size_t scratchBytes = 0;
  size_t networkBytes = 0;
};

// Use of one transport since the communicator was created.
struct TransportUse {
  uint64_t sentBytes = 0;  // size in slots, including the flags of LL and LL128
  int64_t longWaits = 0;
  int64_t waitedNanos = 0;
};

inline std::string describe(const ChannelWait& wait) {
  const WaitPlace& place = wait.place;
  return "channel=" + std::to_string(wait.channel) + " peer=" + std::to_string(place.peer) +
         " transport=" + nameOf(place.transport) + " protocol=" + nameOf(place.protocol) +
         " waitsFor=" + nameOf(place.waitFor) + " step=" + std::to_string(place.step) +
         (wait.waitedNanos < 0 ? "" : " waitedMillis=" + std::to_string(wait.waitedNanos / 1'000'000));
}

// Describes the operation that was entered last. If that operation is done, the failure concerns later sends and
// receives, which have no sequence number. The text then begins with "after" and names that operation.
inline std::string describeLast(const History& history) {
  HistoryRow row;
  if (!history.read(history.lastEntered(), row) || row.state == OperationState::Done) {
    return "after sequence=" + std::to_string(history.lastEntered());
  }
  const OperationCode operation = OperationCode::decode(row.code);
  return "sequence=" + std::to_string(row.sequence) + " collective=" + nameOf(operation.collective) +
         " type=" + nameOf(operation.type) + " op=" + nameOf(operation.op) + " count=" + std::to_string(row.count) +
         " root=" + std::to_string(row.root);
}

// Describes the failure of `operation`. `timeout` says which time-out passed; it is used for Code::Timeout only.
inline std::string describeFailure(Code code, const std::string& operation, const std::string& timeout,
                                   const std::vector<ChannelWait>& waits) {
  std::string text = operation;
  if (code == Code::Timeout) text = timeout + ": " + text;
  if (code == Code::Mismatch) text = "a peer runs another operation, or the same with other arguments: " + text;
  for (const ChannelWait& wait : waits) text += "; " + describe(wait);
  return text;
}

}  // namespace jccl
