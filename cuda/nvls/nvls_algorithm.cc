#include "cuda/nvls/nvls_algorithm.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>

#include "cuda/nvls/nvls_kernels.h"
#include "cuda/nvls/nvls_launch.h"
#include "cuda/nvls/switch_reduction.h"
#include "cuda/runtime/retired_memory.h"
#include "cuda/runtime/works_launcher.h"

namespace jccl::device {
namespace {

constexpr uint64_t kMagic = 0x4a43434c4e564c31;  // "JCCLNVL1"

constexpr OperationCode reduction(DataType type, ReduceOp op) { return {Collective::AllReduce, type, op}; }
// An operation for each reduction of the switch: see simt::SwitchReduction.
constexpr OperationCode kReductions[] = {
    reduction(DataType::Int32, ReduceOp::Sum),    reduction(DataType::Int64, ReduceOp::Sum),
    reduction(DataType::Int32, ReduceOp::Min),    reduction(DataType::Uint32, ReduceOp::Min),
    reduction(DataType::Int64, ReduceOp::Min),    reduction(DataType::Uint64, ReduceOp::Min),
    reduction(DataType::Int32, ReduceOp::Max),    reduction(DataType::Uint32, ReduceOp::Max),
    reduction(DataType::Int64, ReduceOp::Max),    reduction(DataType::Uint64, ReduceOp::Max),
    reduction(DataType::Uint64, ReduceOp::And),   reduction(DataType::Uint64, ReduceOp::Or),
    reduction(DataType::Uint64, ReduceOp::Xor),   reduction(DataType::Float16, ReduceOp::Sum),
    reduction(DataType::Bfloat16, ReduceOp::Sum), reduction(DataType::Float32, ReduceOp::Sum),
    reduction(DataType::Float64, ReduceOp::Sum),
};
static_assert(std::size(kReductions) == static_cast<size_t>(simt::SwitchReduction::SumFloat64) + 1);
static_assert(std::all_of(std::begin(kReductions), std::end(kReductions), nvlsExecutes));

// Sent to the other ranks by the rank that created the object.
struct Introduction {
  uint64_t magic;
  uint64_t token[2];
  int64_t process;
  uint64_t handle;  // valid in process `process`
  uint64_t bytes;
  uint32_t slotBytes;
  int32_t channels;
};

}  // namespace

Status NvlsAlgorithm::create(uint32_t slotBytes, std::vector<uint8_t>& info) {
  slotBytes_ = slotBytes;
  const DeviceGuard guard(config().device);
  Status status = guard.status();
  if (status && config().size > MulticastChannel::kMaxRanks) {
    status = Status::invalid("size=" + std::to_string(config().size) + ", expected at most " +
                             std::to_string(MulticastChannel::kMaxRanks) + " ranks for NVLS");
  }
  constexpr uint32_t kWide = 16;
  if (status && slotBytes_ < kWide * static_cast<uint32_t>(config().size)) {
    status = Status::invalid("slotBytes=" + std::to_string(slotBytes_) + ", expected at least " +
                             std::to_string(kWide) + " for each of " + std::to_string(config().size) + " ranks");
  }
  if (status) status = MulticastMemory::supported();
  if (status) {
    status = memory_.create(config().size, NvlsLaunch::memoryBytes(config().channels, slotBytes_));
  }
  if (status && !communicator_.allInProcess()) {
    int descriptor = -1;
    status = memory_.exportDescriptor(descriptor);
    descriptor_.reset(descriptor);
  }
  if (!status) {
    drop();
    return communicator_.noted(status);
  }
  Introduction own{};
  own.magic = kMagic;
  own.token[0] = config().token[0];
  own.token[1] = config().token[1];
  own.process = ::getpid();
  own.handle = memory_.handle();
  own.bytes = memory_.bytes();
  own.slotBytes = slotBytes_;
  own.channels = config().channels;
  info.resize(sizeof own);
  std::memcpy(info.data(), &own, sizeof own);
  return Status::ok();
}

Status NvlsAlgorithm::join(uint32_t slotBytes, std::span<const uint8_t> info, int descriptor) {
  slotBytes_ = slotBytes;
  const UniqueFd owned(descriptor);
  const DeviceGuard guard(config().device);
  if (!guard.status()) return communicator_.noted(guard.status());
  Introduction theirs{};
  if (info.size() == sizeof theirs) std::memcpy(&theirs, info.data(), sizeof theirs);
  if (theirs.magic != kMagic || std::memcmp(theirs.token, config().token, sizeof theirs.token) != 0 ||
      theirs.slotBytes != slotBytes_ || theirs.channels != config().channels ||
      theirs.bytes < NvlsLaunch::memoryBytes(config().channels, slotBytes_)) {
    return communicator_.noted(Status::transport(
        "the multicast object of another rank has infoBytes=" + std::to_string(info.size()) +
        " slotBytes=" + std::to_string(theirs.slotBytes) + " channels=" + std::to_string(theirs.channels) +
        " bytes=" + std::to_string(theirs.bytes) + ", expected slotBytes=" + std::to_string(slotBytes_) + " channels=" +
        std::to_string(config().channels) + "; all ranks must run the same library with the same JCCL_NVLS_CHUNKSIZE"));
  }
  Status status = MulticastMemory::supported();
  if (status && memory_.handle() == 0) {
    if (owned) {
      status = memory_.import(owned.get(), theirs.bytes);
    } else if (theirs.process == ::getpid()) {
      memory_.open(theirs.handle, theirs.bytes);
    } else {
      status = Status::transport("the descriptor of the multicast object was not received");
    }
  }
  if (status) status = memory_.join();
  return communicator_.noted(status);
}

Status NvlsAlgorithm::test(int64_t timeoutNanos) {
  return communicator_.testAdded(Algorithm::Nvls, kReductions, timeoutNanos);
}

Status NvlsAlgorithm::bind() {
  const DeviceGuard guard(config().device);
  Status status = guard.status();
  if (status) status = memory_.bind();
  // Zeroes the flags before any rank can set one.
  if (status) status = fillAsync(memory_.memory(), 0, memory_.bytes(), communicator_.ownStream());
  if (status) status = synchronize(communicator_.ownStream());
  return communicator_.noted(status);
}

void NvlsAlgorithm::drop() {
  const DeviceGuard guard(config().device);
  descriptor_.reset();
  RetiredMemory& retired = RetiredMemory::ofThisProcess();
  retired.retire(config().device, {config().device}, std::move(memory_));
  retired.collect();
}

bool NvlsAlgorithm::adjust(OperationCode code, Choice& choice) const {
  if (!memory_.isReady() || !nvlsExecutes(code)) return false;
  const int channels = std::min<int>(choice.channels, config().channels);
  choice = {Algorithm::Nvls, Protocol::Simple, static_cast<uint8_t>(channels), 0, 0};
  return true;
}

Issued NvlsAlgorithm::launch(WorksLauncher& launcher) const {
  const OperationCode& code = launcher.first().operation.code;
  NvlsLaunch launch{};
  launch.memory = memory_.memory();
  launch.multicast = memory_.multicast();
  launch.channelCount = static_cast<uint32_t>(config().channels);
  launch.slotBytes = slotBytes_;
  return launcher.launch(nvlsKernel(code.collective, code.type), launch);
}

}  // namespace jccl::device
