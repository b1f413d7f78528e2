#include "cuda/runtime/device_completion.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "cuda/runtime/retired_memory.h"

namespace jccl::device {
namespace {

constexpr std::chrono::seconds kReclaimTimeout{1};
constexpr std::chrono::microseconds kAreaSleep{20};
constexpr size_t kMinAreaBytes = 16 * 1024;    // enough for a group of some hundred operations
constexpr size_t kAllAreasBytes = 512 * 1024;  // enough for 32 of the smallest areas
constexpr size_t kFewestAreas = 4;
constexpr std::chrono::milliseconds kDeviceCheck{5};  // a query of the driver takes microseconds, a poll nanoseconds

uint32_t loadWord(const uint32_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

// Returns the failure's code, but System instead of Invalid: the arguments were checked before, so a failed call of the
// driver does not mean that they are wrong.
Code brokenBy(const Status& status) { return status.code() == Code::Invalid ? Code::System : status.code(); }

std::string describe(const Operation& operation) {
  if (operation.code.collective == Collective::SendRecv) return "send_recv tasks=" + std::to_string(operation.count);
  return std::string(nameOf(operation.code.collective)) + " type=" + nameOf(operation.code.type) +
         " count=" + std::to_string(operation.count) + " algorithm=" + nameOf(operation.choice.algorithm) +
         " protocol=" + nameOf(operation.choice.protocol) + " channels=" + std::to_string(operation.choice.channels);
}

}  // namespace

DeviceCompletion::DeviceCompletion(const DeviceCommunicatorConfig& config)
    : size_(config.size),
      channels_(config.channels),
      device_(config.device),
      history_(config.recordedOperations),
      transfers_(config.recordedOperations, false) {}

Status DeviceCompletion::allocate() {
  const size_t words = sizeof(LaunchReport), records = words + channels_ * sizeof(ControlWords);
  const size_t bytes = records + channels_ * sizeof(ProgressRecord);
  if (Status status = HeapMemory::pinned(bytes, control_); !status) return status;
  report_ = control_.as<LaunchReport>();
  controls_ = {control_.as<ControlWords>(words), channels_};
  records_ = control_.as<ProgressRecord>(records);
  return areas_.provide(static_cast<int>(std::max(kFewestAreas, kAllAreasBytes / areaBytes())), areaBytes());
}

Status DeviceCompletion::watch(Stream stream) {
  const Status status = createEvent(passed_);
  return status ? recordEvent(passed_, stream) : status;
}

void DeviceCompletion::closeActivity() {
  if (activity_ != nullptr) activity_->close();
}

size_t DeviceCompletion::areaBytes() const {
  const size_t tasks = 2 * static_cast<size_t>(size_);  // of an all-to-all
  return std::max(kMinAreaBytes,
                  LaunchArguments::bytesFor<ExchangeTask>(tasks) + LaunchArguments::bytesFor<ExchangeQueue>(tasks));
}

Status DeviceCompletion::takeArea(size_t bytes, std::unique_ptr<ArgumentArea>& area) {
  if (bytes <= InlineArguments::kBytes) return Status::ok();
  const DeviceGuard guard(device_);
  if (!guard.status()) return guard.status();
  while (bytes <= areaBytes()) {
    {
      const std::lock_guard lock(mutex_);
      area = areas_.take(bytes);
      if (area != nullptr) return Status::ok();
      reap();
      // No area will become free: captured graphs keep all areas, or the communicator has failed.
      if (flights_.empty() || failure_ != Code::Ok) break;
    }
    std::this_thread::sleep_for(kAreaSleep);
  }
  area = std::make_unique<ArgumentArea>();
  return area->make(bytes);
}

void DeviceCompletion::giveBack(std::unique_ptr<ArgumentArea> area) {
  const std::lock_guard lock(mutex_);
  areas_.giveBack(std::move(area));
}

void DeviceCompletion::enter(InFlight& flight, std::span<const PointToPointTask> tasks) {
  const std::lock_guard lock(mutex_);
  Operation& operation = flight.operation;
  if (operation.code.collective == Collective::SendRecv) {
    flight.transfers = transfers_.begin(sequence_, tasks);
    return;
  }
  operation.sequence = ++sequence_;
  operation.fingerprint ^= fingerprintOf(operation.sequence, operation.code, operation.count, operation.root);
  history_.begin(operation);
}

void DeviceCompletion::beginActivity() {
  if (activity_ != nullptr) activity_->begin();
}

uint64_t DeviceCompletion::launched(std::span<InFlight> flights, std::unique_ptr<ArgumentArea> arguments) {
  const std::lock_guard lock(mutex_);
  issued_ = flights.back().number;
  flights.back().arguments = std::move(arguments);
  for (InFlight& flight : flights) flights_.push(std::move(flight));
  return sequence_;
}

uint64_t DeviceCompletion::captured(uint64_t number) {
  const std::lock_guard lock(mutex_);
  issued_ = number;
  return sequence_;
}

Code DeviceCompletion::notLaunched(std::span<const InFlight> flights, const Status& status) {
  const std::lock_guard lock(mutex_);
  if (activity_ != nullptr) activity_->end();
  for (const InFlight& flight : flights) ended(flight, false);
  broken(flights.front(), status);
  return failure_;
}

Code DeviceCompletion::groupRefused(Code code, bool begun) {
  const std::lock_guard lock(mutex_);
  if (begun) failed(code == Code::Invalid ? Code::System : code, issued_ + 1, 0, error_);
  return failure_ == Code::Ok ? code : failure_;
}

uint64_t DeviceCompletion::lastInFlight() {
  const std::lock_guard lock(mutex_);
  reap();
  return flights_.empty() ? 0 : flights_.back().number;
}

int DeviceCompletion::blocksInFlight() {
  const std::lock_guard lock(mutex_);
  reap();
  int blocks = 0;
  for (size_t i = 0; i < flights_.size(); ++i) blocks = std::max(blocks, flights_[i].blocks);
  return blocks;
}

bool DeviceCompletion::hasExposedInFlight() {
  const std::lock_guard lock(mutex_);
  reap();
  for (size_t i = 0; i < flights_.size(); ++i) {
    if (flights_[i].exposed) return true;
  }
  return false;
}

// Records the first failure; later ones change nothing. The caller holds the mutex.
void DeviceCompletion::failed(Code code, uint64_t number, uint64_t sequence, std::string why) {
  if (failure_ != Code::Ok) return;
  failure_ = code;
  firstFailed_ = number;
  failedSequence_ = sequence;
  error_ = std::move(why);
}

void DeviceCompletion::broken(const InFlight& flight, const Status& status) {
  failed(brokenBy(status), flight.number, flight.operation.sequence,
         describe(flight.operation) + ": " + status.message());
}

// Marks the operation as ended in the histories. The caller holds the mutex.
void DeviceCompletion::ended(const InFlight& flight, bool ok) {
  if (flight.operation.sequence != 0) history_.end(flight.operation, ok);
  transfers_.end(flight.transfers, ok);
}

// Removes operations that have ended from flights_, and frees their resources. Calls no driver. The caller holds the
// mutex.
void DeviceCompletion::reap() {
  if (flights_.empty()) return;
  const uint64_t last = __atomic_load_n(&report_->ended, __ATOMIC_ACQUIRE);
  while (!flights_.empty() && flights_.front().number <= last) {
    InFlight& flight = flights_.front();
    const uint64_t first = __atomic_load_n(&report_->failed, __ATOMIC_RELAXED);
    if (first != 0 && flight.number >= std::max(first, firstWaiting())) {
      const auto code = static_cast<Code>(loadWord(&controls_.words->result));
      if (failure_ == Code::Ok) exposed_ = flight.exposed;
      failed(code, flight.number, flight.operation.sequence, describe(flight.operation));
    }
    ended(flight, failure_ == Code::Ok);
    if (flight.endsLaunch) {
      if (activity_ != nullptr) activity_->end();
      areas_.giveBack(std::move(flight.arguments));
    }
    flights_.pop();
  }
}

// Asks the driver from time to time whether the device has failed: then no kernel reports its end. The caller holds the
// mutex.
void DeviceCompletion::checkDevice() {
  const auto now = std::chrono::steady_clock::now();
  if (flights_.empty() || now - deviceChecked_ < kDeviceCheck) return;
  deviceChecked_ = now;
  const DeviceGuard guard(device_);
  bool passed = false;
  const Status status = guard.status() ? queryEvent(passed_, passed) : guard.status();
  if (status) return;
  deviceFailed_ = true;
  broken(flights_.front(), status);
}

void DeviceCompletion::refresh() {
  const std::lock_guard lock(mutex_);
  reap();
}

Code DeviceCompletion::query(uint64_t number, bool& done) {
  const std::lock_guard lock(mutex_);
  reap();
  checkDevice();
  const bool broken = failure_ == Code::System;  // a driver call has failed, so operations may never end
  done = broken || flights_.empty() || number < flights_.front().number;
  return firstFailed_ != 0 && number >= firstFailed_ ? failure_ : Code::Ok;
}

bool DeviceCompletion::isIdle() {
  const std::lock_guard lock(mutex_);
  reap();
  checkDevice();
  return flights_.empty();
}

bool DeviceCompletion::hasDeviceFailed() const {
  const std::lock_guard lock(mutex_);
  return deviceFailed_;
}

bool DeviceCompletion::isExposed() {
  const std::lock_guard lock(mutex_);
  if (exposed_ && !exposedSince_) exposedSince_ = std::chrono::steady_clock::now();
  return exposed_;
}

bool DeviceCompletion::endExposure(const std::string& inside) {
  const std::lock_guard lock(mutex_);
  if (!exposed_) return true;
  if (!inside.empty()) {
    if (std::chrono::steady_clock::now() - *exposedSince_ < kReclaimTimeout) return false;
    error_ += "; peers=" + inside +
              " have not ended their kernels within seconds=" + std::to_string(kReclaimTimeout.count()) +
              ": those that run may still access this rank's buffers; synchronize the peers' streams before using them";
  }
  exposed_ = false;
  return true;
}

Code DeviceCompletion::failure() const {
  const std::lock_guard lock(mutex_);
  if (failure_ != Code::Ok) return failure_;
  if (const uint32_t code = loadWord(&controls_.words->result); code != 0) return static_cast<Code>(code);
  return static_cast<Code>(loadWord(&controls_.words->abort));
}

Code DeviceCompletion::reportedFailure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Status DeviceCompletion::noted(Status status) {
  if (!status) {
    const std::lock_guard lock(mutex_);
    error_ = status.message();
  }
  return status;
}

std::string DeviceCompletion::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

uint64_t DeviceCompletion::lastDone() {
  const std::lock_guard lock(mutex_);
  reap();
  checkDevice();
  return history_.lastDone();
}

uint64_t DeviceCompletion::failedSequence() const {
  const std::lock_guard lock(mutex_);
  if (failure_ != Code::Ok || loadWord(&controls_.words->result) == 0) return failedSequence_;
  // Kernels have failed, but their launches have not ended yet.
  const uint64_t waiting = firstWaiting();
  for (size_t i = 0; i < flights_.size(); ++i) {
    if (flights_[i].number >= waiting) return flights_[i].operation.sequence;
  }
  return 0;
}

// Returns the number of the first operation in the progress records, 0 if they contain none. After a failure this is
// the operation that failed, because operations issued after it do not begin.
uint64_t DeviceCompletion::firstWaiting() const {
  uint64_t first = 0;
  for (int channel = 0; channel < channels_; ++channel) {
    const uint64_t shown = __atomic_load_n(&records_[channel].sequence, __ATOMIC_ACQUIRE);
    if (shown != 0 && (first == 0 || shown - 1 < first)) first = shown - 1;
  }
  return first;
}

void DeviceCompletion::abandon() {
  const std::lock_guard lock(mutex_);
  control_.leak();
  if (flights_.empty()) return;
  for (size_t i = 0; i < flights_.size(); ++i) (void)flights_[i].arguments.release();
  if (deviceFailed_) return;  // a device that has failed runs nothing
  RetiredMemory::ofThisProcess().orphan(device_, &report_->ended, flights_.back().number, passed_);
}

void DeviceCompletion::close() {
  if (passed_ != nullptr) (void)destroyEvent(passed_);
  passed_ = nullptr;
}

}  // namespace jccl::device
