#include "engine/communicator.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "base/shared_cache.h"
#include "engine/loan.h"
#include "engine/operation_arguments.h"

namespace jccl {
namespace {

// A spin is worth its time only while the peer runs at the same time.
constexpr int kSpins = 2000;
constexpr int kSpinsWithNetwork = 50;
constexpr int kSpinsCrowded = 4;
constexpr int kFirstYieldsCrowded = 3;
constexpr int64_t kSpinNanos = 20'000;
constexpr uint64_t kOperationsPerSettling = 64;

// Of these sizes on, ways of storing are tried (store_trials.h). Below, pieces are written so quickly that reading the clock
// costs more than can be won, and an output may still be in the core's own cache when its user reads it.
constexpr size_t kLeastTriedSlots = 16u << 10;
constexpr size_t kLeastTriedOutput = 4u << 20;

// A virtual machine is told of a whole processor's cache, whose other cores work for others.
constexpr size_t kMostCacheOfACore = 16u << 20;

const char* nameOf(WaitFor waitFor) {
  constexpr const char* names[] = {"data", "credit", "board", "worker"};
  return names[static_cast<int>(waitFor)];
}

// Whether ranks have to take turns on the cores.
bool isCrowded(const CommunicatorConfig& config) { return config.localRanks > config.cores; }

}  // namespace

SegmentShape Communicator::segmentShape(const CommunicatorConfig& config) {
  return {static_cast<uint32_t>(config.size), static_cast<uint32_t>(config.channels),
          ConnectionShape(config.simpleSlotBytes, config.llSlotBytes, config.ll128SlotBytes),
          // Ranks that share a core share its cache, too: the fewer lines they use, the more of them stay in it.
          !isCrowded(config)};
}

Communicator::Communicator(const CommunicatorConfig& config, uint8_t* segment)
    : config_(config),
      shape_(segmentShape(config)),
      segment_(segment, shape_),
      transports_(config.size, TransportKind::None),
      peerSegments_(config.size),
      zeroCopy_(config.rank, config.size),
      pointToPoint_(config.rank),
      coreSharing_(config.rank, config.size, config.localRanks, config.cores, config.spreadsRanks) {
  Doorbell::registerPublisher();
  // The buffers of all ranks that share a cache, one to send and one to receive each.
  const SharedCache cache = sharedCache();
  const size_t ours = std::min(cache.bytes, static_cast<size_t>(cache.cores) * kMostCacheOfACore);
  streamingBytes_ = ours / (2 * std::max(1, std::min(config.localRanks, cache.cores))) + 1;
  segment_.writeHeader(config.rank, config.token);
  zeroCopy_.setOwn(segment_);
  coreSharing_.setOwn(segment_.whereabouts());
  const bool crowded = isCrowded(config);
  control_.bell = &segment_.bell();
  control_.spins = crowded ? kSpinsCrowded : kSpins;
  // Who asks for spins gets them before the first yield.
  control_.firstYields = crowded && config.spinNanos <= 0 ? kFirstYieldsCrowded : 0;
  control_.spinNanos = config.spinNanos >= 0 ? config.spinNanos : crowded ? 0 : kSpinNanos;
  for (int type = 0; type < kDataTypeCount; ++type) {
    for (int op = 0; op < kReduceOpCount; ++op) {
      kernels_[type][op] = reduceCopyKernel(static_cast<DataType>(type), static_cast<ReduceOp>(op));
    }
  }
  for (int channel = 0; channel < config.channels; ++channel) {
    channels_.push_back(std::make_unique<Channel>(channel, config.rank, config.size, control_));
  }
}

Communicator::~Communicator() = default;

Status Communicator::connectLocal(int peer, TransportKind transport, uint8_t* base) {
  if (peer < 0 || peer >= config_.size || peer == config_.rank) {
    return Status::invalid("peer=" + std::to_string(peer) +
                           ", expected another rank below size=" + std::to_string(config_.size));
  }
  const Segment segment(base, shape_);
  if (Status status = segment.verify(peer, config_.token); !status) return status;
  if (transports_[peer] == TransportKind::None) ++localPeers_;
  control_.onlyNetwork = false;
  transports_[peer] = transport;
  peerSegments_[peer] = segment;
  zeroCopy_.addPeer(peer, transport, segment);
  coreSharing_.addPeer(peer, segment.whereabouts());
  for (int c = 0; c < config_.channels; ++c) {
    uint8_t* ours = segment_.block(peer, c);
    uint8_t* theirs = segment.block(config_.rank, c);
    SendConnection& send = channels_[c]->sendTo(peer);
    send.memory = {theirs, reinterpret_cast<HeadLine*>(ours + shape_.connection.headOffset()), shape_.connection};
    send.memory.rotates = shape_.rotates;
    send.receiverBell = &segment.bell();
    send.transport = transport;
    RecvConnection& recv = channels_[c]->recvFrom(peer);
    recv.memory = {ours, reinterpret_cast<HeadLine*>(theirs + shape_.connection.headOffset()), shape_.connection};
    recv.memory.rotates = shape_.rotates;
    recv.senderBell = &segment.bell();
    recv.sender = &segment.whereabouts();
    recv.transport = transport;
  }
  return Status::ok();
}

Status Communicator::connectNet(int peer, int channel, const ConnectionMemory& sendMemory,
                                const ConnectionMemory& recvMemory, FirstUse* firstUse) {
  if (peer < 0 || peer >= config_.size || peer == config_.rank || channel < 0 || channel >= config_.channels) {
    return Status::invalid("peer=" + std::to_string(peer) + " channel=" + std::to_string(channel) +
                           ", expected another rank below size=" + std::to_string(config_.size) +
                           " and a channel below channels=" + std::to_string(config_.channels));
  }
  transports_[peer] = TransportKind::Net;
  SendConnection& send = channels_[channel]->sendTo(peer);
  send.memory = sendMemory;
  send.firstUse = firstUse;
  send.transport = TransportKind::Net;
  RecvConnection& recv = channels_[channel]->recvFrom(peer);
  recv.memory = recvMemory;
  recv.transport = TransportKind::Net;
  return Status::ok();
}

StagedEnds Communicator::lendConnections(int peer, int channel) {
  SendConnection& send = channels_[channel]->sendTo(peer);
  const RecvConnection& recv = channels_[channel]->recvFrom(peer);
  // Kernels do not tell of their first step.
  if (send.firstUse != nullptr) send.firstUse->noteFirstUse();
  return {send.memory.block, send.memory.head, send.memory.deviceSlots,
          recv.memory.block, recv.memory.head, recv.memory.deviceSlots};
}

void Communicator::setProgress(ProgressEngine* progress) {
  control_.progress = progress;
  // Whoever waits also moves the network: looking at memory alone for long would hold it up.
  if (progress == nullptr) return;
  control_.onlyNetwork = localPeers_ == 0;
  control_.spins = std::min(control_.spins, kSpinsWithNetwork);
  control_.firstYields = 0;
}

Status Communicator::setRing(int channel, const std::vector<int>& order) {
  std::vector<bool> seen(config_.size, false);
  bool whole = static_cast<int>(order.size()) == config_.size && channel >= 0 && channel < config_.channels;
  for (int rank : order) {
    whole = whole && rank >= 0 && rank < config_.size && !seen[rank];
    if (whole) seen[rank] = true;
  }
  if (!whole) {
    return Status::invalid("ring of channel=" + std::to_string(channel) +
                           " has length=" + std::to_string(order.size()) + ", expected every rank below size=" +
                           std::to_string(config_.size) + " once, and channel < " + std::to_string(config_.channels));
  }
  channels_[channel]->setRing(order);
  return Status::ok();
}

Status Communicator::setTree(int channel, int up, const std::vector<int>& down) {
  const auto peer = [&](int rank) { return rank >= 0 && rank < config_.size && rank != config_.rank; };
  const bool good = channel >= 0 && channel < config_.channels && (up == -1 || peer(up)) &&
                    static_cast<int>(down.size()) <= kMaxTreeChildren && std::all_of(down.begin(), down.end(), peer);
  if (!good) {
    return Status::invalid("tree of channel=" + std::to_string(channel) + " has up=" + std::to_string(up) +
                           " children=" + std::to_string(down.size()) + ", expected up=-1 or another rank, at most " +
                           std::to_string(kMaxTreeChildren) + " children, channel < " +
                           std::to_string(config_.channels));
  }
  channels_[channel]->setTree(up, down);
  return Status::ok();
}

Status Communicator::checkPlan() const {
  for (int c = 0; c < config_.channels; ++c) {
    if (!channels_[c]->hasRing()) {
      return Status::invalid("channel=" + std::to_string(c) + " has no ring; call setRing for every channel first");
    }
    for (const auto& need : channels_[c]->needs()) {
      const bool connected = (!need.send || channels_[c]->sendTo(need.peer).transport != TransportKind::None) &&
                             (!need.recv || channels_[c]->recvFrom(need.peer).transport != TransportKind::None);
      if (!connected) {
        return Status::invalid("channel=" + std::to_string(c) + " needs peer=" + std::to_string(need.peer) +
                               ", which is not connected; call connect for it first");
      }
    }
  }
  return Status::ok();
}

// An argument is wrong: nothing has happened, the communicator stays usable.
Code Communicator::refuse(std::string why) {
  const std::lock_guard lock(errorMutex_);
  error_ = std::move(why);
  return Code::Invalid;
}

Transfer Communicator::transferOf(const Operation& operation) const {
  Transfer transfer;
  const OperationCode code = operation.code;
  transfer.input = operation.send;
  transfer.output = operation.recv;
  transfer.elementBytes = sizeOf(code.type);
  transfer.reduce = kernels_[static_cast<int>(code.type)][static_cast<int>(code.op)];
  if (code.op == ReduceOp::Avg) transfer.post.divisor = static_cast<uint32_t>(config_.size);
  transfer.fingerprint = narrow(operation.fingerprint);
  transfer.streaming = operation.bytes >= streamingBytes_;
  return transfer;
}

// What the engine does with a choice that does not fit: the same on all ranks, because it depends on common facts only.
Choice Communicator::settle(Choice choice, Collective collective) const {
  if (choice.channels > config_.channels) choice.channels = static_cast<uint8_t>(config_.channels);
  if (choice.algorithm == Algorithm::Tree && collective != Collective::AllReduce) choice.algorithm = Algorithm::Ring;
  if (choice.algorithm == Algorithm::Tree && !channels_[0]->hasTree()) choice.algorithm = Algorithm::Ring;
  if (choice.algorithm == Algorithm::Direct && config_.size - 1 > kMaxFanout) choice.algorithm = Algorithm::Ring;
  return choice;
}

void Communicator::begin(Operation& operation, int64_t timeoutNanos) {
  operation.sequence = ++sequence_;
  operation.fingerprint ^=
      operation.part.fingerprint() ^ fingerprintOf(operation.sequence, operation.code, operation.count, operation.root);
  control_.sequence.store(operation.sequence, std::memory_order_relaxed);
  control_.timeoutNanos.store(timeoutNanos, std::memory_order_relaxed);
  control_.startNanos.store(0, std::memory_order_relaxed);
  if (isCrowded(config_)) control_.core = coreSharing_.begin();
  if (operation.sequence % kOperationsPerSettling == 0) {
    for (const auto& channel : channels_) channel->waiter().settle();
  }
  history_.begin(operation);
  lastChoice_ = operation.choice;
}

Code Communicator::finish(const Operation& operation) {
  if (control_.progress != nullptr) control_.progress->kick();
  const Code code = failure();
  history_.end(operation.sequence, code == Code::Ok);
  return code;
}

// How much of this rank's send buffer an operation reads, and how much of its receive buffer it writes.
size_t Communicator::inputBytes(const Operation& operation) const {
  return operation.code.collective == Collective::AllGather ? partBytes(operation) : operation.bytes;
}
size_t Communicator::outputBytes(const Operation& operation) const {
  return operation.code.collective == Collective::ReduceScatter ? partBytes(operation) : operation.bytes;
}
size_t Communicator::partBytes(const Operation& operation) const {
  const auto own = static_cast<size_t>(config_.rank);
  const size_t count = operation.counts == nullptr ? operation.count : static_cast<size_t>(operation.counts[own]);
  return count * sizeOf(operation.code.type);
}

Code Communicator::execute(Operation& operation, int64_t timeoutNanos) {
  if (control_.failed()) return failure();
  begin(operation, timeoutNanos);
  Transfer transfer = transferOf(operation);
  const bool tryZeroCopy = (operation.choice.flags & Choice::kTryZeroCopy) != 0 && config_.size > 1 &&
                           operation.bytes != 0 && allLocal() && config_.size - 1 <= kMaxFanout &&
                           ZeroCopy::supports(operation.code.collective);
  if (!__builtin_expect(tryZeroCopy, 0) || !runInPlace(operation, transfer)) runStaged(operation, transfer);
  return finish(operation);
}

// Returns whether the operation is over: not if somebody's buffers cannot be reached by everybody.
bool Communicator::runInPlace(const Operation& operation, Transfer transfer) {
  const Collective collective = operation.code.collective;
  const bool tried = operation.bytes >= kLeastTriedOutput;
  if (tried) transfer.streaming = inPlaceOutputs_.streams(collective, operation.bytes, transfer.streaming);
  const int64_t start = tried ? monotonicNanos() : 0;
  const auto result =
      zeroCopy_.run(operation, transfer, inputBytes(operation), outputBytes(operation), channels_[0]->waiter());
  if (result == ZeroCopy::Result::Staged) return false;
  if (tried) inPlaceOutputs_.took(collective, operation.bytes, monotonicNanos() - start);
  lastChoice_.algorithm = Algorithm::Direct;
  lastChoice_.flags |= Choice::kZeroCopyUsed;
  return true;
}

void Communicator::runStaged(const Operation& operation, Transfer transfer) {
  if (operation.choice.protocol != Protocol::Simple) return runChannels(operation, transfer);
  Loan loan(control_.progress);
  loan.add(operation.send, inputBytes(operation), false);
  loan.add(operation.recv, outputBytes(operation), true);
  const size_t bytes = operation.bytes;
  if (bytes < kLeastTriedSlots || localPeers_ == 0) return runChannels(operation, transfer);
  const Collective collective = operation.code.collective;
  const bool tryOutput = bytes >= kLeastTriedOutput;
  transfer.streamingSlots = slots_.streams(collective, bytes);
  if (tryOutput) transfer.streaming = outputs_.streams(collective, bytes, transfer.streaming);
  const int64_t start = monotonicNanos();
  runChannels(operation, transfer);
  const int64_t nanos = monotonicNanos() - start;
  slots_.took(collective, bytes, nanos);
  if (tryOutput) outputs_.took(collective, bytes, nanos);
}

void Communicator::runChannels(const Operation& operation, const Transfer& transfer) {
  const int channels = operation.choice.channels;
  if (__builtin_expect(channels > 1, 0)) {
    if (workers_ == nullptr) {
      workers_ =
          std::make_unique<Workers>([this](int channel) { channels_[channel]->run(*inFlight_, transferInFlight_); });
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
    channels_[0]->run(operation, transfer);
    workers_->join(channels);
    inFlight_ = nullptr;
  } else {
    channels_[0]->run(operation, transfer);
  }
}

Code Communicator::run(OperationCode code, Choice choice, uint64_t send, uint64_t recv, int64_t count, int root,
                       int64_t timeoutNanos, Part part) {
  if (Status status = checkArguments(code, choice, count, root, config_.size); !status) return refuse(status.message());
  if (!channels_[0]->hasRing()) return refuse("channel=0 has no ring; call setRing for every channel first");
  Operation operation = operationOf(code, settle(choice, code.collective), reinterpret_cast<const void*>(send),
                                    reinterpret_cast<void*>(recv));
  setCount(operation, static_cast<size_t>(count), root, config_.size);
  operation.part = part;
  if (isExchange(code.collective)) return runExchange(operation, timeoutNanos);
  return execute(operation, timeoutNanos);
}

// All-to-all, gather and scatter are groups of sends and receives.
Code Communicator::runExchange(Operation& operation, int64_t timeoutNanos) {
  std::vector<PointToPointTask> tasks = exchangeTasks(operation, config_.rank, config_.size);
  return executeTasks(operation, tasks, timeoutNanos);
}

Code Communicator::runV(OperationCode code, Choice choice, uint64_t send, uint64_t recv,
                        const std::vector<int64_t>& counts, int64_t timeoutNanos, Part part) {
  if (Status status = checkCounts(code, choice, counts, config_.size); !status) return refuse(status.message());
  Operation operation = operationOf(code, settle(choice, code.collective), reinterpret_cast<const void*>(send),
                                    reinterpret_cast<void*>(recv));
  operation.part = part;
  if (code.collective == Collective::AllToAll) {
    std::vector<PointToPointTask> tasks = vectorExchangeTasks(operation, counts, config_.rank, config_.size);
    if (Status status = checkTasks(config_.rank, config_.size, tasks); !status) return refuse(status.message());
    return executeTasks(operation, tasks, timeoutNanos);
  }
  setCounts(operation, counts, config_.size);
  return execute(operation, timeoutNanos);
}

Status Communicator::checkConnected(const std::vector<PointToPointTask>& tasks) const {
  for (const auto& task : tasks) {
    if (task.peer != config_.rank && transports_[task.peer] == TransportKind::None) {
      return Status::invalid("peer=" + std::to_string(task.peer) + " is not connected; call connect for it first");
    }
  }
  return Status::ok();
}

Code Communicator::runPointToPoint(const std::vector<PointToPointTask>& tasks, int64_t timeoutNanos) {
  if (Status status = checkTasks(config_.rank, config_.size, tasks); !status) return refuse(status.message());
  if (Status status = checkConnected(tasks); !status) return refuse(status.message());
  if (control_.failed()) return failure();
  // Not every rank takes part, so this is no operation of the communicator's sequence.
  control_.sequence.store(sequence_, std::memory_order_relaxed);
  control_.timeoutNanos.store(timeoutNanos, std::memory_order_relaxed);
  control_.startNanos.store(0, std::memory_order_relaxed);
  lastChoice_ = {Algorithm::Direct, Protocol::Simple, 1, 0, 0};
  pointToPoint_.run(tasks, *channels_[0]);
  if (control_.progress != nullptr) control_.progress->kick();
  return failure();
}

Code Communicator::executeTasks(Operation& operation, std::vector<PointToPointTask>& tasks, int64_t timeoutNanos) {
  if (Status status = checkConnected(tasks); !status) return refuse(status.message());
  if (control_.failed()) return failure();
  operation.choice.algorithm = Algorithm::Direct;
  operation.choice.protocol = Protocol::Simple;
  operation.choice.channels = 1;
  begin(operation, timeoutNanos);
  for (auto& task : tasks) {
    task.fingerprint = narrow(operation.fingerprint ^ (task.bytes + 1) * 0x9e3779b97f4a7c15u);
  }
  pointToPoint_.run(tasks, *channels_[0]);
  return finish(operation);
}

void Communicator::abort(Code code) {
  control_.fail(code);
  // Waiters look at the failure whenever they get up; this gets them up.
  segment_.bell().ring();
  if (control_.progress != nullptr) control_.progress->kick();
}

std::string Communicator::lastError() const {
  {
    const std::lock_guard lock(errorMutex_);
    if (!error_.empty()) return error_;
  }
  const Code code = failure();
  if (code == Code::Ok) return "";
  std::string text = "rank=" + std::to_string(config_.rank);
  HistoryRow row;
  if (!history_.read(history_.lastEntered(), row) || row.state == OperationState::Done) {
    text += " after sequence=" + std::to_string(history_.lastEntered());  // in sends and receives, which have no number
  } else {
    const OperationCode operation = OperationCode::decode(row.code);
    text += " sequence=" + std::to_string(row.sequence) + " collective=" + nameOf(operation.collective) +
            " type=" + nameOf(operation.type) + " op=" + nameOf(operation.op) + " count=" + std::to_string(row.count) +
            " root=" + std::to_string(row.root);
  }
  switch (code) {
    case Code::Timeout:
      text = "timeoutMillis=" + std::to_string(control_.timeoutNanos.load() / 1'000'000) + " passed: " + text;
      break;
    case Code::Mismatch:
      text = "a peer runs another operation, or the same with other arguments: " + text;
      break;
    default:
      break;
  }
  for (const auto& wait : waiting()) {
    text += "; channel=" + std::to_string(wait.channel) + " peer=" + std::to_string(wait.peer) +
            " transport=" + nameOf(wait.transport) + " protocol=" + nameOf(wait.protocol) +
            " waitsFor=" + nameOf(wait.waitFor) + " step=" + std::to_string(wait.step);
  }
  return text;
}

std::vector<WaitingRow> Communicator::waiting() const {
  std::vector<WaitingRow> rows;
  for (int c = 0; c < config_.channels; ++c) {
    const ProgressRecord& record = channels_[c]->record();
    const uint64_t sequence = record.sequence.load(std::memory_order_acquire);
    if (sequence == 0) continue;
    rows.push_back({sequence - 1, c, record.peer.load(std::memory_order_relaxed),
                    static_cast<TransportKind>(record.transport.load(std::memory_order_relaxed)),
                    static_cast<WaitFor>(record.waitFor.load(std::memory_order_relaxed)),
                    static_cast<Protocol>(record.protocol.load(std::memory_order_relaxed)),
                    record.step.load(std::memory_order_relaxed), record.sinceNanos.load(std::memory_order_relaxed)});
  }
  return rows;
}

MemoryUsage Communicator::memoryUsage() const {
  MemoryUsage usage;
  usage.segmentBytes = shape_.bytes();
  for (const auto& channel : channels_) usage.scratchBytes += channel->scratchBytes();
  return usage;
}

}  // namespace jccl
