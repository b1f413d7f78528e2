#include "engine/point_to_point.h"

#include <algorithm>
#include <cstring>

#include "engine/user_memory_scope.h"
#include "primitives/codecs.h"
#include "primitives/zero_copy_transfer.h"

namespace jccl {
namespace {

constexpr size_t kMinChunkBytes = 64 * 1024;
// A message is divided into this many chunks, so that one chunk is copied while another is sent: fewer if chunks would
// be smaller than kMinChunkBytes, more if they would exceed the bytes allowed in a slot.
constexpr size_t kChunks = 4;

// Returns the size of the next chunk of a message. Both ends compute the same size.
uint32_t nextChunk(const PointToPointTask& task, size_t done, const ConnectionMemory& memory) {
  const size_t max = std::min(memory.shape.simpleSlotBytes(), memory.maxExchangeBytes);
  return static_cast<uint32_t>(std::min({task.bytes - done, max, std::max(task.bytes / kChunks, kMinChunkBytes)}));
}

// With LL, the check word and this many bytes of data fit into one cache line.
constexpr size_t kMaxLLBytes = 24;
// Up to this size LL128 is faster than SIMPLE.
constexpr size_t kMaxLL128Bytes = 1024;

// Returns the protocol of a message. Both ends decide by the transport and the size of the message, and so agree.
Protocol protocolOf(const PointToPointTask& task, const ConnectionMemory& memory, TransportKind transport) {
  if (isNetwork(transport)) return Protocol::Simple;
  for (const Protocol protocol : {Protocol::LL, Protocol::LL128}) {
    const size_t max = protocol == Protocol::LL ? kMaxLLBytes : kMaxLL128Bytes;
    if (task.bytes <= max && task.bytes <= memory.shape.payloadCapacity(protocol)) return protocol;
  }
  return Protocol::Simple;
}

bool isHere(const RecvConnection& connection, Protocol protocol) {
  const uint64_t step = connection.step;
  if (protocol == Protocol::Simple) return connection.isPublished();
  if (protocol == Protocol::LL128) return LL128Codec::ready(connection.memory.ll128Slot(step), 0, step + 1);
  uint32_t check;
  return LLCodec::load(connection.memory.llSlot(step), 0, LLFlags<32>::flagOf(step), check);
}

// If the next message has arrived with another protocol than `expected`, returns that protocol. In that case the
// sender's message does not have the size that this rank expects.
std::optional<Protocol> foundInstead(const RecvConnection& connection, Protocol expected) {
  if (connection.isNet()) return std::nullopt;
  for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
    if (protocol != expected && isHere(connection, protocol)) return protocol;
  }
  return std::nullopt;
}

bool isSend(const PointToPointTask& task) { return task.kind == PointToPointTask::Kind::Send; }

bool isLarge(const PointToPointTask& task) { return task.bytes >= UserMemoryScope::kMinBytes; }

// Posts the addresses for the remaining chunks of a message, for at most as many as there are slots.
void postAddresses(const PointToPointTask& task, size_t done, const RecvConnection& connection) {
  for (uint64_t ahead = 0; ahead < kSlots && done < task.bytes; ++ahead) {
    const uint32_t bytes = nextChunk(task, done, connection.memory);
    postAddress(connection, ahead, task.address + done, bytes, checkWord(task.fingerprint, bytes));
    done += bytes;
  }
}

uint32_t wireBytes(Protocol protocol, size_t bytes) {
  return protocol == Protocol::LL ? LLCodec::wireBytes(bytes) : LL128Codec::wireBytes(bytes);
}

// Sends a message with LL or LL128. Returns false if there is no credit.
bool sendSmall(const PointToPointTask& task, Protocol protocol, SendConnection& connection) {
  if (!connection.hasCredit()) return false;
  const uint64_t step = connection.step;
  const uint32_t check = checkWord(task.fingerprint, static_cast<uint32_t>(task.bytes));
  if (protocol == Protocol::LL) {
    LLCodec::pack(connection.memory.llSlot(step), LLFlags<32>::flagOf(step), check, task.address, task.bytes);
  } else {
    LL128Codec::pack(connection.memory.ll128Slot(step), step + 1, check, task.address, task.bytes);
  }
  connection.publishPacked(protocol, wireBytes(protocol, task.bytes));
  return true;
}

}  // namespace

