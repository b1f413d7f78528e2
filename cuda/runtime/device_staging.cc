#include "cuda/runtime/device_staging.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "cuda/runtime/stream_owners.h"

namespace jccl::device {
namespace {

constexpr int64_t kEndNanos = 2'000'000'000;
constexpr int64_t kSpinNanos = 20'000;
constexpr std::chrono::microseconds kSleep{50};

uint32_t narrow(uint64_t number) { return static_cast<uint32_t>(number); }

}  // namespace

Status DeviceStaging::create(const Config& config, int64_t timeoutNanos, std::unique_ptr<DeviceStaging>& staging) {
  std::unique_ptr<DeviceStaging> made(new DeviceStaging(config));
  Status status = made->make(timeoutNanos);
  if (status) staging = std::move(made);
  return status;
}

Status DeviceStaging::make(int64_t timeoutNanos) {
  const DeviceGuard guard(config_.device);
  Status status = guard.status();
  if (status) status = HeapMemory::pinned(sizeof(Words), memory_);
  if (status) words_ = memory_.as<Words>();
  if (status) status = createStream(stream_);
  if (status) status = createEvent(last_);
  if (!status) return status;
  using Kind = StagingStep::Kind;
  const StagingStep probe[] = {{Kind::Signal, nullptr, nullptr, kFirst - 1},
                               {Kind::Wait, nullptr, nullptr, kFirst - 1}};
  size_t done = 0;
  if (status = put(probe, stream_, done); !status) return status;
  bool reached = false;
  if (status = await(kFirst - 1, timeoutNanos, reached); status && !reached) {
    status = {Code::Timeout, "the device did not write to memory of the host within timeoutMillis=" +
                                 std::to_string(timeoutNanos / 1'000'000)};
  }
  open(kFirst - 1);
  return status;
}

DeviceStaging::~DeviceStaging() {
  const DeviceGuard guard(config_.device);
  bool passed = !lastStream_;
  if (lastStream_) {
    open(lastWait_);
    const int64_t deadline = monotonicNanos() + kEndNanos;
    while (queryEvent(last_, passed) && !passed && monotonicNanos() < deadline) std::this_thread::sleep_for(kSleep);
  }
  StreamOwners::ofThisProcess().release(config_.token, config_.rank);
  if (!passed) {
    memory_.leak();
    for (HeapMemory& area : areas_) area.leak();
    return;
  }
  if (last_ != nullptr) (void)destroyEvent(last_);
  if (stream_ != nullptr) (void)destroyStream(stream_);
}

Status DeviceStaging::area(size_t bytes, void*& memory) {
  const DeviceGuard guard(config_.device);
  if (!guard.status()) return noted(guard.status());
  const std::lock_guard lock(mutex_);
  if (areas_.empty() || areas_.back().bytes() < bytes) {
    HeapMemory area;
    if (Status status = HeapMemory::pinned(bytes, area); !status) {
      error_ = status.message();
      return status;
    }
    areas_.push_back(std::move(area));
  }
  memory = areas_.back().base();
  return Status::ok();
}

size_t DeviceStaging::areaBytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const HeapMemory& area : areas_) bytes += area.bytes();
  return bytes;
}

// Prepares a stream for the steps of put(). If this fails, nothing is on the stream.
Status DeviceStaging::begin(Stream stream, uint64_t& id) {
  bool capturing = false;
  if (Status status = isCapturing(stream, capturing); !status) return status;
  if (capturing) {
    return Status::invalid(
        "operations of this communicator cannot be captured: the host executes them (JCCL_GPU_HOST_STAGING), and is "
        "not notified of a replay; issue them without a graph");
  }
  StreamName name;
  Status status = nameStream(stream, capturing, name);
  id = name.id;
  if (!status || lastStream_ == id) return status;  // the last call used this stream: it is claimed and needs no wait
  StreamFacts facts;
  status = describeStream(stream, name, facts);
  if (status) status = StreamOwners::ofThisProcess().claim(config_.device, facts, config_.token, config_.rank);
  return status && lastStream_ ? waitEvent(stream, last_) : status;
}

Status DeviceStaging::putOne(const StagingStep& step, Stream stream) {
  switch (step.kind) {
    case StagingStep::Kind::Signal:
      return writeWord(stream, &words_->signalled, narrow(step.value));
    case StagingStep::Kind::Wait:
      lastWait_ = step.value;
      return waitWord(stream, &words_->opened, narrow(step.value));
    default:
      return copyAsync(step.to, step.from, step.value, stream);
  }
}

Status DeviceStaging::put(std::span<const StagingStep> steps, Stream stream, size_t& done) {
  done = 0;
  const DeviceGuard guard(config_.device);
  Status status = guard.status();
  uint64_t id = 0;
  if (status) status = begin(stream, id);
  if (!status) return noted(status);
  while (status && done < steps.size()) {
    status = putOne(steps[done], stream);
    if (status) ++done;
  }
  // The first step may fail because an address is invalid; then none of the steps is on the stream. Later steps cannot
  // be taken back, so their failure is final.
  if (!status && done == 0) return noted(status);
  lastStream_ = id;
  const Status recorded = recordEvent(last_, stream);
  if (status) status = recorded;
  if (!status && status.code() == Code::Invalid) status = {Code::System, status.message()};
  return noted(status);
}

bool DeviceStaging::hasCome(uint64_t signal) const {
  return hasComeTo(__atomic_load_n(&words_->signalled, __ATOMIC_ACQUIRE), narrow(signal));
}

Status DeviceStaging::await(uint64_t signal, int64_t nanos, bool& reached) {
  reached = hasCome(signal);
  if (reached) return Status::ok();
  const int64_t start = monotonicNanos();
  for (int64_t waited = 0; !reached && waited < nanos; waited = monotonicNanos() - start) {
    if (waited > kSpinNanos) std::this_thread::sleep_for(kSleep);
    reached = hasCome(signal);
  }
  if (reached) return Status::ok();
  const DeviceGuard guard(config_.device);
  bool over = false;
  Status status = guard.status();
  if (status) status = queryEvent(last_, over);  // returns an error if the device has failed
  return noted(status);
}

void DeviceStaging::open(uint64_t wait) {
  const std::lock_guard lock(mutex_);
  if (wait <= opened_) return;
  opened_ = wait;
  __atomic_store_n(&words_->opened, narrow(wait), __ATOMIC_RELEASE);
}

Status DeviceStaging::noted(Status status) {
  if (!status) {
    const std::lock_guard lock(mutex_);
    error_ = status.message();
  }
  return status;
}

std::string DeviceStaging::lastError() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace jccl::device
