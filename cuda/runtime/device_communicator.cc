#include "cuda/runtime/device_communicator.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "cuda/runtime/retired_memory.h"

namespace jccl::device {
namespace {

constexpr int kReservedMultiprocessors = 2;
constexpr std::chrono::seconds kEndTimeout{2};
constexpr std::chrono::microseconds kEndSleep{200};

}  // namespace

DeviceCommunicator::DeviceCommunicator(const DeviceCommunicatorConfig& config)
    : config_(config),
      connections_(config_),
      completion_(config_),
      order_(config_, completion_),
      reclaim_(config_, completion_, order_),
      registration_(config_, connections_, completion_, reclaim_),
      issuing_(config_, connections_, completion_, order_, registration_, added_, tests_) {}

Status DeviceCommunicator::create(const DeviceCommunicatorConfig& config,
                                  std::unique_ptr<DeviceCommunicator>& communicator) {
  int devices = 0;
  if (Status status = countDevices(devices); !status) return status;
  if (config.device < 0 || config.device >= devices) {
    return Status::invalid("device=" + std::to_string(config.device) + ", expected a device below " +
                           std::to_string(devices) + ", which this process can see");
  }
  if (config.size < 1 || config.size > kMaxRanks || config.rank < 0 || config.rank >= config.size) {
    return Status::invalid("rank=" + std::to_string(config.rank) + " size=" + std::to_string(config.size) +
                           ", expected at most " + std::to_string(kMaxRanks) + " ranks on GPUs");
  }
  if (config.channels < 1 || config.threads < 64 || config.threads % 32 != 0) {
    return Status::invalid("channels=" + std::to_string(config.channels) +
                           " threads=" + std::to_string(config.threads) +
                           ", expected at least one channel of whole warps, two or more");
  }
  if (config.oneShotBytes > kMaxOneShotBytes) {
    return Status::invalid("oneShotBytes=" + std::to_string(config.oneShotBytes) + ", expected at most " +
                           std::to_string(kMaxOneShotBytes));
  }
  const DeviceGuard guard(config.device);
  if (!guard.status()) return guard.status();
  communicator.reset(new DeviceCommunicator(config));
  RetiredMemory::ofThisProcess().collect();
  Status status = loadKernels();
  if (status) status = communicator->completion_.allocate();
  if (status) {
    (void)RetiredMemory::ofThisProcess().whenQuiet(allDevices(), [&] { status = HeapMemory::reservePinned(); });
  }
  if (status) status = communicator->order_.join();
  if (status) status = communicator->order_.makeStreams();
  if (!status) communicator.reset();
  return status;
}

Status DeviceCommunicator::probe(int step, const std::vector<int>& peers, int64_t timeoutNanos,
                                 std::vector<uint8_t>& failures) {
  std::vector<PeerProbe::Peer> found;
  if (step == 0) {
    if (Status status = connections_.findForProbe(peers, found); !status) return noted(status);
  }
  return tests_.probe(step, std::move(found), timeoutNanos, failures);
}

Status DeviceCommunicator::prepare(bool inPlace, StagingActivity* activity) {
  inPlace = inPlace && allInProcess() && plan().allowsDirect();
  if (inPlace) connections_.reach().letPeersReach(config_.device);
  completion_.setActivity(activity);
  const DeviceGuard guard(config_.device);
  Status status = guard.status();
  if (status) status = connections_.prepare(ownStream(), completion_.records());
  for (const auto& one : added_) {
    if (status) status = one->prepare();
  }
  if (status) status = tests_.allocate();
  if (!status) return noted(status);
  if (inPlace) reclaim_.join();
  if (!inPlace) reclaim_.usePages();
  issuing_.begin(inPlace);
  return status;
}

Status DeviceCommunicator::blockBudget(int device, int threads, int& blocks, int& free) {
  const DeviceGuard guard(device);
  DeviceProperties properties;
  Status status = guard.status();
  if (status) status = describeDevice(device, properties);
  int resident = 0;
  if (status) status = residentBlocks(threads, resident);
  if (!status) return status;
  const int multiprocessors = std::max(1, properties.multiprocessors - kReservedMultiprocessors);
  const double left = multiprocessors - SharedDevice::of(device).sharesOfAll();
  blocks = multiprocessors * resident;
  free = std::max(0, static_cast<int>(left * resident + SharedDevice::kRounding));
  return Status::ok();
}

Code DeviceCommunicator::query(uint64_t number, bool& done) {
  reclaim_.answerPeers();
  const Code code = completion_.query(number, done);
  if (done && code != Code::Ok) done = reclaim_.reclaimBuffers();
  return code;
}

uint64_t DeviceCommunicator::lastDone() {
  reclaim_.answerPeers();
  return completion_.lastDone();
}

DeviceCommunicator::~DeviceCommunicator() {
  const DeviceGuard guard(config_.device);
  const auto deadline = std::chrono::steady_clock::now() + kEndTimeout;
  bool idle = false, hopeless = false;
  while (!idle) {
    idle = completion_.isIdle();
    hopeless = completion_.hasDeviceFailed();
    if (idle || hopeless || std::chrono::steady_clock::now() >= deadline) break;
    abort(Code::Aborted);
    std::this_thread::sleep_for(kEndSleep);
  }
  while (idle && !reclaim_.reclaimBuffers()) std::this_thread::sleep_for(kEndSleep);
  reclaim_.leave();
  if (!idle) completion_.abandon();
  order_.leave();
  completion_.closeActivity();
  // Memory that peers may have mapped.
  std::vector<std::shared_ptr<DeviceSegment>> shared = registration_.takeWindows();
  shared.push_back(connections_.takeSegment());
  if (!idle) {
    for (const auto& memory : shared) memory->leak();
    connections_.leak();
    for (const auto& one : added_) one->leak();
    registration_.leak();
    return;
  }
  for (auto& memory : shared) {
    if (allInProcess() || (connections_.anyInProcess() && memory->hasDescriptor())) {
      reclaim_.keep(std::move(memory));
    } else if (!memory->hasDescriptor()) {
      memory->leak();  // this process does not learn when peers in other processes have ended their last operation
    }
  }
  // After a failure, a kernel of another process may still use this rank's memory.
  if (!allInProcess() && completion_.reportedFailure() != Code::Ok) {
    for (const auto& one : added_) one->leakShared();
  }
  RetiredMemory& retired = RetiredMemory::ofThisProcess();
  const DeviceNumbers own = {config_.device}, all = allDevices();
  registration_.retire();
  for (auto& one : added_) {
    const DeviceNumbers& users = one->usesHostMemory() ? all : own;
    retired.retire(config_.device, users, std::move(one));
  }
  for (auto& memory : shared) {
    if (memory == nullptr) continue;
    DeviceNumbers users = memory->users();
    retired.retire(config_.device, std::move(users), std::move(memory));
  }
  connections_.retire();
  reclaim_.close();
  retired.collect();
  completion_.close();
  order_.close();
}

}  // namespace jccl::device
