// Registers buffers on which ranks of several processes then work in place.
#include "cuda/runtime/device_registration.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "cuda/runtime/retired_memory.h"
#include "engine/plan_arguments.h"

namespace jccl::device {
namespace {

constexpr std::chrono::microseconds kQuietSleep{200};

}  // namespace

// Calls attempt() until it succeeds, which requires that no kernel is in flight on this rank's device. When memory is
// opened or closed for the device, the driver waits for every kernel there, even for one that waits for a rank whose
// thread makes the call.
Status DeviceRegistration::awaitQuiet(int64_t timeoutNanos, const std::function<bool()>& attempt) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeoutNanos);
  while (!attempt()) {
    completion_.refresh();
    if (std::chrono::steady_clock::now() >= deadline) {
      return {Code::Timeout,
              "milliseconds=" + std::to_string(timeoutNanos / 1'000'000) + " device=" + std::to_string(config_.device) +
                  ": kernels of communicators of this process are in flight on the device, and the driver would wait "
                  "for them; wait for the operations of all its communicators first"};
    }
    std::this_thread::sleep_for(kQuietSleep);
  }
  return Status::ok();
}

Status DeviceRegistration::describeBuffer(const void* memory, size_t bytes, std::vector<uint8_t>& info) {
  const DeviceGuard guard(config_.device);
  if (!guard.status()) return guard.status();
  if (!connections_.plan().allowsDirect()) {
    return Status::invalid("size=" + std::to_string(config_.size) + ", expected at most " +
                           std::to_string(kMaxDirectRanks) +
                           " ranks, which work in place on registered buffers; do not register, operations need "
                           "no registration");
  }
  if (!reclaim_.usesPages() || connections_.anyStaged()) {
    return Status::invalid("expected ranks in several processes that reach each other's memory");
  }
  const MemoryRange range{static_cast<const uint8_t*>(memory), bytes};
  PeerReach::Found found;
  Status status = buffers_.describe(range, config_.device, info, bufferDescriptor_);
  if (status) status = connections_.reach().check(range, found);
  if (status && !found.unreached.empty()) {
    status = Status::invalid(describe(range) + ": " + found.unreached +
                             "; give the devices of all ranks of this process access (cuMemSetAccess)");
  }
  return status ? reclaim_.makePage(pageDescriptor_) : status;
}

BufferDescriptors DeviceRegistration::takeBufferDescriptors() {
  return {std::move(bufferDescriptor_), UniqueFd(::fcntl(pageDescriptor_.get(), F_DUPFD_CLOEXEC, 0))};
}

Status DeviceRegistration::openBuffer(int peer, std::span<const uint8_t> info, BufferDescriptors descriptors,
                                      int64_t timeoutNanos, uint64_t& here) {
  if (Status status = checkPeer(peer, config_.rank, config_.size); !status) return status;
  const DeviceGuard guard(config_.device);
  if (!guard.status()) return guard.status();
  const bool inProcess = connections_.isInProcess(peer);
  Status opened;
  Status status = awaitQuiet(timeoutNanos, [&] {
    return RetiredMemory::ofThisProcess().whenQuiet(
        {config_.device}, [&] { opened = buffers_.open(peer, inProcess, info, std::move(descriptors.buffer), here); });
  });
  if (status) status = opened;
  return status && !inProcess ? reclaim_.openPage(peer, std::move(descriptors.page)) : status;
}

Status DeviceRegistration::useBuffer(std::vector<uint64_t> there, uint64_t& number) {
  const bool first = buffers_.empty();
  const Status status = buffers_.use(std::move(there), number);
  if (status && first) reclaim_.join();
  return status;
}

Status DeviceRegistration::retireOpened(RegisteredBuffers::Opened opened, int64_t timeoutNanos) {
  RetiredMemory& retired = RetiredMemory::ofThisProcess();
  Status status =
      awaitQuiet(timeoutNanos, [&] { return retired.whenQuiet({config_.device}, [&] { opened.clear(); }); });
  if (!status) retired.retire(config_.device, {config_.device}, std::move(opened));
  retired.collect();
  return status;
}

Status DeviceRegistration::allocateWindow(Stream stream, size_t bytes, bool descriptors, int64_t timeoutNanos,
                                          uint8_t*& memory) {
  const DeviceGuard guard(config_.device);
  if (!guard.status()) return guard.status();
  auto window = std::make_shared<DeviceSegment>();
  Status made;
  Status status = awaitQuiet(timeoutNanos, [&] {
    return RetiredMemory::ofThisProcess().whenQuiet(connections_.segment().users(), [&] {
      UniqueFd unused;  // registering the memory exports another descriptor
      if (descriptors || connections_.usesDescriptors()) {
        made = DeviceSegment::behindDescriptor(bytes, *window, unused);
      }
      if (!window->hasDescriptor()) made = DeviceSegment::onHeap(bytes, !connections_.allInProcess(), *window);
      for (const int user : connections_.segment().users()) {
        if (made) made = window->giveAccess(user);
      }
    });
  });
  if (status) status = made;
  if (status) status = fillAsync(window->base(), 0, bytes, stream);
  if (status) status = synchronize(stream);
  if (!status) return status;
  memory = window->base();
  windows_.add(std::move(window));
  return Status::ok();
}

Status DeviceRegistration::useWindow(const uint8_t* memory, std::vector<uint64_t> here, std::vector<uint64_t> there) {
  const size_t n = static_cast<size_t>(config_.size);
  if (here.size() != n || (!there.empty() && there.size() != n)) {
    return Status::invalid("addresses=" + std::to_string(here.size()) + " and " + std::to_string(there.size()) +
                           ", expected one for each of " + std::to_string(n) + " ranks");
  }
  return windows_.use(memory, std::move(here), std::move(there));
}

Status DeviceRegistration::freeWindow(const uint8_t* memory) {
  std::shared_ptr<DeviceSegment> window = windows_.remove(memory);
  if (window == nullptr) return Status::invalid("expected memory that allocateWindow has allocated");
  RetiredMemory& retired = RetiredMemory::ofThisProcess();
  DeviceNumbers users = window->users();
  retired.retire(config_.device, std::move(users), std::move(window));
  retired.collect();
  return Status::ok();
}

Status DeviceRegistration::dropBuffer(int64_t timeoutNanos) {
  const DeviceGuard guard(config_.device);
  bufferDescriptor_.reset();
  return retireOpened(buffers_.drop(), timeoutNanos);
}

Status DeviceRegistration::closeBuffer(uint64_t number, int64_t timeoutNanos) {
  const DeviceGuard guard(config_.device);
  RegisteredBuffers::Opened opened;
  if (!buffers_.close(number, opened)) {
    return Status::invalid("number=" + std::to_string(number) + ", expected that of a registered buffer");
  }
  return retireOpened(std::move(opened), timeoutNanos);
}

void DeviceRegistration::leak() {
  for (const auto& memory : buffers_.closeAll()) memory->leak();
}

void DeviceRegistration::retire() {
  RetiredMemory::ofThisProcess().retire(config_.device, {config_.device}, buffers_.closeAll());
}

}  // namespace jccl::device
