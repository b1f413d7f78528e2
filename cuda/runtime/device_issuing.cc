#include "cuda/runtime/device_issuing.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cuda/kernels/element_class.h"
#include "cuda/kernels/registry.h"
#include "cuda/runtime/works_launcher.h"
#include "engine/operation_arguments.h"

namespace jccl::device {
namespace {

// The smallest message that its receiver reads out of a window; an estimate. For smaller ones the answer to the sender
// takes longer than the copies through slots.
constexpr size_t kMinReadBytes = 64 * 1024;

// Returns the limit that a kernel keeps itself; see run().
uint64_t limitOf(std::span<const DeviceOperation> operations, int64_t timeoutNanos, bool capturing) {
  if (timeoutNanos >= 0) return static_cast<uint64_t>(timeoutNanos);
  const bool followed = !capturing && std::all_of(operations.begin(), operations.end(),
                                                  [](const DeviceOperation& one) { return one.isCollective(); });
  return followed ? 0 : static_cast<uint64_t>(-timeoutNanos);
}

// Returns a copy for the history and for messages, without pointers into the caller's memory.
Operation recordOf(const DeviceOperation& one) {
  Operation operation = one.operation;
  if (!one.isCollective()) operation.count = one.tasks.size();
  operation.moved = movedBytes(one.tasks);
  operation.counts = nullptr;
  operation.displacements = nullptr;
  return operation;
}

}  // namespace

// Returns true if the collective may work in place. All ranks must reach the memory, because they are threads of one
// process or because it is registered.
bool DeviceIssuing::inPlaceFits(Collective collective) const {
  return connections_.plan().allowsDirect() && (inPlace_ || !registration_.buffers().empty()) &&
         (collective == Collective::AllReduce || collective == Collective::AllGather ||
          collective == Collective::ReduceScatter);
}

Choice DeviceIssuing::adjustChoice(Choice choice, OperationCode code) const {
  const AddedAlgorithm* added = addedFor(choice.algorithm);
  return added != nullptr && added->adjust(code, choice) ? choice : adjustChoice(choice, code.collective);
}

const AddedAlgorithm* DeviceIssuing::addedFor(Algorithm algorithm) const {
  for (const auto& one : added_) {
    if (one->executes(algorithm)) return one.get();
  }
  return nullptr;
}

Choice DeviceIssuing::adjustChoice(Choice choice, Collective collective) const {
  constexpr Algorithm kOwn[] = {Algorithm::Ring, Algorithm::Tree, Algorithm::Direct};
  if (std::find(std::begin(kOwn), std::end(kOwn), choice.algorithm) == std::end(kOwn)) {
    choice = {Algorithm::Ring, Protocol::Simple, choice.channels, 0, 0};
  }
  choice.channels = static_cast<uint8_t>(std::min<int>(choice.channels, config_.channels));
  if (isExchange(collective)) return {Algorithm::Direct, Protocol::Simple, choice.channels, 0, 0};
  if (choice.algorithm == Algorithm::Direct && !connections_.plan().allowsDirect()) choice.algorithm = Algorithm::Ring;
  if (choice.algorithm == Algorithm::Tree && (collective != Collective::AllReduce || !connections_.plan().hasTrees())) {
    choice.algorithm = Algorithm::Ring;
  }
  const bool inPlace =
      choice.algorithm == Algorithm::Direct && (choice.flags & Choice::kTryZeroCopy) != 0 && inPlaceFits(collective);
  choice.flags &= Choice::kTwoShot;
  if (inPlace) {
    choice.flags |= Choice::kZeroCopyUsed;
    choice.protocol = Protocol::Simple;
  } else if (choice.algorithm == Algorithm::Direct) {
    choice.channels = static_cast<uint8_t>(std::min<int>(choice.channels, connections_.plan().openChannels()));
  }
  return choice;
}

// Checks that peers reach the buffers. Peers read this rank's send buffer and write its receive buffer, but no peer
// uses the input of an all-gather or the output of a reduce-scatter.
Status DeviceIssuing::checkReach(DeviceOperation& one) {
  if (!one.isInPlace()) return Status::ok();
  TouchedMemory& touched = reached_;
  touched.clear();
  touched.add(one, config_.rank);
  const Collective collective = one.operation.code.collective;
  const auto check = [&](const MemoryRange& range, const char* name, bool byPeers, std::vector<uint64_t>& there,
                         WindowPlace& place) {
    place = registration_.windows().find(range);
    if (place.window != 0) return Status::ok();
    PeerReach::Found found;
    if (Status status = connections_.reach().check(range, found); !status)
      return Status(status.code(), name + status.message());
    if (!byPeers) return Status::ok();
    const char* remedy =
        "allocate it with cudaMalloc (cuMemAlloc), or give all ranks' devices access (cudaMemPoolSetAccess, "
        "cuMemSetAccess)";
    if (found.unreached.empty() && !connections_.allInProcess() &&
        !registration_.buffers().find(range, found.allocation, there)) {
      found.unreached = "is not registered, or was freed since";
      remedy = "register it on all ranks (Communicator.register), as long as it is allocated";
    }
    if (found.unreached.empty()) return Status::ok();
    one.unreachable = true;
    // Copies need no buffer of this rank but the input. So the operation probably goes through no buffer of the library.
    if (one.triesCopies || std::exchange(toldUnreached_, true)) return Status::ok();
    const std::lock_guard lock(noticeMutex_);
    notice_ = name + std::string("buffer of rank=") + std::to_string(config_.rank) +
              " count=" + std::to_string(one.operation.count) + " " + found.unreached +
              ": operations on it, of all ranks, go through buffers of the library and take longer; " + remedy;
    hasNotice_ = true;
    return Status::ok();
  };
  const bool sends = collective != Collective::AllGather, receives = collective != Collective::ReduceScatter;
  Status status = check(touched.reads.front(), "send ", sends, one.sendThere, one.sendPlace);
  if (status && one.operation.send == one.operation.recv && collective == Collective::AllReduce) {
    one.recvThere = one.sendThere;
    one.recvPlace = one.sendPlace;
  } else if (status) {
    status = check(touched.writes.front(), "recv ", receives, one.recvThere, one.recvPlace);
  }
  const uint32_t send = one.sendPlace.print(), recv = one.recvPlace.print();
  const bool inWindows = (!sends || send != 0) && (!receives || recv != 0);
  const uint32_t print = (sends ? send : 0) * 0x9e3779b9u ^ (receives ? recv : 0);
  one.windows = registration_.windows().everUsed()
                    ? inWindows ? std::max(print, Work::kOtherMemory + 1) : Work::kOtherMemory
                    : Work::kNoWindows;
  return status;
}

Issued DeviceIssuing::run(OperationCode code, Choice choice, const void* send, void* recv, int64_t count, int root,
                          int64_t timeoutNanos, Stream stream) {
  if (Status status = checkArguments(code, choice, count, root, config_.size); !status) return {refuse(status)};
  if (isScan(code.collective)) {
    return {
        refuse(Status::invalid("scans have no kernel; copy the elements to memory of the host, or set "
                               "JCCL_GPU_HOST_STAGING=on on all ranks"))};
  }
  DeviceOperation one;
  one.operation = operationOf(code, adjustChoice(choice, code), send, recv);
  one.added = addedFor(one.operation.choice.algorithm);
  setCount(one.operation, static_cast<size_t>(count), root, config_.size);
  if (one.isExchange()) exchangeTasks(one.operation, config_.rank, config_.size, one.tasks);
  one.refersToWindows = refersToWindows(choice);
  one.triesCopies = (choice.flags & Choice::kTryCopies) != 0 && count != 0 && canCopy(code);
  if (one.triesCopies) one.operation.choice.flags |= Choice::kTryCopies;
  return submit(std::move(one), timeoutNanos, stream);
}

Issued DeviceIssuing::runV(OperationCode code, Choice choice, const void* send, void* recv,
                           const std::vector<int64_t>& counts, int root, int64_t timeoutNanos, Stream stream) {
  if (code.op == kUserReduction) {
    return {refuse(Status::invalid("op=" + std::string(nameOf(code.op)) + ", expected one that kernels compute"))};
  }
  if (Status status = checkCounts(code, choice, counts, root, config_.size); !status) return {refuse(status)};
  DeviceOperation one;
  one.operation = operationOf(code, adjustChoice(choice, code.collective), send, recv);
  one.refersToWindows = refersToWindows(choice);
  if (code.exchangesWithCounts()) {
    vectorExchangeTasks(one.operation, counts, config_.rank, config_.size, one.tasks);
    if (Status status = checkTasks(config_.rank, config_.size, one.tasks); !status) return {refuse(status)};
  } else {
    one.counts = counts;
    setCounts(one.operation, one.counts, root, config_.size);
    if (one.isExchange()) exchangeTasks(one.operation, config_.rank, config_.size, one.tasks);
  }
  return submit(std::move(one), timeoutNanos, stream);
}

Issued DeviceIssuing::runPointToPoint(Choice choice, std::vector<PointToPointTask> tasks, int64_t timeoutNanos,
                                      Stream stream) {
  if (Status status = checkTasks(config_.rank, config_.size, tasks); !status) return {refuse(status)};
  DeviceOperation one;
  one.operation.code = {Collective::SendRecv, DataType::Int8, ReduceOp::Sum};
  one.operation.choice = adjustChoice(choice, Collective::AllToAll);
  one.tasks = std::move(tasks);
  one.refersToWindows = refersToWindows(choice);
  return submit(std::move(one), timeoutNanos, stream);
}

Issued DeviceIssuing::submit(DeviceOperation operation, int64_t timeoutNanos, Stream stream) {
  if (grouping_ && !operation.isInPlace()) {
    group_.push_back(std::move(operation));
    return {};
  }
  const LaunchGuard guard(config_.device);
  Status status = guard.status();
  if (status) status = checkReach(operation);
  if (status && grouping_) {
    group_.push_back(std::move(operation));
    return {};
  }
  LaunchTarget target;
  if (status) status = order_.aim(stream, target);
  if (!status) return {refuse(status)};
  return launch({&operation, 1}, timeoutNanos, target);
}

Issued DeviceIssuing::endGroup(int64_t timeoutNanos, Stream stream) {
  // Empties the group at the end, and keeps its memory for the next one.
  const std::unique_ptr<DeviceIssuing, void (*)(DeviceIssuing*)> end(this,
                                                                     [](DeviceIssuing* self) { self->dropGroup(); });
  grouping_ = false;
  Issued issued;
  bool begun = false;
  const LaunchGuard guard(config_.device);
  Status status = guard.status();
  LaunchTarget target;
  if (status) status = order_.aim(stream, target);
  if (!status) return {refuse(status)};
  // Captured operations share a launch only if their arguments fit into its descriptor: an area would stay in use for
  // as long as the graph may be replayed.
  const size_t maxBytes = target.capturing ? InlineArguments::kBytes : completion_.areaBytes();
  for (const std::span<const DeviceOperation> together :
       division_.intoLaunches(group_, config_.rank, config_.size, maxBytes)) {
    issued = launch(together, timeoutNanos, target);
    if (issued.code != Code::Ok) return {completion_.groupRefused(issued.code, begun)};
    begun = true;
  }
  return issued;
}

void DeviceIssuing::dropGroup() {
  grouping_ = false;
  group_.clear();
}

Issued DeviceIssuing::launch(std::span<const DeviceOperation> operations, int64_t timeoutNanos,
                             const LaunchTarget& target) {
  if (config_.size == 1) return launchCopies(operations, timeoutNanos, target);
  return operations.front().isExchange() ? launchTasks(operations, timeoutNanos, target)
                                         : launchWorks(operations, timeoutNanos, target);
}

Work DeviceIssuing::workOf(const DeviceOperation& one, LaunchArguments& arguments) const {
  const Operation& operation = one.operation;
  const size_t n = static_cast<size_t>(config_.size);
  Work work{};
  work.code = operation.code;
  work.choice = operation.choice;
  work.send = operation.send;
  work.recv = operation.recv;
  work.count = operation.count;
  work.root = operation.root;
  work.unreachable = one.unreachable ? 1 : 0;
  work.fingerprint = operation.fingerprint;
  if (operation.counts != nullptr) {
    const auto counts = arguments.put<int64_t>(2 * n);  // counts, then displacements
    std::copy_n(one.counts.begin(), 2 * n, counts.here);
    work.counts = counts.there;
    work.displacements = counts.there + n;
  }
  if (one.isInPlace()) {
    const auto peers = arguments.put<InPlacePeer>(n);
    for (size_t peer = 0; peer < n; ++peer) {
      const auto thereOf = [&](const WindowPlace& place, const std::vector<uint64_t>& there, const uint8_t* here) {
        if (place.window != 0 && !place.there->empty()) return (*place.there)[peer] + place.offset;
        return there.empty() ? reinterpret_cast<uint64_t>(here) : there[peer];
      };
      const auto hereOf = [&](const WindowPlace& place) {
        return place.window != 0 ? (*place.here)[peer] + place.offset : 0;
      };
      peers.here[peer] = {reinterpret_cast<ExchangeDescriptor*>(connections_.segmentOf(static_cast<int>(peer))),
                          thereOf(one.sendPlace, one.sendThere, operation.send),
                          thereOf(one.recvPlace, one.recvThere, operation.recv), hereOf(one.sendPlace),
                          hereOf(one.recvPlace)};
    }
    work.peers = peers.there;
    work.windows = one.windows;
  }
  return work;
}

Issued DeviceIssuing::launchWorks(std::span<const DeviceOperation> operations, int64_t timeoutNanos,
                                  const LaunchTarget& target) {
  std::unique_ptr<ArgumentArea> area;
  if (Status status = completion_.takeArea(argumentBytes(operations, config_.size), area); !status)
    return {refuse(status)};
  WorksLauncher launcher(*this, operations, std::move(area), timeoutNanos, target);
  const DeviceOperation& first = operations.front();
  if (first.added != nullptr) return first.added->launch(launcher);
  const auto [collective, type, op] = first.operation.code;
  if (first.isInPlace()) {
    InPlaceLaunch launch{};
    launch.descriptors = connections_.segment().as<ExchangeDescriptor>();
    launch.bounceOffset = connections_.plan().bounceOffset();
    launch.oneShotBytes = config_.oneShotBytes;
    return launcher.launch(inPlaceKernel(collective, type), launch);
  }
  Launch launch{};
  launch.shape = connections_.shape();
  return launcher.launch(collectiveKernel(first.operation.choice.protocol, collective, type), launch);
}

void WorksLauncher::describe(Works& works, InlineArguments& inlined) const {
  LaunchArguments arguments(inlined, area_.get());
  static_cast<Work&>(works) = issuing_.workOf(first(), arguments);
  const std::span<const DeviceOperation> others = operations_.subspan(1);
  works.moreCount = static_cast<uint32_t>(others.size());
  works.blocks = works.choice.channels;
  if (others.empty()) return;
  const auto more = arguments.put<Work>(others.size());
  works.more = more.there;
  for (size_t i = 0; i < others.size(); ++i) {
    more.here[i] = issuing_.workOf(others[i], arguments);
    works.blocks = std::max<uint32_t>(works.blocks, others[i].operation.choice.channels);
  }
}

Issued WorksLauncher::issue(const DeviceIssuing::KernelLaunch& launch) {
  return issuing_.issue(launch, std::move(area_), operations_, timeoutNanos_, target_);
}

// Returns the address at which the receiver reads the message out of this rank's window; null if it goes through slots.
uint8_t* DeviceIssuing::addressForReader(const PointToPointTask& task) const {
  if (task.kind != PointToPointTask::Kind::Send || task.bytes < kMinReadBytes || task.peer == config_.rank ||
      connections_.segmentOf(task.peer) == nullptr) {
    return nullptr;
  }
  const WindowPlace place = registration_.windows().find({task.address, task.bytes});
  if (!isReadable(place)) return nullptr;
  return place.there->empty() ? task.address : reinterpret_cast<uint8_t*>((*place.there)[task.peer] + place.offset);
}

// Orders the tasks by queue, one queue for each direction and peer; copies come last.
Issued DeviceIssuing::launchTasks(std::span<const DeviceOperation> operations, int64_t timeoutNanos,
                                  const LaunchTarget& target) {
  size_t total = 0;
  for (const DeviceOperation& one : operations) total += one.tasks.size();
  std::unique_ptr<ArgumentArea> area;
  if (Status status = completion_.takeArea(argumentBytes(operations, config_.size), area); !status)
    return {refuse(status)};
  ExchangeLaunch launch{};
  LaunchArguments arguments(launch.inlined, area.get());
  const auto ordered = arguments.put<ExchangeTask>(total);
  const auto queues = arguments.put<ExchangeQueue>(std::min(total, 2 * static_cast<size_t>(config_.size)));
  std::vector<ExchangeTask> own[2];
  std::vector<std::vector<ExchangeTask>> byQueue(2 * static_cast<size_t>(config_.size));
  for (const DeviceOperation& one : operations) {
    const Operation& operation = one.operation;
    const uint64_t all = operation.fingerprint ^ fingerprintOf(0, operation.code, operation.count, operation.root);
    if (one.isCollective()) ++launch.collectives;
    for (const PointToPointTask& task : one.tasks) {
      const size_t kind = static_cast<size_t>(task.kind);
      const uint32_t print =
          one.isCollective() ? narrow(all ^ (task.bytes + 1) * 0x9e3779b97f4a7c15u) : task.fingerprint;
      auto& queue = task.peer == config_.rank ? own[kind] : byQueue[2 * static_cast<size_t>(task.peer) + kind];
      // The self-test divides each message among all connections, so that it tests every one.
      const size_t connected = static_cast<size_t>(connections_.plan().exchangeChannels(task.peer));
      const size_t wanted = tests_.isRunning() ? connected : std::max<size_t>(1, task.bytes / kBytesPerChannel);
      uint8_t* const read = one.refersToWindows ? addressForReader(task) : nullptr;
      queue.push_back({static_cast<ExchangeTask::Kind>(kind), task.peer, task.address, read, task.bytes, print,
                       static_cast<uint16_t>(one.isCollective() ? launch.collectives : 0),
                       static_cast<uint8_t>(std::min(wanted, connected)), static_cast<uint8_t>(connected)});
    }
  }
  const auto append = [&](const std::vector<ExchangeTask>& tasks) {
    std::copy(tasks.begin(), tasks.end(), ordered.here + launch.taskCount);
    launch.taskCount += static_cast<uint32_t>(tasks.size());
  };
  // A send to the rank `i` places after this one is at that rank a receive from the rank `i` places before it.
  for (const size_t kind : {size_t{0}, size_t{1}}) {
    for (int i = 1; i < config_.size; ++i) {
      const int other = config_.rank + (kind == 0 ? i : config_.size - i);
      const size_t peer = static_cast<size_t>(other % config_.size);
      const std::vector<ExchangeTask>& queue = byQueue[2 * peer + kind];
      if (queue.empty()) continue;
      const uint32_t window = static_cast<uint32_t>(i - 1) / kMaxLinks;
      queues.here[launch.queueCount++] = {launch.taskCount, static_cast<uint32_t>(queue.size()), window};
      append(queue);
    }
    if (kind == 0) launch.sendQueueCount = launch.queueCount;
  }
  launch.firstCopy = launch.taskCount;
  for (size_t i = 0; i < own[0].size(); ++i) {
    own[0][i].kind = ExchangeTask::Kind::Copy;
    own[0][i].other = own[1][i].address;
  }
  append(own[0]);
  launch.rank = config_.rank;
  launch.size = config_.size;
  launch.channels = connections_.channels();
  launch.channelCount = config_.channels;
  launch.shape = connections_.shape();
  launch.compact = connections_.plan().exchangeShape();
  launch.tasks = ordered.there;
  launch.queues = queues.there;
  const KernelLaunch kernel{exchangeKernel(), &launch, launch.control, launch.channelCount};
  return issue(kernel, std::move(area), operations, timeoutNanos, target);
}

// Operations of a communicator of one rank only copy. The driver copies faster than the blocks of a kernel, by the copy
// engines or by all multiprocessors. A kernel without tasks follows, so that these operations end, fail and are ordered
// like all others.
Issued DeviceIssuing::launchCopies(std::span<const DeviceOperation> operations, int64_t timeoutNanos,
                                   const LaunchTarget& target) {
  const std::vector<MemoryCopy> copies = ownCopies(operations);
  ExchangeLaunch launch{};
  launch.rank = config_.rank;
  launch.size = config_.size;
  launch.channels = connections_.channels();
  launch.channelCount = 1;
  launch.shape = connections_.shape();
  launch.compact = connections_.plan().exchangeShape();
  const KernelLaunch kernel{exchangeKernel(), &launch, launch.control, launch.channelCount, copies};
  return issue(kernel, nullptr, operations, timeoutNanos, target);
}

Issued DeviceIssuing::issue(const KernelLaunch& launch, std::unique_ptr<ArgumentArea> arguments,
                            std::span<const DeviceOperation> operations, int64_t timeoutNanos,
                            const LaunchTarget& target) {
  const auto giveUp = [&](const Status& status) -> Issued {
    completion_.giveBack(std::move(arguments));
    return {refuse(status)};
  };
  SharedDevice::Turn turn = order_.takeTurn();
  if (!tests_.isRunning()) tests_.release();
  if (!prepared_) return giveUp(Status::invalid("the communicator is not prepared; call prepare first"));
  if (const Code code = completion_.failure(); code != Code::Ok) {
    completion_.giveBack(std::move(arguments));
    return {code};
  }
  const bool capturing = target.capturing;
  Status status = order_.begin(launch.blocks, target, turn);
  if (!status) return giveUp(status);
  std::vector<InFlight>& flights = launching_;
  flights.clear();
  for (size_t i = 0; i < operations.size(); ++i) {
    InFlight& flight = flights.emplace_back();
    flight.number = completion_.lastIssued() + 1 + i;
    flight.blocks = launch.blocks;
    flight.operation = recordOf(operations[i]);
    const bool mayUseWindows = operations[i].isExchange() || operations[i].added != nullptr;
    flight.exposed = operations[i].isInPlace() || (mayUseWindows && registration_.windows().everUsed());
    // Begin the history's record before another thread can find the operation in flight.
    if (!capturing && !tests_.isRunning()) completion_.enter(flight, operations[i].tasks);
    flight.endsLaunch = i + 1 == operations.size();
  }
  launch.control = {completion_.controls(), limitOf(operations, timeoutNanos, capturing), flights.front().number,
                    capturing ? 0 : flights.back().number, completion_.report()};
  completion_.beginActivity();
  if (!launch.copies.empty()) {
    const DeviceGuard guard(config_.device);
    status = guard.status();
    for (const MemoryCopy& copy : launch.copies) {
      if (status) status = copyAsync(copy.to, copy.from, copy.bytes, target.stream);
    }
  }
  if (status && operations.front().triesCopies) status = meetAndCopy(operations.front(), launch.control, target);
  if (status) {
    status =
        launchKernel(config_.device, launch.kernel, launch.descriptor, launch.blocks, config_.threads, target.stream);
  }
  if (status) status = order_.record(target);
  if (!status) return {completion_.notLaunched(flights, status)};
  const uint64_t number = flights.back().number;
  uint64_t sequence = 0;
  order_.launched(target);
  if (capturing) {
    sequence = completion_.captured(number);
    // A replay of the graph may need the area at any time.
    if (arguments != nullptr) capturedAreas_.push_back(std::move(arguments));
  } else {
    sequence = completion_.launched(flights, std::move(arguments));
  }
  return {Code::Ok, number, operations.back().operation.choice, sequence, capturing};
}

std::string DeviceIssuing::takeNotice() {
  const std::lock_guard lock(noticeMutex_);
  hasNotice_ = false;
  return std::exchange(notice_, {});
}

}  // namespace jccl::device
