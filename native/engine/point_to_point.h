// Runs many sends and receives at once. Data moves chunk by chunk, so that no message can hold up another.
//
// Sends to one peer run in the given order, and so do receives from one peer; there is no order between peers. Data
// goes through the slots of channel 0: small messages between ranks of one host with LL or LL128, all others with
// SIMPLE. Over a network, large messages are sent from user memory and received into it if possible (zero-copy).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/channel.h"
#include "engine/exchange_tasks.h"
#include "primitives/reduce.h"

namespace jccl {

// How chunks are stored (engine/store_policy.h).
struct ChunkStores {
  ReduceCopyFn copy = nullptr;  // copies bytes past the cache; required if one of the flags is set
  bool pastCacheToSlots = false;
  bool pastCacheToOutput = false;
};

class PointToPoint {
 public:
  explicit PointToPoint(int rank) : rank_(rank) {}

  // Runs until all tasks are done or the communicator fails, which the waiter's control shows. Returns the protocol of
  // the largest message.
  Protocol run(std::span<const PointToPointTask> tasks, Channel& channel, const ChunkStores& stores);

 private:
  struct Queue {
    std::vector<size_t> tasks;  // indexes of the tasks, in their order
    size_t next = 0;            // position of the current task in `tasks`
    size_t done = 0;            // bytes of the current task that have moved
    PointToPointTask::Kind kind{};
    int peer = 0;
  };

  using Tasks = std::span<const PointToPointTask>;
  enum class Moved { Nothing, Part, All };

  void copyOwn(Tasks tasks) const;
  Protocol largestProtocol(Tasks tasks, Channel& channel) const;
  size_t sendAhead(Tasks tasks, Channel& channel) const;
  void receiveEach(Tasks tasks, Channel& channel);
  Moved receiveSmall(const PointToPointTask& task, Protocol protocol, size_t& done, RecvConnection& connection);
  void enqueue(Tasks tasks, size_t firstSend);
  void moveEach(Tasks tasks, Channel& channel);
  static WaitPlace placeOf(const Queue& queue, Channel& channel);
  bool moveAll(Tasks tasks, Channel& channel);
  bool advance(Queue& queue, Tasks tasks, Channel& channel);
  bool advanceSend(Queue& queue, const PointToPointTask& task, SendConnection& connection);
  bool advanceRecv(Queue& queue, const PointToPointTask& task, RecvConnection& connection);
  bool finishSends(Channel& channel);
  void mismatch(const RecvConnection& connection, Protocol protocol);
  bool failMismatched(Channel& channel);
  static void account(Queue& queue, const PointToPointTask& task, size_t bytes);

  void copy(uint8_t* to, const uint8_t* from, size_t bytes, bool pastCache) const;

  int rank_;
  ChunkStores stores_;  // how the current run stores chunks
  std::vector<Queue> queues_;
  size_t used_ = 0;
  std::optional<WaitPlace> mismatch_;  // place of the wait in which an unexpected message arrived
};

}  // namespace jccl
