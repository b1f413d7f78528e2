#include "cuda/runtime/device_reclaim.h"

#include <string>
#include <utility>

namespace jccl::device {

Status DeviceReclaim::makePage(UniqueFd& descriptor) {
  if (pages_[config_.rank]) return Status::ok();
  AccessPage page;
  const Status status = AccessPage::make(config_.token, config_.rank, page, descriptor);
  const std::lock_guard lock(pagesMutex_);
  pages_[config_.rank] = std::move(page);
  hasPage_ = status.isOk();
  return status;
}

Status DeviceReclaim::openPage(int peer, UniqueFd descriptor) {
  if (pages_[peer]) return Status::ok();
  AccessPage page;
  const Status status = AccessPage::open(std::move(descriptor), config_.token, peer, page);
  const std::lock_guard lock(pagesMutex_);
  pages_[peer] = std::move(page);
  return status;
}

bool DeviceReclaim::reclaimBuffers() {
  if (!completion_.isExposed()) return true;
  std::string inside;
  const auto add = [&inside](int peer) {
    if (!inside.empty()) inside += ',';
    inside += std::to_string(peer);
  };
  keepAlive_->forPeers(*this, [&](DeviceReclaim& peer) {
    if (!peer.releaseBuffers()) add(peer.rank());
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

bool DeviceReclaim::releaseBuffers() {
  completion_.refresh();             // before the abort, so that operations that have ended well stay successful
  completion_.abort(Code::Aborted);  // only kernels write `result`, so the code of the first failure stays
  const auto between = order_.betweenLaunches();
  return between.owns_lock() && !completion_.hasExposedInFlight();
}

void DeviceReclaim::answerPeers() {
  if (!hasPage_.load(std::memory_order_relaxed)) return;
  {
    const std::lock_guard lock(pagesMutex_);
    if (!pages_[config_.rank].awaitsAnswer()) return;
  }
  if (!releaseBuffers()) return;
  const std::lock_guard lock(pagesMutex_);
  pages_[config_.rank].answer();
}

void DeviceReclaim::close() {
  if (!pages_.empty() && pages_[config_.rank]) pages_[config_.rank].answer();
  keepAlive_.reset();
}

}  // namespace jccl::device
