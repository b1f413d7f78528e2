#include "engine/point_to_point.h"

#include <algorithm>
#include <cstring>

#include "engine/user_memory_scope.h"
#include "primitives/codecs.h"
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

// Up to this size LL is faster than SIMPLE: header and data are one line or a few.
constexpr size_t kMaxLLBytes = 1024;

// Whether a message goes with LL: both ends decide alike, by its size.
bool isSmall(const PointToPointTask& task, const ConnectionMemory& memory, TransportKind transport) {
  return transport != TransportKind::Net && task.bytes <= kMaxLLBytes &&
         task.bytes <= memory.shape.payloadCapacity(Protocol::LL);
}

bool isSend(const PointToPointTask& task) { return task.kind == PointToPointTask::Kind::Send; }

bool isLarge(const PointToPointTask& task) { return task.bytes >= UserMemoryScope::kMinBytes; }

// Posts where the chunks of a message belong, as far as there are slots for them.
void postAddresses(const PointToPointTask& task, size_t done, const RecvConnection& connection) {
  for (uint64_t ahead = 0; ahead < kSlots && done < task.bytes; ++ahead) {
    const uint32_t bytes = nextChunk(task, done, connection.memory);
    postAddress(connection, ahead, task.address + done, bytes, checkWord(task.fingerprint, bytes));
    done += bytes;
  }
}

// Returns whether there was credit.
bool sendLL(const PointToPointTask& task, SendConnection& connection) {
  if (!connection.hasCredit()) return false;
  LLCodec::packStep(connection.memory.llSlot(connection.step), connection.memory.shape.llSlotBytes(), connection.step,
                    checkWord(task.fingerprint, static_cast<uint32_t>(task.bytes)), task.address, task.bytes);
  connection.publishPacked(Protocol::LL);
  return true;
}

}  // namespace

Protocol PointToPoint::run(Tasks tasks, Channel& channel, const ChunkStores& stores) {
  mismatch_.reset();
  stores_ = stores;
  copyOwn(tasks);
  const bool small = areSmall(tasks, channel);
  const size_t sent = small ? sendAhead(tasks, channel) : 0;
  if (sent == tasks.size()) {
    receiveEach(tasks, channel);
  } else {
    enqueue(tasks, sent);
    moveEach(tasks, channel);
  }
  return small ? Protocol::LL : Protocol::Simple;
}

bool PointToPoint::areSmall(Tasks tasks, Channel& channel) const {
  for (const PointToPointTask& task : tasks) {
    const SendConnection& connection = channel.sendTo(task.peer);  // as the other direction's
    if (task.peer != rank_ && !isSmall(task, connection.memory, connection.transport)) return false;
  }
  return true;
}

// Sends small messages as far as there is credit for them. Returns the index of the first task that is not sent.
size_t PointToPoint::sendAhead(Tasks tasks, Channel& channel) const {
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].peer == rank_ || !isSend(tasks[i])) continue;
    if (!sendLL(tasks[i], channel.sendTo(tasks[i].peer))) return i;
  }
  return tasks.size();
}

// Receives one small message after the other: all that this rank sends is on its way, so that none waits for this one.
void PointToPoint::receiveEach(Tasks tasks, Channel& channel) {
  for (const PointToPointTask& task : tasks) {
    if (task.peer == rank_ || isSend(task)) continue;
    RecvConnection& connection = channel.recvFrom(task.peer);
    size_t done = 0;
    bool over = false;
    const auto received = [&] {
      over = over || receiveLL(task, done, connection) == Moved::All;
      return over || mismatch_;
    };
    const WaitPlace place{task.peer, connection.transport, WaitFor::Data, Protocol::LL, connection.step};
    if (!channel.waiter().wait(received, place) || failMismatched(channel)) return;
  }
}

// Moves all queues side by side.
void PointToPoint::moveEach(Tasks tasks, Channel& channel) {
  ProgressEngine* const network = channel.waiter().control().progress;
  UserMemoryScope userMemory(network);
  for (const PointToPointTask& task : tasks) {
    if (task.peer == rank_ || !isLarge(task)) continue;
    const bool isNet = isSend(task) ? channel.sendTo(task.peer).isNet() : channel.recvFrom(task.peer).isNet();
    if (isNet) userMemory.add(task.address, task.bytes, !isSend(task));
  }
  const bool moved = moveAll(tasks, channel);
  if (!failMismatched(channel) && moved && finishSends(channel)) return;
  if (network != nullptr) network->revoke();
}

