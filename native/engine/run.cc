// The part of Engine that runs operations: in place, through slots, or as sends and receives.
#include <algorithm>

#include "base/clock.h"
#include "base/thrown.h"
#include "engine/engine.h"
#include "engine/operation_arguments.h"
#include "engine/scan.h"
#include "engine/user_memory_scope.h"

namespace jccl {
namespace {

constexpr uint64_t kOperationsPerUpdate = 64;

// Smallest operations for which both kinds of store are measured (store_policy.h). Chunks of smaller operations are
// written so quickly that reading the clock costs more than the faster kind of store saves. A small output may still be
// in the core's own cache when the application reads it.
constexpr size_t kMinTriedSlots = 16u << 10;
constexpr size_t kMinTriedOutput = 4u << 20;

// Smallest operation that fills the slots of its channels.
constexpr size_t kMinFillingBytes = 4u << 20;

// Lets each message contain the operation's fingerprint, and its own size.
void setFingerprints(const Operation& operation, std::span<PointToPointTask> tasks) {
  for (auto& task : tasks) {
    task.fingerprint = narrow(operation.fingerprint ^ (task.bytes + 1) * 0x9e3779b97f4a7c15u);
  }
}

}  // namespace

// Runs `body` on operationThread_ if calls of the network may block, otherwise on the calling thread. operationThread_
// can be left behind in such a call. That thread runs the whole operation, so that each operation costs one handover
// instead of one for each message.
template <typename Body>
Code Engine::onOperationThread(Body body) {
  if (__builtin_expect(operationThread_ == nullptr, 1)) return body();
  if (operationThreadLeft_) return failure();
  Code code = Code::Ok;
  operationBody_ = [this, &code, &body] {
    try {
      code = body();
    } catch (...) {
      code = failThrown();
    }
  };
  operationThread_->start();
  if (operationThread_->join()) return code;
  operationThreadLeft_ = true;
  control_.fail(Code::Transport);
  if (control_.progress != nullptr) control_.progress->revoke();
  return failure();
}

bool Engine::pauseNext() {
  pausesNext_ = operationThread_ == nullptr && fiber_.open();
  return pausesNext_;
}

// `body` owns its arguments, because it goes on after the call that started it.
Code Engine::startPausing(std::function<Code()> body) {
  pausesNext_ = false;
  control_.fiber = &fiber_;
  control_.pauses = true;
  return codeOfFiber(fiber_.start([this, body = std::move(body)] {
    try {
      pausedCode_ = body();
    } catch (...) {
      pausedCode_ = failThrown();
    }
  }));
}

Code Engine::codeOfFiber(bool ended) {
  control_.pauses = false;
  return ended ? pausedCode_ : Code::Paused;
}

Code Engine::resume(int64_t timeoutNanos, bool pauses) {
  if (!fiber_.isPaused()) return refuse("no operation is paused");
  // Time limits count from the first long wait of an operation.
  const int64_t start = control_.startNanos.load(std::memory_order_relaxed);
  const int64_t spent = start == 0 ? 0 : monotonicNanos() - start;
  control_.timeoutNanos.store(spent + std::max<int64_t>(timeoutNanos, 1), std::memory_order_relaxed);
  control_.pauses = pauses;
  return codeOfFiber(fiber_.resume());
}

Code Engine::run(OperationCode code, const Choice& choice, uint64_t send, uint64_t recv, int64_t count, int root,
                 int64_t timeoutNanos, const Part& part, const Wire& wire) {
  if (__builtin_expect(pausesNext_, 0)) {
    return startPausing([=, this] { return runHere(code, choice, send, recv, count, root, timeoutNanos, part, wire); });
  }
  return onOperationThread([&] { return runHere(code, choice, send, recv, count, root, timeoutNanos, part, wire); });
}

Code Engine::runV(OperationCode code, const Choice& choice, uint64_t send, uint64_t recv,
                  const std::vector<int64_t>& counts, int root, int64_t timeoutNanos, const Part& part,
                  const Wire& wire) {
  if (__builtin_expect(pausesNext_, 0)) {
    return startPausing(
        [=, this] { return runVHere(code, choice, send, recv, counts, root, timeoutNanos, part, wire); });
  }
  return onOperationThread([&] { return runVHere(code, choice, send, recv, counts, root, timeoutNanos, part, wire); });
}

Code Engine::runPointToPoint(std::span<const PointToPointTask> tasks, int64_t timeoutNanos) {
  if (__builtin_expect(pausesNext_, 0)) {
    return startPausing([this, own = std::vector<PointToPointTask>(tasks.begin(), tasks.end()), timeoutNanos] {
      return runPointToPointHere(own, timeoutNanos);
    });
  }
  return onOperationThread([&] { return runPointToPointHere(tasks, timeoutNanos); });
}

Code Engine::runHere(OperationCode code, const Choice& choice, uint64_t send, uint64_t recv, int64_t count, int root,
                     int64_t timeoutNanos, const Part& part, const Wire& wire) {
  if (Status status = checkArguments(code, choice, count, root, config_.size); !status) return refuse(status.message());
  if (!channels_[0]->hasRing()) return refuse("channel=0 has no ring; call setRing for every channel first");
  if (Status status = checkWire(code, wire.code); !status) return refuse(status.message());
  Operation operation = operationOf(code, adjustChoice(choice, code, true, narrows(wire)),
                                    reinterpret_cast<const void*>(send), reinterpret_cast<void*>(recv));
  setCount(operation, static_cast<size_t>(count), root, config_.size);
  operation.part = part;
  setWire(operation, wire);
  if (code.collective == Collective::AllToAll && channels_[0]->exchangesByHosts(operation)) {
    operation.choice.channels = 1;
    operation.moved = operation.bytes * static_cast<size_t>(config_.size);
    return execute(operation, timeoutNanos);
  }
  if (isExchange(code.collective)) return runExchange(operation, timeoutNanos);
  if (isScan(code.collective)) return runScan(operation, timeoutNanos);
  return execute(operation, timeoutNanos);
}

Code Engine::runVHere(OperationCode code, const Choice& choice, uint64_t send, uint64_t recv,
                      const std::vector<int64_t>& counts, int root, int64_t timeoutNanos, const Part& part,
                      const Wire& wire) {
  if (Status status = checkCounts(code, choice, counts, root, config_.size); !status) return refuse(status.message());
  if (Status status = checkWire(code, wire.code); !status) return refuse(status.message());
  Operation operation = operationOf(code, adjustChoice(choice, code, false, narrows(wire)),
                                    reinterpret_cast<const void*>(send), reinterpret_cast<void*>(recv));
  operation.part = part;
  setWire(operation, wire);
  if (code.exchangesWithCounts()) {
    vectorExchangeTasks(operation, counts, config_.rank, config_.size, tasks_);
    if (Status status = checkTasks(config_.rank, config_.size, tasks_); !status) return refuse(status.message());
    return executeTasks(operation, timeoutNanos);
  }
  setCounts(operation, counts, root, config_.size);
  if (isExchange(code.collective)) return runExchange(operation, timeoutNanos);
  return execute(operation, timeoutNanos);
}

Code Engine::runPointToPointHere(std::span<const PointToPointTask> tasks, int64_t timeoutNanos) {
  if (Status status = checkTasks(config_.rank, config_.size, tasks); !status) return refuse(status.message());
  if (Status status = checkConnected(tasks); !status) return refuse(status.message());
  if (control_.failed()) return failure();
  // Not every rank takes part, so sends and receives get no sequence number.
  control_.sequence.store(sequence_, std::memory_order_relaxed);
  control_.timeoutNanos.store(timeoutNanos, std::memory_order_relaxed);
  control_.startNanos.store(0, std::memory_order_relaxed);
  const uint64_t transfers = transfers_.begin(sequence_, tasks);
  lastChoice_ = {Algorithm::Direct, moveMessages(Collective::SendRecv, tasks), 1, 0, 0};
  if (control_.progress != nullptr) control_.progress->kick();
  const Code code = failure();
  const int64_t ticks = transfers_.end(transfers, code == Code::Ok, control_.waitsOfOperation());
  if (code != Code::Ok) return code;
  size_t bytes = 0;
  for (const PointToPointTask& task : tasks) {
    if (task.kind == PointToPointTask::Kind::Send) bytes += task.bytes;
  }
  counters_.count(Collective::SendRecv, bytes, ticks, false);
  return code;
}

// All-to-all, gather and scatter are groups of sends and receives.
Code Engine::runExchange(Operation& operation, int64_t timeoutNanos) {
  exchangeTasks(operation, config_.rank, config_.size, tasks_);
  return executeTasks(operation, timeoutNanos);
}

Code Engine::execute(Operation& operation, int64_t timeoutNanos) {
  if (control_.failed()) return failure();
  enter(operation, timeoutNanos);
  Transfer transfer = transferOf(operation);
  const bool inPlace = __builtin_expect(triesInPlace(operation), 0) && runInPlace(operation, transfer);
  if (!inPlace) {
    runThroughSlots(operation, transfer);
    // Copied only after the run: earlier, reading `choice` would wait for the stores that have just written it.
    lastChoice_ = operation.choice;
  }
  return finish(operation, inPlace);
}

// Requests huge pages for the slots of `channels` channels. Only large operations call this: small ones touch little of
// the slots' memory, but a huge page is always allocated as a whole.
void Engine::takeHugePages(int channels) {
  for (int channel = hugeChannels_; channel < channels && slotMemory_ != nullptr; ++channel) {
    for (const Channel::Need& need : needs(channel)) {
      const TransportKind kind = transports_[need.peer];
      if (!need.recv || (kind != TransportKind::P2p && kind != TransportKind::Shm)) continue;
      slotMemory_->takeHugePages(shape_.blockOffset(need.peer, channel), shape_.connection.blockBytes());
    }
  }
  hugeChannels_ = channels;
}

Code Engine::executeTasks(Operation& operation, int64_t timeoutNanos) {
  if (Status status = checkConnected(tasks_); !status) return refuse(status.message());
  if (control_.failed()) return failure();
  operation.choice.algorithm = Algorithm::Direct;
  operation.choice.protocol = Protocol::Simple;
  operation.choice.channels = 1;
  operation.moved = movedBytes(tasks_);
  enter(operation, timeoutNanos);
  if (triesInPlace(operation) && runInPlace(operation, transferOf(operation))) return finish(operation, true);
  setFingerprints(operation, tasks_);
  const Protocol used = moveMessages(operation.code.collective, tasks_);
  lastChoice_ = operation.choice;
  lastChoice_.protocol = used;
  return finish(operation, false);
}

// A scan consists of several groups of sends and receives.
Code Engine::runScan(Operation& operation, int64_t timeoutNanos) {
  if (operation.code.op == ReduceOp::Avg) return refuse("op=avg, expected another reduction for a scan");
  tasks_.clear();
  for (int peer = 0; peer < config_.size; ++peer) tasks_.push_back({PointToPointTask::Kind::Send, peer, nullptr, 0, 0});
  if (Status status = checkConnected(tasks_); !status) return refuse(status.message());
  if (control_.failed()) return failure();
  operation.choice.algorithm = Algorithm::Direct;
  operation.choice.protocol = Protocol::LL;
  operation.choice.channels = 1;
  enter(operation, timeoutNanos);
  const ReduceCopyFn reduce = kernels_[static_cast<int>(operation.code.type)][static_cast<int>(operation.code.op)];
  Scan(operation, reduce, config_.rank, config_.size, scanMemory_, [&](std::vector<PointToPointTask>& tasks) {
    setFingerprints(operation, tasks);
    operation.choice.protocol = std::max(operation.choice.protocol, moveMessages(operation.code.collective, tasks));
    return !control_.failed();
  }).run();
  lastChoice_ = operation.choice;
  return finish(operation, false);
}

Protocol Engine::moveMessages(Collective collective, std::span<const PointToPointTask> tasks) {
  size_t bytes = 0;
  for (const PointToPointTask& task : tasks) {
    if (task.kind == PointToPointTask::Kind::Recv) bytes += task.bytes;
  }
  if (bytes < kMinTriedSlots || localPeers_ == 0) return pointToPoint_.run(tasks, *channels_[0], {});
  const bool tryOutput = bytes >= kMinTriedOutput;
  ChunkStores stores{kernels_[static_cast<int>(DataType::Uint8)][static_cast<int>(ReduceOp::Sum)]};
  stores.pastCacheToSlots = slots_.streams(collective, bytes);
  stores.pastCacheToOutput = tryOutput && outputs_.streams(collective, bytes, bytes >= streamingBytes_);
  const int64_t start = monotonicNanos();
  const Protocol used = pointToPoint_.run(tasks, *channels_[0], stores);
  const int64_t nanos = monotonicNanos() - start;
  slots_.took(collective, bytes, nanos);
  if (tryOutput) outputs_.took(collective, bytes, nanos);
  return used;
}

void Engine::enter(Operation& operation, int64_t timeoutNanos) {
  operation.sequence = ++sequence_;
  operation.fingerprint ^= operation.wire.packed * 0x9e3779b97f4a7c15u;
  operation.fingerprint ^=
      operation.part.fingerprint() ^ fingerprintOf(operation.sequence, operation.code, operation.count, operation.root);
  control_.sequence.store(operation.sequence, std::memory_order_relaxed);
  control_.timeoutNanos.store(timeoutNanos, std::memory_order_relaxed);
  control_.startNanos.store(0, std::memory_order_relaxed);
  const bool updates = operation.sequence % kOperationsPerUpdate == 0;
  if (control_.policy.oversubscribed) {
    control_.core = coreSharing_.begin();
  } else if (__builtin_expect(control_.sharesCore || updates, 0)) {
    coreSharing_.begin();
    control_.sharesCore = false;  // a wait sets it again if it finds another rank on this core
  }
  if (updates) {
    for (const auto& channel : channels_) channel->waiter().updateRegistration();
  }
  history_.begin(operation);
}

Code Engine::finish(const Operation& operation, bool inPlace) {
  if (control_.progress != nullptr) control_.progress->kick();
  const Code code = failure();
  const int64_t ticks = history_.end(operation, code == Code::Ok, control_.waitsOfOperation(), inPlace);
  if (code == Code::Ok) counters_.count(operation.code.collective, operation.bufferBytes(), ticks, inPlace);
  return code;
}

// Returns the choice that is nearest to `choice` among those that this communicator can run on the host. The result is
// the same on all ranks, because it depends only on facts that they share. `evenParts`: the operation has one count for
// all ranks. `narrowed`: chunks that cross hosts are narrowed.
Choice Engine::adjustChoice(Choice choice, OperationCode code, bool evenParts, bool narrowed) const {
  const Collective collective = code.collective;
  if (choice.channels > config_.channels) choice.channels = static_cast<uint8_t>(config_.channels);
  const Algorithm algorithm = choice.algorithm;
  if (algorithm != Algorithm::Ring && algorithm != Algorithm::Tree && algorithm != Algorithm::Direct) {
    const AddedSchedule* added = narrowed ? nullptr : channels_[0]->added();
    if (evenParts && added != nullptr && added->runs(algorithm, code)) {
      choice.channels = static_cast<uint8_t>(std::min<int>(choice.channels, addedSchedules_));
    } else {
      choice.algorithm = Algorithm::Ring;
    }
  }
  if (choice.algorithm == Algorithm::Tree && collective != Collective::AllReduce) choice.algorithm = Algorithm::Ring;
  if (choice.algorithm == Algorithm::Tree && !channels_[0]->hasTree()) choice.algorithm = Algorithm::Ring;
  if (choice.algorithm == Algorithm::Direct && config_.size - 1 > kMaxFanout) choice.algorithm = Algorithm::Ring;
  if (__builtin_expect(narrowed, 0)) {
    choice.protocol = Protocol::Simple;
    // In a one-shot all-reduce each rank would add its own exact input to rounded ones of other hosts.
    if (collective == Collective::AllReduce && (choice.flags & Choice::kTwoShot) == 0) {
      choice.flags |= Choice::kByHosts;
    }
  }
  return choice;
}

// Returns true if chunks of the operation that cross hosts are narrowed. All ranks get the same answer.
bool Engine::narrows(const Wire& wire) const {
  return __builtin_expect(!wire.code.isExact(), 0) && channels_[0]->hosts().count() > 1;
}

void Engine::setWire(Operation& operation, const Wire& wire) const {
  operation.wire = wire.code;
  if (!narrows(wire)) return;
  operation.narrowing.format = wire.code.format();
  operation.narrowing.codec = wireCodec(wire.code.format(), wire.code.stochastic(), operation.code.type);
  // Every rank draws other random numbers, so that rounding errors of different ranks are independent.
  operation.narrowing.key = (wire.seed + 1) * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(config_.rank);
}

Transfer Engine::transferOf(const Operation& operation) const {
  Transfer transfer;
  const OperationCode code = operation.code;
  transfer.input = operation.send;
  transfer.output = operation.recv;
  transfer.elementBytes = sizeOf(code.type);
  transfer.reduce = kernels_[static_cast<int>(code.type)][static_cast<int>(code.op)];
  if (code.op == ReduceOp::Avg) transfer.post.divisor = static_cast<uint32_t>(config_.size);
  transfer.fingerprint = narrow(operation.fingerprint);
  transfer.streaming = operation.bytes >= streamingBytes_;
  if (operation.narrowing) transfer.narrowing = &operation.narrowing;
  return transfer;
}

// inputBytes() returns the most bytes of a rank's send buffer that an operation reads, outputBytes() the most bytes of
// its receive buffer that the operation writes.
size_t Engine::inputBytes(const Operation& operation) const {
  return operation.code.collective == Collective::AllGather ? partBytes(operation) : operation.bytes;
}

size_t Engine::outputBytes(const Operation& operation) const {
  return operation.code.collective == Collective::ReduceScatter ? partBytes(operation) : operation.bytes;
}

size_t Engine::partBytes(const Operation& operation) const {
  const auto own = static_cast<size_t>(config_.rank);
  const size_t count = operation.counts == nullptr ? operation.count : static_cast<size_t>(operation.counts[own]);
  return count * sizeOf(operation.code.type);
}

// Returns true if the operation first tries to run in place. All ranks get the same answer. An exchange with counts
// never does: its `bytes` is 0, because not all ranks know how much each rank sends to another.
bool Engine::triesInPlace(const Operation& operation) const {
  return (operation.choice.flags & Choice::kTryZeroCopy) != 0 && config_.size > 1 && operation.bytes != 0 &&
         allLocal() && config_.size - 1 <= kMaxFanout && ZeroCopy::supports(operation.code.collective);
}

// Runs the operation in place. Returns true if it is done or has failed. Returns false, and has done nothing, if some
// rank's buffers cannot be accessed by all ranks.
bool Engine::runInPlace(const Operation& operation, Transfer transfer) {
  const Collective collective = operation.code.collective;
  const bool tried = operation.bytes >= kMinTriedOutput;
  if (tried) transfer.streaming = inPlaceOutputs_.streams(collective, operation.bytes, transfer.streaming);
  const int64_t start = tried ? monotonicNanos() : 0;
  const auto result = zeroCopy_.run(operation, transfer, channels_[0]->waiter());
  if (result == ZeroCopy::Result::NotShared) return false;
  if (tried) inPlaceOutputs_.took(collective, operation.bytes, monotonicNanos() - start);
  lastChoice_ = operation.choice;
  lastChoice_.algorithm = Algorithm::Direct;
  lastChoice_.flags |= Choice::kZeroCopyUsed;
  return true;
}

void Engine::runThroughSlots(const Operation& operation, Transfer& transfer) {
  if (operation.choice.protocol != Protocol::Simple) return runChannels(operation, transfer);
  UserMemoryScope userMemory(control_.progress);
  userMemory.add(operation.send, inputBytes(operation), false);
  userMemory.add(operation.recv, outputBytes(operation), true);
  const size_t bytes = operation.bytes;
  if (bytes < kMinTriedSlots || localPeers_ == 0) return runChannels(operation, transfer);
  const Collective collective = operation.code.collective;
  const bool tryOutput = bytes >= kMinTriedOutput;
  if (__builtin_expect(bytes >= kMinFillingBytes && operation.choice.channels > hugeChannels_, 0)) {
    takeHugePages(operation.choice.channels);
  }
  transfer.streamingSlots = slots_.streams(collective, bytes);
  if (tryOutput) transfer.streaming = outputs_.streams(collective, bytes, transfer.streaming);
  const int64_t start = monotonicNanos();
  runChannels(operation, transfer);
  const int64_t nanos = monotonicNanos() - start;
  slots_.took(collective, bytes, nanos);
  if (tryOutput) outputs_.took(collective, bytes, nanos);
}

void Engine::runChannels(const Operation& operation, Transfer& transfer) {
  const int channels = operation.choice.channels;
  if (__builtin_expect(channels > 1, 0)) {
    if (workers_ == nullptr) {
      workers_ = std::make_unique<Workers>(holds(), [this](int channel) {
        Transfer transfer = transferInFlight_;
        runChannel(channel, *inFlight_, transfer);
      });
    }
    if (Status status = workers_->provide(channels); !status) {
      const std::lock_guard lock(errorMutex_);
      error_ = status.message();
      control_.fail(status.code());
      return;
    }
    inFlight_ = &operation;
    transferInFlight_ = transfer;
    workers_->start(channels);
    runChannel(0, operation, transfer);
    while (control_.pauses && !workers_->haveEnded(channels)) fiber_.pause();
    if (!workers_->join(channels)) control_.fail(Code::Transport);
    inFlight_ = nullptr;
  } else {
    runChannel(0, operation, transfer);
  }
}

// Runs a channel's share. An exception fails the communicator, so that the waits of the other channels end.
void Engine::runChannel(int channel, const Operation& operation, Transfer& transfer) noexcept {
  try {
    channels_[channel]->run(operation, transfer);
  } catch (...) {
    failThrown();
  }
}

// Fails the communicator with the exception that the calling catch block handles. Keeps the text of the exception if
// there is memory for it.
Code Engine::failThrown() noexcept {
  const Status thrown = thrownStatus();
  control_.fail(thrown.code());
  try {
    const std::lock_guard lock(errorMutex_);
    if (error_.empty()) error_ = thrown.message();
  } catch (...) {
    return thrown.code();  // there is no memory to keep the text
  }
  return thrown.code();
}

}  // namespace jccl
