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
  if (status) status = offer(memory_, slotBytes_, info);
  if (!status) drop();
  return communicator_.noted(status);
}

Status NvlsAlgorithm::offer(MulticastMemory& memory, uint32_t slotBytes, std::vector<uint8_t>& info) {
  if (!communicator_.allInProcess()) {
    int descriptor = -1;
    if (Status status = memory.exportDescriptor(descriptor); !status) return status;
    descriptor_.reset(descriptor);
  }
  Introduction own{};
  own.magic = kMagic;
  own.token[0] = config().token[0];
  own.token[1] = config().token[1];
  own.process = ::getpid();
  own.handle = memory.handle();
  own.bytes = memory.bytes();
  own.slotBytes = slotBytes;
  own.channels = config().channels;
  info.resize(sizeof own);
  std::memcpy(info.data(), &own, sizeof own);
  return Status::ok();
}

Status NvlsAlgorithm::join(uint32_t slotBytes, std::span<const uint8_t> info, int descriptor) {
  slotBytes_ = slotBytes;
  const DeviceGuard guard(config().device);
  Status status = guard.status() ? MulticastMemory::supported() : guard.status();
  const UniqueFd owned(descriptor);
  if (status) {
    status = accept(memory_, slotBytes_, NvlsLaunch::memoryBytes(config().channels, slotBytes_), info, owned.get());
  }
  return communicator_.noted(status);
}

// Takes part in the object of another rank, or of this one. `descriptor` stays the caller's.
Status NvlsAlgorithm::accept(MulticastMemory& memory, uint32_t slotBytes, size_t bytes, std::span<const uint8_t> info,
                             int descriptor) {
  Introduction theirs{};
  if (info.size() == sizeof theirs) std::memcpy(&theirs, info.data(), sizeof theirs);
  if (theirs.magic != kMagic || std::memcmp(theirs.token, config().token, sizeof theirs.token) != 0 ||
      theirs.slotBytes != slotBytes || theirs.channels != config().channels || theirs.bytes < bytes) {
    return Status::transport(
        "the multicast object of another rank has infoBytes=" + std::to_string(info.size()) +
        " slotBytes=" + std::to_string(theirs.slotBytes) + " channels=" + std::to_string(theirs.channels) +
        " bytes=" + std::to_string(theirs.bytes) + ", expected slotBytes=" + std::to_string(slotBytes) +
        " channels=" + std::to_string(config().channels) + " and at least bytes=" + std::to_string(bytes) +
        "; all ranks must run the same library with the same JCCL_NVLS_CHUNKSIZE");
  }
  Status status;
  if (memory.handle() == 0) {
    if (descriptor >= 0) {
      status = memory.import(descriptor, theirs.bytes);
    } else if (theirs.process == ::getpid()) {
      memory.open(theirs.handle, theirs.bytes);
    } else {
      status = Status::transport("the descriptor of the multicast object was not received");
    }
  }
  return status ? memory.join() : status;
}

Status NvlsAlgorithm::windowAt(const uint8_t* window, MulticastMemory*& multicast) {
  for (Window& one : windows_) {
    if (one.memory != window) continue;
    multicast = &one.multicast;
    return Status::ok();
  }
  const DeviceSegment* memory = communicator_.windowAt(window);
  if (memory == nullptr || memory->allocation() == 0) {
    return Status::transport("this rank's memory is not behind a descriptor, so no multicast object can contain it");
  }
  if (windows_.size() == NvlsLaunch::kMaxWindows) {
    return Status::transport("windows=" + std::to_string(windows_.size()) +
                             " have multicast addresses, expected fewer; close symmetric memory that is not used");
  }
  windows_.push_back({window, {}});
  multicast = &windows_.back().multicast;
  return Status::ok();
}

Status NvlsAlgorithm::createWindow(const uint8_t* window, std::vector<uint8_t>& info) {
  const DeviceGuard guard(config().device);
  MulticastMemory* multicast = nullptr;
  Status status = guard.status() ? windowAt(window, multicast) : guard.status();
  const size_t bytes = status ? communicator_.windowAt(window)->bytes() : 0;
  if (status) status = multicast->create(config().size, bytes);
  if (status && multicast->bytes() != bytes) {
    status = Status::transport("bytes=" + std::to_string(bytes) + ", expected a multiple of the granularity of " +
                               "multicast objects, such as bytes=" + std::to_string(multicast->bytes()));
  }
  if (status) status = offer(*multicast, 0, info);
  return communicator_.noted(status);
}

Status NvlsAlgorithm::joinWindow(const uint8_t* window, std::span<const uint8_t> info, int descriptor) {
  const UniqueFd owned(descriptor);
  const DeviceGuard guard(config().device);
  MulticastMemory* multicast = nullptr;
  Status status = guard.status() ? windowAt(window, multicast) : guard.status();
  if (status) status = accept(*multicast, 0, communicator_.windowAt(window)->bytes(), info, owned.get());
  return communicator_.noted(status);
}

Status NvlsAlgorithm::bindWindow(const uint8_t* window) {
  const DeviceGuard guard(config().device);
  MulticastMemory* multicast = nullptr;
  Status status = guard.status() ? windowAt(window, multicast) : guard.status();
  if (status) status = multicast->bind(communicator_.windowAt(window)->allocation());
  return communicator_.noted(status);
}

void NvlsAlgorithm::dropWindow(const uint8_t* window) {
  const DeviceGuard guard(config().device);
  descriptor_.reset();
  const auto found =
      std::find_if(windows_.begin(), windows_.end(), [&](const Window& one) { return one.memory == window; });
  if (found == windows_.end()) return;
  RetiredMemory& retired = RetiredMemory::ofThisProcess();
  retired.retire(config().device, {config().device}, std::move(found->multicast));
  windows_.erase(found);
  retired.collect();
}

void NvlsAlgorithm::leak() {
  memory_.leak();
  for (Window& window : windows_) window.multicast.leak();
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
  for (const Window& window : windows_) {
    const MulticastMemory& all = window.multicast;
    if (all.isReady()) launch.windows[launch.windowCount++] = {window.memory, all.bytes(), all.multicast()};
  }
  return launcher.launch(nvlsKernel(code.collective, code.type), launch);
}

}  // namespace jccl::device
