#include "engine/point_to_point.h"

#include <algorithm>
#include <cstring>

#include "engine/user_memory_scope.h"
#include "primitives/zero_copy_transfer.h"

namespace jccl {
namespace {

constexpr size_t kMinChunkBytes = 64 * 1024;
// In so many parts, copying one overlaps with sending another.
constexpr size_t kChunks = 4;

// The next chunk of a message: both ends cut alike.
uint32_t nextChunk(const PointToPointTask& task, size_t done, const ConnectionMemory& memory) {
  const size_t max = std::min(memory.shape.simpleSlotBytes(), memory.maxExchangeBytes);
  return static_cast<uint32_t>(std::min({task.bytes - done, max, std::max(task.bytes / kChunks, kMinChunkBytes)}));
}

bool isLarge(const PointToPointTask& task) { return task.bytes >= UserMemoryScope::kMinBytes; }

// Posts where the chunks of a message belong, as far as there are slots for them.
void postAddresses(const PointToPointTask& task, size_t done, const RecvConnection& connection) {
  for (uint64_t ahead = 0; ahead < kSlots && done < task.bytes; ++ahead) {
    const uint32_t bytes = nextChunk(task, done, connection.memory);
    postAddress(connection, ahead, task.address + done, bytes, checkWord(task.fingerprint, bytes));
    done += bytes;
  }
}

}  // namespace

void PointToPoint::run(const std::vector<PointToPointTask>& tasks, Channel& channel) {
  Waiter& waiter = channel.waiter();
  UserMemoryScope userMemory(waiter.control().progress);
  for (const PointToPointTask& task : tasks) {
    const bool sends = task.kind == PointToPointTask::Kind::Send;
    if (task.peer == rank_ || !isLarge(task)) continue;
    const bool isNet = sends ? channel.sendTo(task.peer).isNet() : channel.recvFrom(task.peer).isNet();
    if (isNet) userMemory.add(task.address, task.bytes, !sends);
  }
  copyOwn(tasks);
  enqueue(tasks);
  mismatch_.reset();
  const bool moved = moveAll(tasks, channel);
  if (mismatch_) waiter.fail(Code::Mismatch, *mismatch_);  // after the wait, whose end clears its record
  if (moved && finishSends(channel)) return;
  if (ProgressEngine* network = waiter.control().progress; network != nullptr) network->revoke();
}

// Waits until the network no longer needs the user's memory.
bool PointToPoint::finishSends(Channel& channel) {
  for (size_t i = 0; i < used_; ++i) {
    if (queues_[i].kind != PointToPointTask::Kind::Send) continue;
    SendConnection& connection = channel.sendTo(queues_[i].peer);
    if (!waitUntilSent(channel.waiter(), connection, connection.zeroCopySends.end(), Protocol::Simple)) return false;
  }
  return true;
}

// False: it has failed.
bool PointToPoint::moveAll(const std::vector<PointToPointTask>& tasks, Channel& channel) {
  Waiter& waiter = channel.waiter();
  for (;;) {
    const Queue* unfinished = nullptr;
    for (size_t i = 0; i < used_; ++i) {
      if (queues_[i].next < queues_[i].tasks.size()) {
        unfinished = &queues_[i];
        break;
      }
    }
    if (unfinished == nullptr) return true;
    const bool sends = unfinished->kind == PointToPointTask::Kind::Send;
    const SendConnection& to = channel.sendTo(unfinished->peer);
    const RecvConnection& from = channel.recvFrom(unfinished->peer);
    const WaitPlace place{unfinished->peer, sends ? to.transport : from.transport,
                          sends ? WaitFor::Credit : WaitFor::Data, Protocol::Simple, sends ? to.step : from.step};
    // A wait may check again after it has seen the condition: what has moved stays moved.
    bool any = false;
    const auto moved = [&] {
      for (size_t i = 0; i < used_; ++i) any = advance(queues_[i], tasks, channel) || any;
      return any;
    };
    if (!waiter.wait(moved, place) || waiter.control().failed() || mismatch_) return false;
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
  const uint32_t bytes = nextChunk(task, queue.done, connection.memory);
  SlotHeader* header = connection.memory.slotHeader(connection.step);
  if (connection.isNet() && isLarge(task)) {
    sendZeroCopy(connection, task.address + queue.done, bytes);
    connection.memory.zeroCopySlot(connection.step).awaitsAddress = true;
  } else if (bytes != 0) {
    std::memcpy(connection.memory.simpleChunk(connection.step, bytes), task.address + queue.done, bytes);
  }
  header->check = checkWord(task.fingerprint, bytes);
  header->bytes = bytes;
  header->protocol = static_cast<uint8_t>(Protocol::Simple);
  connection.publish(header);
  account(queue, task, bytes);
  return true;
}

bool PointToPoint::advanceRecv(Queue& queue, const PointToPointTask& task, RecvConnection& connection) {
  if (connection.isNet() && isLarge(task)) postAddresses(task, queue.done, connection);
  const SlotHeader* header = connection.memory.slotHeader(connection.step);
  if (header->published.load(std::memory_order_acquire) != connection.step + 1) return false;
  const uint32_t bytes = nextChunk(task, queue.done, connection.memory);
  if (header->check != checkWord(task.fingerprint, bytes)) {
    mismatch_ = {connection.peer, connection.transport, WaitFor::Data, Protocol::Simple, connection.step};
    return true;
  }
  uint8_t* const place = task.address + queue.done;
  const uint8_t* const chunk = connection.simpleChunk(bytes);
  if (bytes != 0 && chunk != place) std::memcpy(place, chunk, bytes);
  connection.memory.head->head.store(++connection.step, std::memory_order_release);
  if (connection.senderEvents != nullptr) connection.senderEvents->notifyIfWaiting();
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