Protocol PointToPoint::run(Tasks tasks, Channel& channel, const ChunkStores& stores) {
  mismatch_.reset();
  stores_ = stores;
  copyOwn(tasks);
  const Protocol protocol = largestProtocol(tasks, channel);
  const size_t sent = protocol == Protocol::Simple ? 0 : sendAhead(tasks, channel);
  if (sent == tasks.size()) {
    receiveEach(tasks, channel);
  } else {
    enqueue(tasks, sent);
    moveEach(tasks, channel);
  }
  return protocol;
}

Protocol PointToPoint::largestProtocol(Tasks tasks, Channel& channel) const {
  Protocol largest = Protocol::LL;
  for (const PointToPointTask& task : tasks) {
    if (task.peer == rank_) continue;
    // a receive has the same protocol as a send of this size
    const SendConnection& connection = channel.sendTo(task.peer);
    largest = std::max(largest, protocolOf(task, connection.memory, connection.transport));
  }
  return largest;
}

// Sends small messages until one finds no credit. Returns the index of the first task that is not sent.
size_t PointToPoint::sendAhead(Tasks tasks, Channel& channel) const {
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].peer == rank_ || !isSend(tasks[i])) continue;
    SendConnection& connection = channel.sendTo(tasks[i].peer);
    if (!sendSmall(tasks[i], protocolOf(tasks[i], connection.memory, connection.transport), connection)) return i;
  }
  return tasks.size();
}

// Receives small messages one after the other. Call it only after this rank has sent all its messages, so that no peer
// waits for this rank.
void PointToPoint::receiveEach(Tasks tasks, Channel& channel) {
  const bool oneWay = std::none_of(tasks.begin(), tasks.end(), isSend);
  for (const PointToPointTask& task : tasks) {
    if (task.peer == rank_ || isSend(task)) continue;
    RecvConnection& connection = channel.recvFrom(task.peer);
    const Protocol protocol = protocolOf(task, connection.memory, connection.transport);
    size_t done = 0;
    bool over = false;
    const auto received = [&] {
      over = over || receiveSmall(task, protocol, done, connection) == Moved::All;
      return over || mismatch_;
    };
    const WaitPlace place{task.peer, connection.transport, WaitFor::Data, protocol, connection.step};
    if (!channel.waiter().wait(received, place) || failMismatched(channel)) return;
    if (oneWay) connection.prefetch(protocol, wireBytes(protocol, task.bytes));
  }
}

// Announces the memory of large messages to the network, and moves all queues to their end.
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

// Fails the communicator and returns true if a message did not match. Call it after a wait has ended, because the end
// of a wait clears the progress record, which must show the mismatch.
bool PointToPoint::failMismatched(Channel& channel) {
  if (mismatch_) channel.waiter().fail(Code::Mismatch, *mismatch_);
  return mismatch_.has_value();
}

// Waits until the network no longer needs the user's memory. Returns false after a failure.
bool PointToPoint::finishSends(Channel& channel) {
  for (size_t i = 0; i < used_; ++i) {
    if (queues_[i].kind != PointToPointTask::Kind::Send) continue;
    SendConnection& connection = channel.sendTo(queues_[i].peer);
    if (!waitUntilSent(channel.waiter(), connection, connection.zeroCopySends.end(), Protocol::Simple)) return false;
  }
  return true;
}

WaitPlace PointToPoint::placeOf(const Queue& queue, Channel& channel) {
  if (queue.kind == PointToPointTask::Kind::Send) {
    const SendConnection& to = channel.sendTo(queue.peer);
    return {queue.peer, to.transport, WaitFor::Credit, Protocol::Simple, to.step};
  }
  const RecvConnection& from = channel.recvFrom(queue.peer);
  return {queue.peer, from.transport, WaitFor::Data, Protocol::Simple, from.step};
}

