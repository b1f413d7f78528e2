// Ends operations on a GPU, and returns a rank's buffers to the application after a failure.
#include <algorithm>
#include <chrono>

#include "cuda/runtime/device_communicator.h"
#include "cuda/runtime/retired_memory.h"

namespace jccl::device {
namespace {

constexpr std::chrono::seconds kReclaimTimeout{1};
constexpr std::chrono::milliseconds kDeviceCheck{5};  // a query of the driver takes microseconds, a poll nanoseconds

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

// Records the first failure; later ones change nothing. The caller holds the mutex.
void DeviceCommunicator::failed(Code code, uint64_t number, uint64_t sequence, std::string why) {
  if (failure_ != Code::Ok) return;
  failure_ = code;
  firstFailed_ = number;
  failedSequence_ = sequence;
  error_ = std::move(why);
}

void DeviceCommunicator::broken(const InFlight& flight, const Status& status) {
  failed(brokenBy(status), flight.number, flight.operation.sequence,
         describe(flight.operation) + ": " + status.message());
}

// Marks the operation as ended in the histories. The caller holds the mutex.
void DeviceCommunicator::ended(const InFlight& flight, bool ok) {
  if (flight.operation.sequence != 0) history_.end(flight.operation, ok);
  transfers_.end(flight.transfers, ok);
}

// Removes operations that have ended from flights_, and frees their resources. Calls no driver. The caller holds the
// mutex.
void DeviceCommunicator::reap() {
  if (flights_.empty()) return;
  const uint64_t last = __atomic_load_n(&report_->ended, __ATOMIC_ACQUIRE);
  while (!flights_.empty() && flights_.front().number <= last) {
    InFlight& flight = flights_.front();
    const uint64_t first = __atomic_load_n(&report_->failed, __ATOMIC_RELAXED);
    if (first != 0 && flight.number >= std::max(first, firstWaiting())) {
      const auto code = static_cast<Code>(loadWord(&controls_.words->result));
      if (failure_ == Code::Ok) exposed_ = flight.isInPlace();
      failed(code, flight.number, flight.operation.sequence, describe(flight.operation));
    }
    ended(flight, failure_ == Code::Ok);
    if (flight.endsLaunch) {
      RetiredMemory::ofThisProcess().ended(config_.device);
      if (activity_ != nullptr) activity_->end();
      areas_.giveBack(std::move(flight.arguments));
    }
    flights_.pop();
  }
}

// Asks the driver from time to time whether the device has failed: then no kernel reports its end. The caller holds the
// mutex.
void DeviceCommunicator::checkDevice() {
  const auto now = std::chrono::steady_clock::now();
  if (flights_.empty() || now - deviceChecked_ < kDeviceCheck) return;
  deviceChecked_ = now;
  const DeviceGuard guard(config_.device);
  bool passed = false;
  const Status status = guard.status() ? queryEvent(passed_, passed) : guard.status();
  if (status) return;
  deviceFailed_ = true;
  broken(flights_.front(), status);
}

void DeviceCommunicator::refresh() {
  const std::lock_guard lock(mutex_);
  reap();
}

Code DeviceCommunicator::query(uint64_t number, bool& done) {
  answerPeers();
  Code code = Code::Ok;
  {
    const std::lock_guard lock(mutex_);
    reap();
    checkDevice();
    const bool broken = failure_ == Code::System;  // a driver call has failed, so operations may never end
    done = broken || flights_.empty() || number < flights_.front().number;
    if (firstFailed_ != 0 && number >= firstFailed_) code = failure_;
  }
  if (done && code != Code::Ok) done = reclaimBuffers();
  return code;
}

// Returns true when the buffers of a failed operation belong to the application again: no kernel of a peer accesses
// them, now or later. Also returns true after kReclaimTimeout; the error then names the peers whose kernels still run.
bool DeviceCommunicator::reclaimBuffers() {
  {
    const std::lock_guard lock(mutex_);
    if (!exposed_) return true;
    if (!exposedSince_) exposedSince_ = std::chrono::steady_clock::now();
  }
  std::string inside;
  keepAlive_->forPeers(*this, [&inside](DeviceCommunicator& peer) {
    if (peer.releaseBuffers()) return;
    if (!inside.empty()) inside += ',';
    inside += std::to_string(peer.config_.rank);
  });
  const std::lock_guard lock(mutex_);
  if (!exposed_) return true;
  for (size_t peer = 0; peer < pages_.size(); ++peer) {
    if (static_cast<int>(peer) == config_.rank || !pages_[peer]) continue;
    pages_[peer].revoke();
    if (pages_[peer].isReleased()) continue;
    if (!inside.empty()) inside += ',';
    inside += std::to_string(peer);
  }
  if (!inside.empty()) {
    if (std::chrono::steady_clock::now() - *exposedSince_ < kReclaimTimeout) return false;
    error_ += "; peers=" + inside +
              " have not ended their kernels within seconds=" + std::to_string(kReclaimTimeout.count()) +
              ": those that run may still access this rank's buffers; synchronize the peers' streams before using them";
  }
  exposed_ = false;
  return true;
}

// Called for a peer whose operation in place has failed. From then on kernels of this rank begin nothing; running ones
// end after the chunk that they move. Returns true if no operation in place is in flight.
bool DeviceCommunicator::releaseBuffers() {
  {
    const std::lock_guard lock(mutex_);
    reap();  // before the abort, so that operations that have ended well stay successful
  }
  abort(Code::Aborted);  // only kernels write `result`, so the code of the first failure stays
  const std::unique_lock issuing(issuing_, std::try_to_lock);
  if (!issuing.owns_lock()) return false;
  const std::lock_guard lock(mutex_);
  reap();
  for (size_t i = 0; i < flights_.size(); ++i) {
    if (flights_[i].isInPlace()) return false;
  }
  return true;
}

// Answers peers in other processes, which ask through this rank's page after their operations in place have failed.
void DeviceCommunicator::answerPeers() {
  {
    const std::lock_guard lock(mutex_);
    if (pages_.empty() || !pages_[config_.rank] || !pages_[config_.rank].awaitsAnswer()) return;
  }
  if (!releaseBuffers()) return;
  const std::lock_guard lock(mutex_);
  pages_[config_.rank].answer();
}

}  // namespace jccl::device
