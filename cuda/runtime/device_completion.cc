// Ends operations on a GPU, and returns a rank's buffers to the application after a failure.
#include <algorithm>
#include <chrono>

#include "cuda/runtime/device_communicator.h"
#include "cuda/runtime/retired_memory.h"

namespace jccl::device {
namespace {

constexpr std::chrono::seconds kReclaimTimeout{1};

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

// Removes operations that have ended from flights_, and frees their resources. The caller holds the mutex.
void DeviceCommunicator::reap() {
  while (!flights_.empty()) {
    InFlight& flight = flights_.front();
    bool done = false;
    const Status status = queryEvent(flight.event, done);
    if (!status) {
      deviceFailed_ = true;
      broken(flight, status);
    }
    if (!done) return;
    if (const uint32_t code = loadWord(&controls_.words->result); code != 0 && flight.number >= firstWaiting()) {
      if (failure_ == Code::Ok) exposed_ = flight.isInPlace();
      failed(static_cast<Code>(code), flight.number, flight.operation.sequence, describe(flight.operation));
    }
    ended(flight, failure_ == Code::Ok);
    if (flight.endsLaunch) {
      RetiredMemory::ofThisProcess().ended(config_.device);
      if (activity_ != nullptr) activity_->end();
      events_.push_back(flight.event);
      areas_.giveBack(std::move(flight.arguments));
    }
    flights_.pop_front();
  }
}

Code DeviceCommunicator::query(uint64_t number, bool& done) {
  const DeviceGuard guard(config_.device);
  answerPeers();
  Code code = Code::Ok;
  {
    const std::lock_guard lock(mutex_);
    reap();
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
  const DeviceGuard guard(config_.device);
  {
    const std::lock_guard lock(mutex_);
    reap();  // before the abort, so that operations that have ended well stay successful
  }
  abort(Code::Aborted);  // only kernels write `result`, so the code of the first failure stays
  const std::unique_lock issuing(issuing_, std::try_to_lock);
  if (!issuing.owns_lock()) return false;
  const std::lock_guard lock(mutex_);
  reap();
  return std::none_of(flights_.begin(), flights_.end(), [](const InFlight& flight) { return flight.isInPlace(); });
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
