#include "engine/point_to_point.h"

#include <algorithm>
#include <cstring>

namespace jccl {
namespace {

constexpr size_t kLeastChunkBytes = 64 * 1024;
// In so many parts, copying one overlaps with sending another.
constexpr size_t kChunks = 4;

// The next piece of a message: both ends cut alike.
size_t nextChunk(const PointToPointTask& task, size_t done, const ConnectionMemory& memory) {
  const size_t most = std::min(memory.shape.simpleSlotBytes(), memory.mostExchanged);
  return std::min({task.bytes - done, most, std::max(task.bytes / kChunks, kLeastChunkBytes)});
}

}  // namespace

void PointToPoint::run(const std::vector<PointToPointTask>& tasks, Channel& channel) {
  copyOwn(tasks);
  enqueue(tasks);
  mismatch_.reset();
  Waiter& waiter = channel.waiter();
  for (;;) {
    const Queue* unfinished = nullptr;
    for (size_t i = 0; i < used_; ++i) {
      if (queues_[i].next < queues_[i].tasks.size()) {
        unfinished = &queues_[i];
        break;
      }
    }
    if (unfinished == nullptr) return;
    const bool sends = unfinished->kind == PointToPointTask::Kind::Send;
    const SendConnection& to = channel.sendTo(unfinished->peer);
    const RecvConnection& from = channel.recvFrom(unfinished->peer);
    const WaitPlace place{unfinished->peer, sends ? to.transport : from.transport,
                          sends ? WaitFor::Credit : WaitFor::Data, Protocol::Simple, sends ? to.step : from.step};
    // A wait may look again after it has seen the condition: what has moved stays moved.
    bool any = false;
    const auto moved = [&] {
      for (size_t i = 0; i < used_; ++i) any = advance(queues_[i], tasks, channel) || any;
      return any;
    };
    if (!waiter.wait(moved, place) || waiter.control().failed()) return;
    if (mismatch_) return waiter.fail(Code::Mismatch, *mismatch_);  // after the wait, whose end clears its record
  }
}

void PointToPoint::copyOwn(const std::vector<PointToPointTask>& tasks) const {
  size_t send = 0, recv = 0;
  const auto find = [&](size_t& from, PointToPointTask::Kind kind) {
    while (from < tasks.size() && (tasks[from].peer != rank_ || tasks[from].kind != kind)) ++from;
    return from < tasks.size();
  };
  while (find(send, PointToPointTask::Kind::Send) && find(recv, PointToPointTask::Kind::Recv)) {
    const size_t bytes = tasks[send].bytes;
    if (bytes != 0) std::memmove(tasks[recv].address, tasks[send].address, bytes);
    ++send;
    ++recv;
  }
}

void PointToPoint::enqueue(const std::vector<PointToPointTask>& tasks) {
  used_ = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].peer == rank_) continue;
    size_t at = 0;
    while (at < used_ && (queues_[at].peer != tasks[i].peer || queues_[at].kind != tasks[i].kind)) ++at;
    if (at == used_) {
      if (used_ == queues_.size()) queues_.emplace_back();
      Queue& queue = queues_[used_++];
      queue.tasks.clear();
      queue.next = 0;
      queue.done = 0;
      queue.kind = tasks[i].kind;
      queue.peer = tasks[i].peer;
    }
    queues_[at].tasks.push_back(i);
  }
}

// Moves one chunk of the queue's current task if that is possible now.
bool PointToPoint::advance(Queue& queue, const std::vector<PointToPointTask>& tasks, Channel& channel) {
  if (queue.next == queue.tasks.size()) return false;
  const PointToPointTask& task = tasks[queue.tasks[queue.next]];
  if (queue.kind == PointToPointTask::Kind::Send) return advanceSend(queue, task, channel.sendTo(queue.peer));
  return advanceRecv(queue, task, channel.recvFrom(queue.peer));
}

bool PointToPoint::advanceSend(Queue& queue, const PointToPointTask& task, SendConnection& connection) {
  if (connection.step >= connection.cachedHead + kSlots) {
    connection.cachedHead = connection.memory.head->head.load(std::memory_order_acquire);
    if (connection.step >= connection.cachedHead + kSlots) return false;
  }
  const size_t bytes = nextChunk(task, queue.done, connection.memory);
  if (bytes != 0) std::memcpy(connection.memory.simplePiece(connection.step, bytes), task.address + queue.done, bytes);
  SlotHeader* header = connection.memory.slotHeader(connection.step);
  header->check = checkWord(task.fingerprint, static_cast<uint32_t>(bytes));
  header->bytes = static_cast<uint32_t>(bytes);
  header->protocol = static_cast<uint8_t>(Protocol::Simple);
  connection.publish(header);
  account(queue, task, bytes);
  return true;
}

bool PointToPoint::advanceRecv(Queue& queue, const PointToPointTask& task, RecvConnection& connection) {
  const SlotHeader* header = connection.memory.slotHeader(connection.step);
  if (header->published.load(std::memory_order_acquire) != connection.step + 1) return false;
  const size_t bytes = nextChunk(task, queue.done, connection.memory);
  if (header->check != checkWord(task.fingerprint, static_cast<uint32_t>(bytes))) {
    mismatch_ = {connection.peer, connection.transport, WaitFor::Data, Protocol::Simple, connection.step};
    return true;
  }
  if (bytes != 0) std::memcpy(task.address + queue.done, connection.memory.simplePiece(connection.step, bytes), bytes);
  connection.memory.head->head.store(++connection.step, std::memory_order_release);
  if (connection.senderBell != nullptr) connection.senderBell->ringIfSleeping();
  account(queue, task, bytes);
  return true;
}

void PointToPoint::account(Queue& queue, const PointToPointTask& task, size_t bytes) {
  queue.done += bytes;
  if (queue.done < task.bytes) return;
  queue.done = 0;
  ++queue.next;
}

}  // namespace jccl
