// Checks the arguments of an operation that Java requests, and makes an Operation from them. For host and device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/operation.h"

namespace jccl {

// Checks the arguments of a collective with one count for all ranks.
inline Status checkArguments(OperationCode code, Choice choice, int64_t count, int root, int size) {
  if (code.valid() && code.collective != Collective::SendRecv && choice.valid() && count >= 0 && root >= 0 &&
      root < size) {
    return Status::ok();
  }
  return Status::invalid(
      "collective=" + std::to_string(static_cast<int>(code.collective)) +
      " type=" + std::to_string(static_cast<int>(code.type)) + " op=" + std::to_string(static_cast<int>(code.op)) +
      " choice=" + std::to_string(choice.encode()) + " count=" + std::to_string(count) +
      " root=" + std::to_string(root) + ", expected known codes, count >= 0, 0 <= root < size=" + std::to_string(size));
}

// Checks the format in which an operation crosses hosts.
inline Status checkWire(OperationCode code, WireCode wire) {
  if (wire.isExact() || (wire.valid() && canNarrow(code.collective, code.type))) return Status::ok();
  return Status::invalid("wire=" + std::to_string(wire.packed) +
                         " collective=" + std::to_string(static_cast<int>(code.collective)) +
                         " type=" + std::to_string(static_cast<int>(code.type)) +
                         ", expected a known format, float32 or float64, and all_reduce, reduce_scatter, all_gather or "
                         "broadcast");
}

inline Operation operationOf(OperationCode code, Choice choice, const void* send, void* recv) {
  Operation operation;
  operation.code = code;
  operation.choice = choice;
  operation.send = static_cast<const uint8_t*>(send);
  operation.recv = static_cast<uint8_t*>(recv);
  return operation;
}

// Sets `count`, `root` and `bytes`: the size of the larger buffer or, in an exchange, of the message between two ranks.
inline void setCount(Operation& operation, size_t count, int root, int size) {
  const Collective collective = operation.code.collective;
  operation.count = count;
  operation.root = hasRoot(collective) ? root : 0;
  operation.bytes = count * sizeOf(operation.code.type);
  if (collective == Collective::AllGather || collective == Collective::ReduceScatter) operation.bytes *= size;
}

// Checks the arguments of a v-form. `counts` must have two rows of `size` numbers, or four rows if
// OperationCode::exchangesWithCounts(); no number may be negative.
inline Status checkCounts(OperationCode code, Choice choice, const std::vector<int64_t>& counts, int root, int size) {
  const bool exchange = code.exchangesWithCounts();
  const Collective collective = code.collective;
  const bool known = exchange || collective == Collective::AllGather || collective == Collective::ReduceScatter ||
                     collective == Collective::Gather || collective == Collective::Scatter;
  const OperationCode checked = code.op == kUserReduction ? code.withoutReduction() : code;
  bool good = checked.valid() && choice.valid() && known && root >= 0 && root < size &&
              counts.size() == static_cast<size_t>(size) * (exchange ? 4 : 2);
  for (const int64_t value : counts) good = good && value >= 0;
  if (good) return Status::ok();
  return Status::invalid(
      "collective=" + std::to_string(static_cast<int>(collective)) +
      " op=" + std::to_string(static_cast<int>(code.op)) + " counts=" + std::to_string(counts.size()) +
      " root=" + std::to_string(root) +
      ", expected all_gather, reduce_scatter, gather or scatter with 2 x size, or all_to_all or a " +
      "user-defined reduction with 4 x size numbers, none negative, 0 <= root < size=" + std::to_string(size));
}

// Sets the counts of an all-gather, reduce-scatter, gather or scatter with a count for each rank, their part of the
// fingerprint, and the bytes of the larger buffer.
inline void setCounts(Operation& operation, const std::vector<int64_t>& counts, int root, int size) {
  const size_t n = static_cast<size_t>(size);
  operation.root = hasRoot(operation.code.collective) ? root : 0;
  operation.counts = counts.data();
  operation.displacements = counts.data() + n;
  uint64_t mixed = 0;
  size_t end = 0;
  for (size_t rank = 0; rank < n; ++rank) {
    mixed = (mixed ^ static_cast<uint64_t>(counts[rank])) * 0xd6e8feb86659fd93u;
    end = end > static_cast<size_t>(counts[n + rank] + counts[rank]) ? end : counts[n + rank] + counts[rank];
  }
  operation.fingerprint = mixed;
  operation.bytes = end * sizeOf(operation.code.type);
}

}  // namespace jccl
