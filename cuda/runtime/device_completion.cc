// How operations on a GPU come to their end, and how a rank gets its buffers back after a failure.
#include <algorithm>
#include <chrono>

#include "cuda/runtime/device_communicator.h"
#include "cuda/runtime/retired_memory.h"

namespace jccl::device {
namespace {

constexpr std::chrono::seconds kReclaimTimeout{1};

// A call of the driver that failed says nothing about arguments any more.
Code brokenBy(const Status& status) { return status.code() == Code::Invalid ? Code::System : status.code(); }

std::string describe(const Operation& operation) {
  if (operation.code.collective == Collective::SendRecv) return "send_recv tasks=" + std::to_string(operation.count);
  return std::string(nameOf(operation.code.collective)) + " type=" + nameOf(operation.code.type) +
         " count=" + std::to_string(operation.count) + " algorithm=" + nameOf(operation.choice.algorithm) +
         " protocol=" + nameOf(operation.choice.protocol) + " channels=" + std::to_string(operation.choice.channels);
}

}  // namespace

// The first failure stays; the caller holds the mutex.
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

// Ends its record; the caller holds the mutex.
void DeviceCommunicator::ended(const InFlight& flight, bool ok) {
  if (flight.operation.sequence != 0) history_.end(flight.operation, ok);
  transfers_.end(flight.transfers, ok);
}

// Frees what operations that are over have used; the caller holds the mutex.
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
      RetiredMemory::ofThisProcess().ended();
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
    const bool broken = failure_ == Code::System;  // the device itself: nothing comes to an end any more
    done = broken || flights_.empty() || number < flights_.front().number;
    if (firstFailed_ != 0 && number >= firstFailed_) code = failure_;
  }
  if (done && code != Code::Ok) done = reclaimBuffers();
  return code;
}

// Whether the buffers of an operation that failed are the application's again: no peer's kernel accesses them, or will. Peers
// that do not end their kernels in time are named.
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

// For a peer whose operation in place has failed. From here on a kernel of this rank begins nothing; those that run end after
// what they move at the moment. Returns whether none of them is in flight.
bool DeviceCommunicator::releaseBuffers() {
  const DeviceGuard guard(config_.device);
  {
    const std::lock_guard lock(mutex_);
    reap();  // what has ended well stays so
  }
  abort(Code::Aborted);  // only kernels write their result, so that its first code stays
  const std::unique_lock issuing(issuing_, std::try_to_lock);
  if (!issuing.owns_lock()) return false;
  const std::lock_guard lock(mutex_);
  reap();
  return std::none_of(flights_.begin(), flights_.end(), [](const InFlight& flight) { return flight.isInPlace(); });
}

// Peers of other processes, whose operations in place have failed, ask in this rank's page.
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
