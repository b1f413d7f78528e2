// Returns a rank's buffers to the application after an operation in place has failed.
#include "cuda/runtime/device_communicator.h"

namespace jccl::device {

Code DeviceCommunicator::query(uint64_t number, bool& done) {
  answerPeers();
  const Code code = completion_.query(number, done);
  if (done && code != Code::Ok) done = reclaimBuffers();
  return code;
}

uint64_t DeviceCommunicator::lastDone() {
  answerPeers();
  return completion_.lastDone();
}

// Returns true when the buffers of a failed operation belong to the application again: no kernel of a peer accesses
// them, now or later. Also returns true if peers do not end their kernels in time.
bool DeviceCommunicator::reclaimBuffers() {
  if (!completion_.isExposed()) return true;
  std::string inside;
  const auto add = [&inside](int peer) {
    if (!inside.empty()) inside += ',';
    inside += std::to_string(peer);
  };
  keepAlive_->forPeers(*this, [&](DeviceCommunicator& peer) {
    if (!peer.releaseBuffers()) add(peer.config_.rank);
  });
  {
    const std::lock_guard lock(pagesMutex_);
    for (size_t peer = 0; peer < pages_.size(); ++peer) {
      if (static_cast<int>(peer) == config_.rank || !pages_[peer]) continue;
      pages_[peer].revoke();
      if (!pages_[peer].isReleased()) add(static_cast<int>(peer));
    }
  }
  return completion_.endExposure(inside);
}

// Called for a peer whose operation in place has failed. From then on kernels of this rank begin nothing; running ones
// end after the chunk that they move. Returns true if no operation in place is in flight.
bool DeviceCommunicator::releaseBuffers() {
  completion_.refresh();  // before the abort, so that operations that have ended well stay successful
  abort(Code::Aborted);   // only kernels write `result`, so the code of the first failure stays
  const std::unique_lock issuing(issuing_, std::try_to_lock);
  return issuing.owns_lock() && !completion_.hasInPlaceInFlight();
}

// Answers peers in other processes, which ask through this rank's page after their operations in place have failed.
void DeviceCommunicator::answerPeers() {
  {
    const std::lock_guard lock(pagesMutex_);
    if (pages_.empty() || !pages_[config_.rank] || !pages_[config_.rank].awaitsAnswer()) return;
  }
  if (!releaseBuffers()) return;
  const std::lock_guard lock(pagesMutex_);
  pages_[config_.rank].answer();
}

}  // namespace jccl::device
