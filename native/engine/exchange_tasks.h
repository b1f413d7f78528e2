// Sends and receives between pairs of ranks, and the collectives that consist of them. For host and device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/operation.h"

namespace jccl {

struct PointToPointTask {
  enum class Kind : uint8_t { Send = 0, Recv = 1 };

  Kind kind = Kind::Send;
  int peer = 0;
  uint8_t* address = nullptr;  // a send only reads this memory
  size_t bytes = 0;
  uint32_t fingerprint = 0;  // must be equal at both ends
};

// Checks that all peers are ranks, and that this rank's sends to itself match its receives from itself in order and
// size. If the check fails, the tasks must not run.
inline Status checkTasks(int rank, int size, std::span<const PointToPointTask> tasks) {
  std::vector<const PointToPointTask*> sends, recvs;
  for (const auto& task : tasks) {
    if (task.peer < 0 || task.peer >= size) {
      return Status::invalid("peer=" + std::to_string(task.peer) +
                             ", expected a rank below size=" + std::to_string(size));
    }
    if (task.peer != rank) continue;
    (task.kind == PointToPointTask::Kind::Send ? sends : recvs).push_back(&task);
  }
  if (sends.size() != recvs.size()) {
    return Status::invalid("sendsToSelf=" + std::to_string(sends.size()) +
                           " recvsFromSelf=" + std::to_string(recvs.size()) + ", rank=" + std::to_string(rank) +
                           ": a send to oneself needs a receive from oneself in the same group");
  }
  for (size_t i = 0; i < sends.size(); ++i) {
    if (sends[i]->bytes != recvs[i]->bytes) {
      return Status::invalid("sendBytes=" + std::to_string(sends[i]->bytes) +
                             " recvBytes=" + std::to_string(recvs[i]->bytes) + " of message " + std::to_string(i) +
                             " of rank=" + std::to_string(rank) + " to itself: expected equal sizes");
    }
  }
  return Status::ok();
}

// Returns the larger of two sums: the bytes that the tasks send, and the bytes that they receive.
inline size_t movedBytes(std::span<const PointToPointTask> tasks) {
  size_t sent = 0, received = 0;
  for (const PointToPointTask& task : tasks)
    (task.kind == PointToPointTask::Kind::Send ? sent : received) += task.bytes;
  return std::max(sent, received);
}

// Sets `tasks` to the sends and receives of an all-to-all, a gather or a scatter. A message has `operation.bytes`
// bytes, or as many elements as `operation.counts` says. Every rank begins with itself and its successor, so that the
// ranks do not all send to rank 0 first.
inline void exchangeTasks(const Operation& operation, int rank, int size, std::vector<PointToPointTask>& tasks) {
  const size_t element = sizeOf(operation.code.type);
  const Collective collective = operation.code.collective;
  const bool isRoot = rank == operation.root;
  tasks.clear();
  const auto bytesOf = [&](int block) {
    return operation.counts == nullptr ? operation.bytes : static_cast<size_t>(operation.counts[block]) * element;
  };
  const auto offsetOf = [&](int block) {
    return operation.counts == nullptr ? static_cast<size_t>(block) * operation.bytes
                                       : static_cast<size_t>(operation.displacements[block]) * element;
  };
  const auto send = [&](int peer, size_t offset, size_t bytes) {
    tasks.push_back({PointToPointTask::Kind::Send, peer, const_cast<uint8_t*>(operation.send) + offset, bytes, 0});
  };
  const auto recv = [&](int peer, size_t offset, size_t bytes) {
    tasks.push_back({PointToPointTask::Kind::Recv, peer, operation.recv + offset, bytes, 0});
  };
  for (int i = 0; i < size; ++i) {
    const int to = (rank + i) % size;
    const int from = (rank - i + size) % size;
    if (collective == Collective::AllToAll) {
      send(to, offsetOf(to), bytesOf(to));
      recv(from, offsetOf(from), bytesOf(from));
    } else if (collective == Collective::Gather) {
      if (to == operation.root) send(to, 0, bytesOf(rank));
      if (isRoot) recv(from, offsetOf(from), bytesOf(from));
    } else {
      if (isRoot) send(to, offsetOf(to), bytesOf(to));
      if (from == operation.root) recv(from, 0, bytesOf(rank));
    }
  }
}

// Sets `tasks` to the sends and receives of an all-to-all with counts, or of a user-defined reduction. `counts` has
// four rows with a value for each rank: elements to send, their offsets, elements to receive, their offsets.
inline void vectorExchangeTasks(const Operation& operation, const std::vector<int64_t>& counts, int rank, int size,
                                std::vector<PointToPointTask>& tasks) {
  const size_t element = sizeOf(operation.code.type);
  const size_t n = static_cast<size_t>(size);
  tasks.clear();
  for (size_t i = 0; i < n; ++i) {
    const size_t to = (rank + i) % n;
    const size_t from = (rank + n - i) % n;
    tasks.push_back({PointToPointTask::Kind::Send, static_cast<int>(to),
                     const_cast<uint8_t*>(operation.send) + counts[n + to] * element, counts[to] * element, 0});
    tasks.push_back({PointToPointTask::Kind::Recv, static_cast<int>(from),
                     operation.recv + counts[3 * n + from] * element, counts[2 * n + from] * element, 0});
  }
}

}  // namespace jccl