// After the wait, whose end clears its record.
bool PointToPoint::failMismatched(Channel& channel) {
  if (mismatch_) channel.waiter().fail(Code::Mismatch, *mismatch_);
  return mismatch_.has_value();
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
bool PointToPoint::moveAll(Tasks tasks, Channel& channel) {
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

void PointToPoint::copyOwn(Tasks tasks) const {
  size_t send = 0, recv = 0;
  const auto find = [&](size_t& from, PointToPointTask::Kind kind) {
    while (from < tasks.size() && (tasks[from].peer != rank_ || tasks[from].kind != kind)) ++from;
    return from < tasks.size();
  };
  while (find(send, PointToPointTask::Kind::Send) && find(recv, PointToPointTask::Kind::Recv)) {
    const size_t bytes = tasks[send].bytes;
    copy(tasks[recv].address, tasks[send].address, bytes, stores_.pastCacheToOutput);
    ++send;
    ++recv;
  }
}

// Sends before `firstSend` are over.
void PointToPoint::enqueue(Tasks tasks, size_t firstSend) {
  used_ = 0;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].peer == rank_ || (i < firstSend && isSend(tasks[i]))) continue;
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
bool PointToPoint::advance(Queue& queue, Tasks tasks, Channel& channel) {
  if (queue.next == queue.tasks.size()) return false;
  const PointToPointTask& task = tasks[queue.tasks[queue.next]];
  if (queue.kind == PointToPointTask::Kind::Send) return advanceSend(queue, task, channel.sendTo(queue.peer));
  return advanceRecv(queue, task, channel.recvFrom(queue.peer));
}

bool PointToPoint::advanceSend(Queue& queue, const PointToPointTask& task, SendConnection& connection) {
  if (isSmall(task, connection.memory, connection.transport)) {
    if (!sendLL(task, connection)) return false;
    account(queue, task, task.bytes);
    return true;
  }
  if (!connection.hasCredit()) return false;
  const uint32_t bytes = nextChunk(task, queue.done, connection.memory);
  if (connection.isNet() && isLarge(task)) {
    sendZeroCopy(connection, task.address + queue.done, bytes);
    connection.memory.zeroCopySlot(connection.step).awaitsAddress = true;
  } else {
    const bool pastCache = stores_.pastCacheToSlots && !connection.isNet();
    copy(connection.memory.simpleChunk(connection.step, bytes), task.address + queue.done, bytes, pastCache);
  }
  connection.publish(Protocol::Simple, bytes, checkWord(task.fingerprint, bytes));
  account(queue, task, bytes);
  return true;
}

bool PointToPoint::advanceRecv(Queue& queue, const PointToPointTask& task, RecvConnection& connection) {
  if (isSmall(task, connection.memory, connection.transport)) {
    const Moved moved = receiveLL(task, queue.done, connection);
    if (moved == Moved::All) account(queue, task, 0);
    return moved != Moved::Nothing;
  }
  if (connection.isNet() && isLarge(task)) postAddresses(task, queue.done, connection);
  if (!connection.isPublished()) {
    uint32_t check;
    if (connection.isNet() ||
        !LLCodec::load(connection.memory.llSlot(connection.step), 0, LLFlags<32>::flagOf(connection.step), check)) {
      return false;
    }
    mismatch(connection, Protocol::LL);
    return true;
  }
  const uint32_t bytes = nextChunk(task, queue.done, connection.memory);
  if (connection.memory.slotHeader(connection.step)->check != checkWord(task.fingerprint, bytes)) {
    mismatch(connection, Protocol::Simple);
    return true;
  }
  copy(task.address + queue.done, connection.simpleChunk(bytes), bytes, stores_.pastCacheToOutput);
  connection.release();
  account(queue, task, bytes);
  return true;
}

// The buffers of a message to itself may overlap; then they are not stored past the cache.
void PointToPoint::copy(uint8_t* to, const uint8_t* from, size_t bytes, bool pastCache) const {
  if (bytes == 0 || to == from) return;
  if (!pastCache || (to < from + bytes && from < to + bytes)) {
    std::memmove(to, from, bytes);
    return;
  }
  void* destination = to;
  const void* source = from;
  stores_.copy(&destination, 1, &source, 1, bytes, PostOp{}, 1);
}

// Takes what is there of a small message, from `done` on.
PointToPoint::Moved PointToPoint::receiveLL(const PointToPointTask& task, size_t& done, RecvConnection& connection) {
  const uint32_t flag = LLFlags<32>::flagOf(connection.step);
  const uint8_t* const slot = connection.memory.llSlot(connection.step);
  uint32_t check;
  if (!LLCodec::load(slot, 0, flag, check)) {
    if (!connection.isPublished()) return Moved::Nothing;
    mismatch(connection, Protocol::Simple);
    return Moved::Part;
  }
  if (check != checkWord(task.fingerprint, static_cast<uint32_t>(task.bytes))) {
    mismatch(connection, Protocol::LL);
    return Moved::Part;
  }
  const size_t before = done;
  done = LLCodec::unpack(slot, flag, task.address, done, task.bytes);
  if (done < task.bytes) return done == before ? Moved::Nothing : Moved::Part;
  connection.release();
  return Moved::All;
}

void PointToPoint::mismatch(const RecvConnection& connection, Protocol protocol) {
  mismatch_ = {connection.peer, connection.transport, WaitFor::Data, protocol, connection.step};
}

void PointToPoint::account(Queue& queue, const PointToPointTask& task, size_t bytes) {
  queue.done += bytes;
  if (queue.done < task.bytes) return;
  queue.done = 0;
  ++queue.next;
}

}  // namespace jccl
