#include "cuda/runtime/shared_device.h"

#include <deque>
#include <utility>

#include "cuda/runtime/device_order.h"

namespace jccl::device {

SharedDevice& SharedDevice::of(int device) {
  static std::mutex mutex;
  // Never destroyed: communicators may end until the process does.
  static auto* devices = new std::deque<SharedDevice>();
  const std::lock_guard lock(mutex);
  while (devices->size() <= static_cast<size_t>(device)) devices->emplace_back();
  return (*devices)[device];
}

Status SharedDevice::join(DeviceOrder& rank, std::shared_ptr<std::mutex> issuing, double share, int multiprocessors) {
  const std::lock_guard turn(turn_);
  std::vector<std::shared_ptr<std::mutex>> others;
  {
    const std::lock_guard lock(mutex_);
    multiprocessors_ = multiprocessors;
    if (last_ == nullptr && !fits(taken() + share)) {
      // Creates the stream and the event in advance, because capture() must not create them.
      Status status = createStream(stream_);
      if (status) status = createEvent(last_);
      if (!status) return status;
    }
    for (const Member& member : members_) others.push_back(member.issuing);
    members_.push_back({&rank, std::move(issuing), share});
    const bool wasOrdered = isOrdered_.exchange(mustOrder());
    if (wasOrdered || !isOrdered_) return Status::ok();
  }
  // Ranks that are there may have launches under way that take no turns. A launch that holds its rank's mutex and sees
  // the flag gives up the mutex before it waits for turn_, so this wait ends.
  for (const auto& other : others) const std::lock_guard launched(*other);
  return Status::ok();
}

void SharedDevice::leave(const DeviceOrder& rank) {
  const std::lock_guard lock(mutex_);
  std::erase_if(members_, [&](const Member& member) { return member.rank == &rank; });
  if (members_.empty()) capturedOn_.reset();
}

void SharedDevice::takeTurnAlone(Turn& turn) {
  ++entries_;
  turn.rank.unlock();
  turn.alone = std::unique_lock(turn_);
  turn.rank.lock();
  const std::lock_guard lock(mutex_);
  isOrdered_ = mustOrder();
  if (!isOrdered_) turn.alone.unlock();  // ranks have left since
}

bool SharedDevice::becomeQuiet(Quiet& quiet) {
  quiet.members = std::unique_lock(mutex_);
  for (const Member& member : members_) {
    if (!quiet.ranks.emplace_back(*member.issuing, std::try_to_lock).owns_lock() || !member.rank->isIdle())
      return false;
  }
  return true;
}

double SharedDevice::taken() const {
  double sum = 0;
  for (const Member& member : members_) sum += member.share;
  return sum;
}

}  // namespace jccl::device
