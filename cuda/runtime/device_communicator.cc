#include "cuda/runtime/device_communicator.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "cuda/runtime/stream_owners.h"

namespace jccl::device {
namespace {

constexpr std::chrono::seconds kEndTimeout{2};
constexpr std::chrono::microseconds kEndNap{200};
constexpr std::chrono::seconds kReclaimTimeout{1};

uint32_t loadWord(const uint32_t* word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

// A call of the driver that failed says nothing about arguments any more.
Code brokenBy(const Status& status) { return status.code() == Code::Invalid ? Code::System : status.code(); }

Code codeOf(uint32_t word) { return static_cast<Code>(static_cast<int32_t>(word)); }

}  // namespace

std::string DeviceCommunicator::What::text() const {
  if (code.collective == Collective::SendRecv) return "send_recv tasks=" + std::to_string(count);
  return std::string(nameOf(code.collective)) + " type=" + nameOf(code.type) + " count=" + std::to_string(count) +
         " algorithm=" + nameOf(choice.algorithm) + " protocol=" + nameOf(choice.protocol) +
         " channels=" + std::to_string(choice.channels);
}

DeviceCommunicator::~DeviceCommunicator() {
  const DeviceGuard guard(config_.device);
  const auto deadline = std::chrono::steady_clock::now() + kEndTimeout;
  bool idle = false;
  while (!idle) {
    {
      const std::lock_guard lock(mutex_);
      reap();
      idle = flights_.empty();
    }
    if (idle || std::chrono::steady_clock::now() >= deadline) break;
    abort(Code::Aborted);
    std::this_thread::sleep_for(kEndNap);
  }
  while (idle && !reclaimBuffers()) std::this_thread::sleep_for(kEndNap);
  fate_->leave(*this);
  if (activity_ != nullptr) activity_->close();
  StreamOwners::ofThisProcess().release(config_.token, config_.rank);
  if (!idle) {
    segment_.leak();
    tables_.leak();
    control_.leak();
    for (RegisteredMemory& memory : registered_) memory.leak();
    for (PeerMemory& memory : opened_) memory.leak();
    if (adapterMemory_ != nullptr) adapterMemory_->leak();
    for (InFlight& flight : flights_) (void)flight.arguments.release();
    return;
  }
  if (allInProcess_) {
    fate_->keep(std::move(segment_));
  } else if (!segment_.hasDescriptor()) {
    segment_.leak();  // a process does not learn when the others have ended their last operation
  }
  segment_.reset();
  opened_.clear();
  for (Event event : events_) (void)destroyEvent(event);
  if (stream_ != nullptr) (void)destroyStream(stream_);
}

// Reading and writing in place needs addresses that all ranks share.
bool DeviceCommunicator::inPlaceFits(Collective collective) const {
  return inPlace_ && (collective == Collective::AllReduce || collective == Collective::AllGather ||
                      collective == Collective::ReduceScatter);
}

Choice DeviceCommunicator::settle(Choice choice, Collective collective) const {
  choice.channels = static_cast<uint8_t>(std::min<int>(choice.channels, config_.channels));
  if (isExchange(collective)) return {Algorithm::Direct, Protocol::Simple, choice.channels, 0, 0};
  if (choice.algorithm == Algorithm::Tree && (collective != Collective::AllReduce || !plan_.hasTrees())) {
    choice.algorithm = Algorithm::Ring;
  }
  const bool inPlace =
      choice.algorithm == Algorithm::Direct && (choice.flags & Choice::kTryZeroCopy) != 0 && inPlaceFits(collective);
  choice.flags &= Choice::kInShards;
  if (inPlace) {
    choice.flags |= Choice::kZeroCopyUsed;
    choice.protocol = Protocol::Simple;
  } else if (choice.algorithm == Algorithm::Direct) {
    choice.channels = static_cast<uint8_t>(std::min<int>(choice.channels, plan_.openChannels()));
  }
  return choice;
}

// The first operation that the progress records tell of, 0 if they tell of none. Once one has failed it is that one: what
// was issued behind it begins nothing.
uint64_t DeviceCommunicator::firstWaiting() const {
  uint64_t first = 0;
  for (int channel = 0; channel < config_.channels; ++channel) {
    const uint64_t shown = __atomic_load_n(&records_[channel].sequence, __ATOMIC_ACQUIRE);
    if (shown != 0 && (first == 0 || shown - 1 < first)) first = shown - 1;
  }
  return first;
}

// The first failure stays; the caller holds the mutex.
void DeviceCommunicator::failed(Code code, uint64_t number, uint64_t sequence, std::string why) {
  if (failure_ != Code::Ok) return;
  failure_ = code;
  firstFailed_ = number;
  failedSequence_ = sequence;
  error_ = std::move(why);
}

void DeviceCommunicator::broken(const InFlight& flight, const Status& status) {
  failed(brokenBy(status), flight.number, flight.sequence, flight.what.text() + ": " + status.message());
}

// Takes back what operations that are over have used; the caller holds the mutex.
void DeviceCommunicator::reap() {
  while (!flights_.empty()) {
    InFlight& flight = flights_.front();
    bool done = false;
    const Status status = queryEvent(flight.event, done);
    if (!status) broken(flight, status);
    if (!done) return;
    if (const uint32_t code = loadWord(result_); code != 0 && flight.number >= firstWaiting()) {
      if (failure_ == Code::Ok) exposed_ = flight.isInPlace();
      failed(codeOf(code), flight.number, flight.sequence, flight.what.text());
    }
    if (flight.sequence != 0) history_.end(flight.sequence, failure_ == Code::Ok);
    if (flight.endsLaunch) {
      if (activity_ != nullptr) activity_->end();
      events_.push_back(flight.event);
      areas_.giveBack(std::move(flight.arguments));
    }
    flights_.pop_front();
  }
}

Code DeviceCommunicator::query(uint64_t number, bool& done) {
  const DeviceGuard guard(config_.device);
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
  fate_->forPeers(*this, [&inside](DeviceCommunicator& peer) {
    if (peer.releaseBuffers()) return;
    if (!inside.empty()) inside += ',';
    inside += std::to_string(peer.config_.rank);
  });
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

// For a peer whose operation in place has failed. From here on a kernel of this rank begins nothing; those that run end after
// what they move at the moment. Returns whether none of them is in flight.
bool DeviceCommunicator::releaseBuffers() {
  const DeviceGuard guard(config_.device);
  {
    const std::lock_guard lock(mutex_);
    reap();  // what has ended well stays so
  }
  uint32_t none = 0;
  __atomic_compare_exchange_n(result_, &none, static_cast<uint32_t>(Code::Aborted), false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  const std::unique_lock issuing(issuing_, std::try_to_lock);
  if (!issuing.owns_lock()) return false;
  const std::lock_guard lock(mutex_);
  reap();
  return std::none_of(flights_.begin(), flights_.end(), [](const InFlight& flight) { return flight.isInPlace(); });
}

void DeviceCommunicator::abort(Code code) {
  uint32_t none = 0;
  __atomic_compare_exchange_n(abort_, &none, static_cast<uint32_t>(code), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

Code DeviceCommunicator::failure() const {
  const std::lock_guard lock(mutex_);
  if (failure_ != Code::Ok) return failure_;
  if (const uint32_t code = loadWord(abort_); code != 0) return codeOf(code);
  return codeOf(loadWord(result_));
}

uint64_t DeviceCommunicator::lastIssued() const {
  const std::lock_guard lock(mutex_);
  return issued_;
}

uint64_t DeviceCommunicator::lastDone() {
  const DeviceGuard guard(config_.device);
  const std::lock_guard lock(mutex_);
  reap();
  return history_.lastDone();
}

uint64_t DeviceCommunicator::failedSequence() const {
  const std::lock_guard lock(mutex_);
  if (failure_ != Code::Ok || loadWord(result_) == 0) return failedSequence_;
  // Kernels have failed and not come to their end.
  const uint64_t waiting = firstWaiting();
  const auto found =
      std::find_if(flights_.begin(), flights_.end(), [&](const InFlight& flight) { return flight.number >= waiting; });
  return found == flights_.end() ? 0 : found->sequence;
}

std::string DeviceCommunicator::lastError() const {
  std::string told;
  {
    const std::lock_guard lock(mutex_);
    told = error_;
  }
  const Code code = failure();
  if (code == Code::Mismatch) told = "a peer runs another operation, or the same with other arguments: " + told;
  if (code == Code::Timeout) told = "the time-out passed on the device: " + told;
  for (const DeviceWait& wait : waiting()) {
    told += "; channel=" + std::to_string(wait.channel) + " peer=" + std::to_string(wait.place.peer) +
            " protocol=" + nameOf(wait.place.protocol) + " step=" + std::to_string(wait.place.step) +
            " waitedMillis=" + std::to_string(wait.waitedNanos / 1'000'000);
  }
  return told;
}

std::vector<DeviceWait> DeviceCommunicator::waiting() const {
  std::vector<DeviceWait> waits;
  for (int channel = 0; channel < config_.channels; ++channel) {
    const ProgressRecord& record = records_[channel];
    const uint64_t sequence = __atomic_load_n(&record.sequence, __ATOMIC_ACQUIRE);
    if (sequence == 0) continue;
    waits.push_back({channel, ProgressRecord::decode(__atomic_load_n(&record.place, __ATOMIC_RELAXED)), sequence - 1,
                     __atomic_load_n(&record.waitedNanos, __ATOMIC_RELAXED)});
  }
  return waits;
}

}  // namespace jccl::device