// Moves one chunk of each queue in turn until all queues are empty. Returns false after a failure.
bool PointToPoint::moveAll(Tasks tasks, Channel& channel) {
  Waiter& waiter = channel.waiter();
  for (;;) {
    std::optional<WaitPlace> place;
    for (size_t i = 0; i < used_; ++i) {
      if (queues_[i].next >= queues_[i].tasks.size()) continue;
      const WaitPlace next = placeOf(queues_[i], channel);
      if (!place) place = next;
      if (isNetwork(next.transport) != isNetwork(place->transport)) place->isOneOfMany = true;
    }
    if (!place) return true;
    // A wait may evaluate its condition again after the condition was true, so `any` stays true once something has
    // moved.
    bool any = false;
    const auto moved = [&] {
      for (size_t i = 0; i < used_; ++i) any = advance(queues_[i], tasks, channel) || any;
      return any;
    };
    if (!waiter.wait(moved, *place) || waiter.control().failed() || mismatch_) return false;
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

// Puts the tasks into one queue for each peer and direction. Sends before index `firstSend` have already been sent.
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

// Moves one chunk of the queue's current task if that is possible now. Returns true if something has moved or a
// mismatch was found.
bool PointToPoint::advance(Queue& queue, Tasks tasks, Channel& channel) {
  if (queue.next == queue.tasks.size()) return false;
  const PointToPointTask& task = tasks[queue.tasks[queue.next]];
  if (queue.kind == PointToPointTask::Kind::Send) return advanceSend(queue, task, channel.sendTo(queue.peer));
  return advanceRecv(queue, task, channel.recvFrom(queue.peer));
}

bool PointToPoint::advanceSend(Queue& queue, const PointToPointTask& task, SendConnection& connection) {
  const Protocol protocol = protocolOf(task, connection.memory, connection.transport);
  if (protocol != Protocol::Simple) {
    if (!sendSmall(task, protocol, connection)) return false;
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
  const Protocol protocol = protocolOf(task, connection.memory, connection.transport);
  if (protocol != Protocol::Simple) {
    const Moved moved = receiveSmall(task, protocol, queue.done, connection);
    if (moved == Moved::All) account(queue, task, 0);
    return moved != Moved::Nothing;
  }
  if (connection.isNet() && isLarge(task)) postAddresses(task, queue.done, connection);
  if (!connection.isPublished()) {
    const std::optional<Protocol> other = foundInstead(connection, protocol);
    if (other) mismatch(connection, *other);
    return other.has_value();
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

// Copies bytes, past the cache if `pastCache` is set and the buffers do not overlap. Buffers of a message from this
// rank to itself may overlap.
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

// Unpacks the part of a small message that has arrived, from offset `done` on. Returns Moved::Part for a mismatch, too.
PointToPoint::Moved PointToPoint::receiveSmall(const PointToPointTask& task, Protocol protocol, size_t& done,
                                               RecvConnection& connection) {
  const uint64_t step = connection.step;
  const bool isLL = protocol == Protocol::LL;
  const uint32_t flag = LLFlags<32>::flagOf(step);
  const uint8_t* const slot = connection.memory.slotData(protocol, step);
  uint32_t check = 0;
  if (isLL ? !LLCodec::load(slot, 0, flag, check) : !LL128Codec::ready(slot, 0, step + 1)) {
    const std::optional<Protocol> other = foundInstead(connection, protocol);
    if (!other) return Moved::Nothing;
    mismatch(connection, *other);
    return Moved::Part;
  }
  if (!isLL) check = LL128Codec::check(slot);
  if (check != checkWord(task.fingerprint, static_cast<uint32_t>(task.bytes))) {
    mismatch(connection, protocol);
    return Moved::Part;
  }
  const size_t before = done;
  done = isLL ? LLCodec::unpack(slot, flag, task.address, done, task.bytes)
              : LL128Codec::unpack(slot, step + 1, task.address, done, task.bytes);
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
