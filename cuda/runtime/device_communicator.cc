#include "cuda/runtime/device_communicator.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "cuda/runtime/stream_owners.h"
#include "engine/operation_arguments.h"

namespace jccl::device {
namespace {

constexpr std::chrono::seconds kEndTimeout{2};
constexpr std::chrono::microseconds kEndNap{200};

uint32_t loadWord(const uint32_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

// A call of the driver that failed says nothing about arguments any more.
Code brokenBy(const Status& status) { return status.code() == Code::Invalid ? Code::System : status.code(); }

Code codeOf(uint32_t word) { return static_cast<Code>(static_cast<int32_t>(word)); }

std::string text(const DeviceCommunicator::What& what) {
  if (what.code.collective == Collective::SendRecv) return "send_recv tasks=" + std::to_string(what.count);
  return std::string(nameOf(what.code.collective)) + " type=" + nameOf(what.code.type) +
         " count=" + std::to_string(what.count) + " algorithm=" + nameOf(what.choice.algorithm) +
         " protocol=" + nameOf(what.choice.protocol) + " channels=" + std::to_string(what.choice.channels);
}

DeviceCommunicator::What whatOf(const Operation& operation) {
  return {operation.code, operation.choice, operation.count, operation.root, operation.fingerprint};
}

}  // namespace

DeviceCommunicator::~DeviceCommunicator() {
  const DeviceGuard guard(config_.device);
  const auto deadline = std::chrono::steady_clock::now() + kEndTimeout;
  bool idle = false;
  while (!idle) {
    {
      const std::lock_guard lock(mutex_);
      reap();
      idle = flights_.empty();
    }
    if (idle || std::chrono::steady_clock::now() >= deadline) break;
    abort(Code::Aborted);
    std::this_thread::sleep_for(kEndNap);
  }
  StreamOwners::ofThisProcess().release(config_.token, config_.rank);
  if (!idle) {
    segment_.leak();
    tables_.leak();
    control_.leak();
    for (RegisteredMemory& memory : registered_) memory.leak();
    for (InFlight& flight : flights_) (void)flight.arguments.release();
    return;
  }
  if (allInProcess_) {
    fate_->keep(std::move(segment_));
  } else {
    segment_.leak();  // a process does not learn when the others have ended their last operation
  }
  for (void* memory : opened_) (void)closeMemory(memory);
  for (Event event : events_) (void)destroyEvent(event);
  if (stream_ != nullptr) (void)destroyStream(stream_);
}

// Reading and writing in place needs addresses that all ranks share.
bool DeviceCommunicator::inPlaceFits(Collective collective) const {
  return inPlace_ && (collective == Collective::AllReduce || collective == Collective::AllGather ||
                      collective == Collective::ReduceScatter);
}

Choice DeviceCommunicator::settle(Choice choice, Collective collective) const {
  choice.channels = static_cast<uint8_t>(std::min<int>(choice.channels, config_.channels));
  if (isExchange(collective)) return {Algorithm::Direct, Protocol::Simple, choice.channels, 0, 0};
  if (choice.algorithm == Algorithm::Tree && (collective != Collective::AllReduce || !plan_.hasTrees())) {
    choice.algorithm = Algorithm::Ring;
  }
  const bool inPlace =
      choice.algorithm == Algorithm::Direct && (choice.flags & Choice::kTryZeroCopy) != 0 && inPlaceFits(collective);
  choice.flags &= Choice::kInShards;
  if (inPlace) {
    choice.flags |= Choice::kZeroCopyUsed;
    choice.protocol = Protocol::Simple;
  } else if (choice.algorithm == Algorithm::Direct) {
    choice.channels = static_cast<uint8_t>(std::min<int>(choice.channels, plan_.openChannels()));
  }
  return choice;
}

LaunchControl DeviceCommunicator::controlOf(uint64_t number, int64_t timeoutNanos) const {
  return {abort_, result_, static_cast<uint64_t>(std::max<int64_t>(0, timeoutNanos)), number};
}

Issued DeviceCommunicator::run(OperationCode code, Choice choice, const void* send, void* recv, int64_t count, int root,
                               int64_t timeoutNanos, Stream stream) {
  if (Status status = checkArguments(code, choice, count, root, config_.size); !status) return {refuse(status)};
  Operation operation = operationOf(code, settle(choice, code.collective), send, recv);
  setCount(operation, static_cast<size_t>(count), root, config_.size);
  if (isExchange(code.collective)) {
    std::vector<PointToPointTask> tasks = exchangeTasks(operation, config_.rank, config_.size);
    return executeTasks(tasks, &operation, timeoutNanos, stream);
  }
  return execute(operation, timeoutNanos, stream);
}

Issued DeviceCommunicator::runV(OperationCode code, Choice choice, const void* send, void* recv,
                                const std::vector<int64_t>& counts, int64_t timeoutNanos, Stream stream) {
  if (Status status = checkCounts(code, choice, counts, config_.size); !status) return {refuse(status)};
  Operation operation = operationOf(code, settle(choice, code.collective), send, recv);
  if (code.collective == Collective::AllToAll) {
    std::vector<PointToPointTask> tasks = vectorExchangeTasks(operation, counts, config_.rank, config_.size);
    if (Status status = checkTasks(config_.rank, config_.size, tasks); !status) return {refuse(status)};
    return executeTasks(tasks, &operation, timeoutNanos, stream);
  }
  setCounts(operation, counts, config_.size);
  return execute(operation, timeoutNanos, stream);
}

Issued DeviceCommunicator::runPointToPoint(std::vector<PointToPointTask> tasks, int64_t timeoutNanos, Stream stream) {
  if (Status status = checkTasks(config_.rank, config_.size, tasks); !status) return {refuse(status)};
  return executeTasks(tasks, nullptr, timeoutNanos, stream);
}

Issued DeviceCommunicator::execute(const Operation& operation, int64_t timeoutNanos, Stream stream) {
  const size_t n = static_cast<size_t>(config_.size);
  const bool inPlace = (operation.choice.flags & Choice::kZeroCopyUsed) != 0;
  std::unique_ptr<ArgumentArea> area;
  int64_t* counts = nullptr;
  InPlacePeer* peers = nullptr;
  if (inPlace || operation.counts != nullptr) {
    const size_t room = ArgumentArea::room<int64_t>(2 * n) + ArgumentArea::room<InPlacePeer>(n);
    if (Status status = takeArea(room, area); !status) return {refuse(status)};
  }
  if (operation.counts != nullptr) {
    counts = area->put<int64_t>(2 * n);
    std::copy(operation.counts, operation.counts + n, counts);
    std::copy(operation.displacements, operation.displacements + n, counts + n);
  }
  const auto fill = [&](auto& launch) {
    launch.rank = config_.rank;
    launch.size = config_.size;
    launch.channels = plan_.channelsIn(tables_.base());
    launch.code = operation.code;
    launch.choice = operation.choice;
    launch.send = operation.send;
    launch.recv = operation.recv;
    launch.count = operation.count;
    launch.counts = counts;
    launch.displacements = counts == nullptr ? nullptr : counts + n;
    launch.fingerprint = operation.fingerprint;
  };
  if (inPlace) {
    peers = area->put<InPlacePeer>(n);
    for (size_t peer = 0; peer < n; ++peer) {
      uint8_t* base = static_cast<int>(peer) == config_.rank ? segment_.base() : peers_[peer].base;
      peers[peer] = {reinterpret_cast<Board*>(base), reinterpret_cast<uint64_t>(operation.send),
                     reinterpret_cast<uint64_t>(operation.recv)};
    }
    InPlaceLaunch launch{};
    fill(launch);
    launch.boards = segment_.as<Board>();
    launch.peers = peers;
    return issue(launch, std::move(area), whatOf(operation), timeoutNanos, stream);
  }
  Launch launch{};
  fill(launch);
  launch.shape = shape_;
  launch.root = operation.root;
  return issue(launch, std::move(area), whatOf(operation), timeoutNanos, stream);
}

// Tasks by queue, one queue for each peer and direction, copies last.
Issued DeviceCommunicator::executeTasks(std::vector<PointToPointTask>& tasks, const Operation* operation,
                                        int64_t timeoutNanos, Stream stream) {
  std::unique_ptr<ArgumentArea> area;
  const size_t room = ArgumentArea::room<ExchangeTask>(tasks.size()) + ArgumentArea::room<ExchangeQueue>(tasks.size());
  if (Status status = takeArea(room, area); !status) return {refuse(status)};
  auto* ordered = area->put<ExchangeTask>(tasks.size());
  auto* queues = area->put<ExchangeQueue>(tasks.size());
  uint32_t taskCount = 0, queueCount = 0;
  std::vector<const PointToPointTask*> own[2];
  std::vector<std::vector<const PointToPointTask*>> byQueue(2 * static_cast<size_t>(config_.size));
  for (const PointToPointTask& task : tasks) {
    const size_t kind = static_cast<size_t>(task.kind);
    (task.peer == config_.rank ? own[kind] : byQueue[2 * static_cast<size_t>(task.peer) + kind]).push_back(&task);
  }
  for (int i = 1; i < config_.size; ++i) {
    const size_t peer = static_cast<size_t>((config_.rank + i) % config_.size);
    for (const size_t kind : {size_t{0}, size_t{1}}) {
      const auto& queue = byQueue[2 * peer + kind];
      if (queue.empty()) continue;
      queues[queueCount++] = {taskCount, static_cast<uint32_t>(queue.size())};
      for (const PointToPointTask* task : queue) {
        uint32_t print = task->fingerprint;
        if (operation != nullptr) {
          const uint64_t all = fingerprintOf(0, operation->code, operation->count, operation->root);
          print = narrow(all ^ (task->bytes + 1) * 0x9e3779b97f4a7c15u);
        }
        ordered[taskCount++] = {
            static_cast<ExchangeTask::Kind>(kind), task->peer, task->address, nullptr, task->bytes, print};
      }
    }
  }
  ExchangeLaunch launch{};
  launch.rank = config_.rank;
  launch.size = config_.size;
  launch.channels = plan_.channelsIn(tables_.base());
  launch.channelCount = plan_.openChannels();
  launch.shape = shape_;
  launch.collective = operation != nullptr;
  launch.tasks = ordered;
  launch.queues = queues;
  launch.queueCount = queueCount;
  launch.firstCopy = taskCount;
  for (size_t i = 0; i < own[0].size(); ++i) {
    ordered[taskCount++] = {ExchangeTask::Kind::Copy, config_.rank,     own[0][i]->address,
                            own[1][i]->address,       own[0][i]->bytes, 0};
  }
  launch.taskCount = taskCount;
  What what{{Collective::SendRecv, DataType::Int8, ReduceOp::Sum}, {}, tasks.size()};
  if (operation != nullptr) what = whatOf(*operation);
  return issue(launch, std::move(area), what, timeoutNanos, stream);
}

Status DeviceCommunicator::takeArea(size_t bytes, std::unique_ptr<ArgumentArea>& area) {
  const DeviceGuard guard(config_.device);
  const std::lock_guard lock(mutex_);
  return areas_.take(bytes, area);
}

void DeviceCommunicator::giveBack(std::unique_ptr<ArgumentArea> area) {
  const std::lock_guard lock(mutex_);
  areas_.giveBack(std::move(area));
}

Status DeviceCommunicator::checkStream(Stream stream) {
  if (stream == stream_ || (stream == checkedStream_ && stream != nullptr)) return Status::ok();
  Status status = StreamOwners::ofThisProcess().claim(config_.device, stream, config_.token, config_.rank);
  if (status) checkedStream_ = stream;
  return status;
}

// All operations of a communicator use its connections, so they follow one another on whatever stream.
Status DeviceCommunicator::orderAfterLast(Stream stream, bool capturing) {
  Event last = nullptr;
  {
    const std::lock_guard lock(mutex_);
    reap();
    if (!flights_.empty()) last = flights_.back().event;
  }
  if (capturing) {
    if (activity_ != nullptr) {
      return Status::invalid(
          "operations between machines cannot be captured: the host moves their data and does not hear of a replay; "
          "issue "
          "them without a graph");
    }
    if (captured_ && capturedOn_ != stream) {
      return Status::invalid(
          "this communicator was captured on another stream before; capture its operations on one stream");
    }
    if (last != nullptr && lastStream_ != stream) {
      return Status::invalid(
          "an operation of this communicator is in flight on another stream; await it before capturing");
    }
    return Status::ok();
  }
  return last == nullptr || lastStream_ == stream ? Status::ok() : waitEvent(stream, last);
}

template <class Descriptor>
Issued DeviceCommunicator::issue(Descriptor& launch, std::unique_ptr<ArgumentArea> arguments, What what,
                                 int64_t timeoutNanos, Stream stream) {
  const auto giveUp = [&](const Status& status) -> Issued {
    giveBack(std::move(arguments));
    return {refuse(status)};
  };
  if (!prepared_) return giveUp(Status::invalid("the communicator is not prepared; call prepare first"));
  if (const Code code = failure(); code != Code::Ok) {
    giveBack(std::move(arguments));
    return {code};
  }
  const DeviceGuard guard(config_.device);
  Status status = guard.status();
  bool capturing = false;
  if (status) status = checkStream(stream);
  if (status) status = isCapturing(stream, capturing);
  if (status) status = orderAfterLast(stream, capturing);
  Event event = nullptr;
  if (status && !capturing) {
    const std::lock_guard lock(mutex_);
    if (events_.empty()) {
      status = createEvent(event);
    } else {
      event = events_.back();
      events_.pop_back();
    }
  }
  if (!status) return giveUp(status);
  const uint64_t number = issued_ + 1;
  // Before others can meet it and ask.
  const uint64_t sequence = capturing || testing_ ? 0 : enter(what);
  launch.control = controlOf(number, timeoutNanos);
  if (activity_ != nullptr) activity_->begin();
  status = launchKernel(launch, config_.threads, stream);
  if (status && !capturing) status = recordEvent(event, stream);
  const std::lock_guard lock(mutex_);
  if (!status) {
    // Whether the kernel was launched is not known: the ranks may no longer agree.
    if (activity_ != nullptr) activity_->end();
    if (sequence != 0) history_.end(sequence, false);
    failed(brokenBy(status), number, sequence, text(what) + ": " + status.message());
    return {failure_};
  }
  issued_ = number;
  if (capturing) {
    captured_ = true;
    capturedOn_ = stream;
    if (arguments != nullptr) capturedAreas_.push_back(std::move(arguments));  // a graph may be replayed at any time
  } else {
    lastStream_ = stream;
    flights_.push_back({number, event, std::move(arguments), what, sequence});
  }
  return {Code::Ok, number};
}

// Gives a collective its number.
uint64_t DeviceCommunicator::enter(const What& what) {
  if (what.code.collective == Collective::SendRecv) return 0;
  Operation operation;
  operation.code = what.code;
  operation.count = what.count;
  operation.root = what.root;
  const std::lock_guard lock(mutex_);
  operation.sequence = ++sequence_;
  operation.fingerprint = what.mixed ^ fingerprintOf(operation.sequence, what.code, what.count, what.root);
  history_.begin(operation);
  return operation.sequence;
}

// The first operation that the progress records tell of, 0 if they tell of none. Once one has failed it is that one: what
// was issued behind it begins nothing.
uint64_t DeviceCommunicator::firstWaiting() const {
  uint64_t first = 0;
  for (int channel = 0; channel < config_.channels; ++channel) {
    const uint64_t shown = __atomic_load_n(&records_[channel].sequence, __ATOMIC_ACQUIRE);
    if (shown != 0 && (first == 0 || shown - 1 < first)) first = shown - 1;
  }
  return first;
}

// The first failure stays; the caller holds the mutex.
void DeviceCommunicator::failed(Code code, uint64_t number, uint64_t sequence, std::string why) {
  if (failure_ != Code::Ok) return;
  failure_ = code;
  firstFailed_ = number;
  failedSequence_ = sequence;
  error_ = std::move(why);
}

// Takes back what operations that are over have used; the caller holds the mutex.
void DeviceCommunicator::reap() {
  while (!flights_.empty()) {
    InFlight& flight = flights_.front();
    bool done = false;
    const Status status = queryEvent(flight.event, done);
    if (!status) {
      failed(brokenBy(status), flight.number, flight.sequence, text(flight.what) + ": " + status.message());
    }
    if (!done) return;
    if (const uint32_t code = loadWord(result_); code != 0 && flight.number >= firstWaiting()) {
      failed(codeOf(code), flight.number, flight.sequence, text(flight.what));
    }
    if (activity_ != nullptr) activity_->end();
    if (flight.sequence != 0) history_.end(flight.sequence, failure_ == Code::Ok);
    events_.push_back(flight.event);
    areas_.giveBack(std::move(flight.arguments));
    flights_.pop_front();
  }
}

Code DeviceCommunicator::query(uint64_t number, bool& done) {
  const DeviceGuard guard(config_.device);
  const std::lock_guard lock(mutex_);
  reap();
  const bool broken = failure_ == Code::System;  // the device itself: nothing comes to an end any more
  done = broken || flights_.empty() || number < flights_.front().number;
  return firstFailed_ != 0 && number >= firstFailed_ ? failure_ : Code::Ok;
}

void DeviceCommunicator::abort(Code code) {
  uint32_t none = 0;
  __atomic_compare_exchange_n(abort_, &none, static_cast<uint32_t>(code), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

Code DeviceCommunicator::failure() const {
  const std::lock_guard lock(mutex_);
  if (failure_ != Code::Ok) return failure_;
  if (const uint32_t code = loadWord(abort_); code != 0) return codeOf(code);
  return codeOf(loadWord(result_));
}

uint64_t DeviceCommunicator::lastIssued() const {
  const std::lock_guard lock(mutex_);
  return issued_;
}

uint64_t DeviceCommunicator::lastDone() {
  const DeviceGuard guard(config_.device);
  const std::lock_guard lock(mutex_);
  reap();
  return history_.lastDone();
}

uint64_t DeviceCommunicator::failedSequence() const {
  const std::lock_guard lock(mutex_);
  return failedSequence_;
}

std::string DeviceCommunicator::lastError() const {
  std::string told;
  {
    const std::lock_guard lock(mutex_);
    told = error_;
  }
  const Code code = failure();
  if (code == Code::Mismatch) told = "a peer runs another operation, or the same with other arguments: " + told;
  if (code == Code::Timeout) told = "the time-out passed on the device: " + told;
  for (const DeviceWait& wait : waiting()) {
    told += "; channel=" + std::to_string(wait.channel) + " peer=" + std::to_string(wait.place.peer) +
            " protocol=" + nameOf(wait.place.protocol) + " step=" + std::to_string(wait.place.step) +
            " waitedMillis=" + std::to_string(wait.waitedNanos / 1'000'000);
  }
  return told;
}

std::vector<DeviceWait> DeviceCommunicator::waiting() const {
  std::vector<DeviceWait> waits;
  for (int channel = 0; channel < config_.channels; ++channel) {
    const ProgressRecord& record = records_[channel];
    const uint64_t sequence = __atomic_load_n(&record.sequence, __ATOMIC_ACQUIRE);
    if (sequence == 0) continue;
    waits.push_back({channel, ProgressRecord::decode(__atomic_load_n(&record.place, __ATOMIC_RELAXED)), sequence - 1,
                     __atomic_load_n(&record.waitedNanos, __ATOMIC_RELAXED)});
  }
  return waits;
}

}  // namespace jccl::device
