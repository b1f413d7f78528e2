// Orders the launches of one communicator, and of all communicators that share a device.
//
// On a full device, a launch that does not fit next to the launches in flight waits for them. All waits are for
// launches that this process issued earlier. So ranks that issue the operations of several communicators in the same
// order never wait in a circle. Launches that may run together always fit: this is checked whenever one is issued.
#include "cuda/runtime/device_order.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include "cuda/kernels/registry.h"
#include "cuda/runtime/stream_owners.h"

namespace jccl::device {
namespace {

constexpr std::chrono::seconds kFitTimeout{1};
constexpr std::chrono::microseconds kFitSleep{50};

// Use of the device by one communicator.
struct Occupancy {
  int ranks = 0;
  double most = 0;  // multiprocessors that a rank's launches in flight occupy; maximum over the ranks
};

}  // namespace

Status DeviceOrder::join() {
  DeviceProperties properties;
  int resident = 0;
  Status status = describeDevice(config_.device, properties);
  if (status) status = residentBlocks(config_.threads, resident);
  if (!status) return status;
  if (resident == 0) {
    return Status::invalid("threads=" + std::to_string(config_.threads) +
                           ", expected blocks of which a multiprocessor of device=" + std::to_string(config_.device) +
                           " has one or more at once; use fewer threads (JCCL_NTHREADS)");
  }
  shareOfBlock_ = 1.0 / resident;
  return sharedDevice_.join(*this, issuing_, config_.channels * shareOfBlock_, properties.multiprocessors);
}

// If a thread copies from the device to pageable memory behind a kernel, the driver creates no event for other threads
// until the copy has ended. The kernel could be waiting for the very operation that needs the event.
Status DeviceOrder::makeStreams() {
  Status status = createStream(stream_);
  if (status) status = nameStream(stream_, false, ownName_);
  if (status) status = createStream(orderStream_);
  if (status) status = createEvent(order_);
  if (status) status = completion_.watch(stream_);
  if (status && !waitForLaunch(orderStream_, 0)) status = createEvent(lastLaunch_);
  return status;
}

void DeviceOrder::leave() {
  sharedDevice_.leave(*this);
  StreamOwners::ofThisProcess().release(config_.token, config_.rank);
}

void DeviceOrder::close() {
  for (Event event : {order_, lastLaunch_}) {
    if (event != nullptr) (void)destroyEvent(event);
  }
  for (Stream stream : {stream_, orderStream_}) {
    if (stream != nullptr) (void)destroyStream(stream);
  }
}

Status DeviceOrder::aim(Stream stream, LaunchTarget& target) const {
  target.stream = stream;
  Status status = isCapturing(stream, target.capturing);
  if (!status) return status;
  if (stream == stream_ && !target.capturing) {
    target.name = ownName_;
    return status;
  }
  return nameStream(stream, target.capturing, target.name);
}

Status DeviceOrder::begin(int blocks, const LaunchTarget& target, SharedDevice::Turn& turn) {
  Status status = checkStream(target);
  if (status) status = orderAfterLast(target);
  return status && turn.isAlone() ? awaitFit(blocks, target, turn) : status;
}

Status DeviceOrder::record(const LaunchTarget& target) {
  const Status status = recordLast(target);
  return status ? endTurn(target) : status;
}

void DeviceOrder::launched(const LaunchTarget& target) {
  if (target.capturing) {
    capturedOn_ = target.name.handle;
  } else {
    lastStream_ = target.name.id;
  }
}

Status DeviceOrder::checkStream(const LaunchTarget& target) {
  const StreamName& name = target.name;
  if (name.id != 0 && std::find(checked_.begin(), checked_.end(), name.id) != checked_.end()) return Status::ok();
  StreamFacts facts;
  Status status = describeStream(target.stream, name, facts);
  if (status) status = StreamOwners::ofThisProcess().claim(config_.device, facts, config_.token, config_.rank);
  if (status && name.id != 0) checked_[nextChecked_++ % checked_.size()] = name.id;
  return status;
}

// Makes the stream wait until a launch of this rank has ended, on whichever stream the launch is: the application may
// have destroyed that stream. The word counts up to the number of the launch. The driver compares 32 bits, which may
// wrap.
Status DeviceOrder::waitForLaunch(Stream stream, uint64_t number) {
  if (lastLaunch_ != nullptr) return waitEvent(stream, lastLaunch_);
  return waitWord(stream, reinterpret_cast<const uint32_t*>(&completion_.report()->ended),
                  static_cast<uint32_t>(number));
}

// Records the events that the order of launches needs; called after a launch.
Status DeviceOrder::recordLast(const LaunchTarget& target) {
  if (target.capturing) return recordEventFromGraph(order_, target.stream);
  Status status;
  if (lastLaunch_ != nullptr) status = recordEvent(lastLaunch_, target.stream);
  return status && capturedOn_ ? recordEvent(order_, target.stream) : status;
}

// Makes the stream wait for the communicator's last operation. All operations of a communicator use its connections, so
// they follow one another even on different streams. Replays of its graphs follow one another, too: each replay waits
// for the event that the previous replay recorded.
Status DeviceOrder::orderAfterLast(const LaunchTarget& target) {
  const auto& [stream, name, capturing] = target;
  const uint64_t last = completion_.lastInFlight();
  if (capturing) {
    if (completion_.hasActivity()) {
      return Status::invalid(
          "operations between hosts cannot be captured: the host moves their data and is not notified of a replay; "
          "issue them without a graph");
    }
    if (capturedOn_ && capturedOn_ != name.handle) {
      return Status::invalid(
          "this communicator was captured on another stream before; capture its operations on one stream");
    }
    if (!capturedOn_ && last != 0) {
      const DeviceGuard guard(config_.device);
      Status status = guard.status();
      if (status) status = waitForLaunch(orderStream_, last);
      if (status) status = recordEvent(order_, orderStream_);
      if (!status) return status;
    }
    return waitEventInGraph(stream, order_);
  }
  if (capturedOn_) {
    if (Status status = waitEvent(stream, order_); !status) return status;
  }
  return last == 0 || lastStream_ == name.id ? Status::ok() : waitForLaunch(stream, last);
}

// Returns how many multiprocessors this rank's launches in flight occupy at most. A replay of a graph is assumed to
// occupy the blocks of all channels.
double DeviceOrder::shareInFlight() {
  int blocks = completion_.blocksInFlight();
  bool replayed = true;
  if (capturedOn_ && queryEvent(order_, replayed) && !replayed) blocks = config_.channels;
  return blocks * shareOfBlock_;
}

// Makes the stream wait for all launches and replays of this communicator.
Status DeviceOrder::waitForAll(Stream stream) {
  const uint64_t last = completion_.lastInFlight();
  const Status status = last == 0 ? Status::ok() : waitForLaunch(stream, last);
  return status && capturedOn_ ? waitEvent(stream, order_) : status;
}

// Makes a launch that does not fit next to the launches in flight wait for them on its stream. If a communicator has
// several ranks on this device, their launches must run together. One of these launches could be queued behind another
// communicator's launch that itself waits for another rank; then none would end. So if any communicator with launches
// in flight has several ranks here, the calling thread waits instead of the stream. After kFitTimeout it returns an
// error.
Status DeviceOrder::awaitFit(int blocks, const LaunchTarget& target, SharedDevice::Turn& turn) {
  const auto& [stream, name, capturing] = target;
  SharedDevice& device = sharedDevice_;
  const auto behindAll = [&](Stream later) {
    Status status;
    device.forAll([&](DeviceOrder& one) {
      if (status) status = one.waitForAll(later);
    });
    return status;
  };
  const auto deadline = std::chrono::steady_clock::now() + kFitTimeout;
  while (turn.isAlone()) {
    const DeviceGuard guard(config_.device);
    if (!guard.status()) return guard.status();
    const bool replays = capturing || device.hasCaptured();
    std::map<std::pair<uint64_t, uint64_t>, Occupancy> all;
    device.forAll([&](DeviceOrder& one) {
      Occupancy& occupancy = all[{one.config_.token[0], one.config_.token[1]}];
      ++occupancy.ranks;
      const double share = replays ? one.config_.channels * one.shareOfBlock_ : one.shareInFlight();
      occupancy.most = std::max({occupancy.most, share, &one == this ? blocks * shareOfBlock_ : 0});
    });
    double needed = 0;
    bool together = false, others = false;
    for (const auto& [token, occupancy] : all) {
      needed += occupancy.ranks * occupancy.most;
      if (occupancy.most == 0) continue;
      together = together || occupancy.ranks > 1;
      others = others || token != std::pair(config_.token[0], config_.token[1]);
    }
    if (replays && !together) {
      if (!capturing) return waitEvent(stream, device.last());
      const Status status = device.capture(name.handle, behindAll);
      return status ? waitEventInGraph(stream, device.last()) : status;
    }
    if (device.fits(needed) || !others) return Status::ok();
    if (!together) return behindAll(stream);
    if (replays || std::chrono::steady_clock::now() >= deadline) {
      return Status::invalid(
          "device=" + std::to_string(config_.device) +
          " multiprocessors=" + std::to_string(static_cast<int>(std::ceil(needed))) + ", expected at most " +
          std::to_string(device.multiprocessors()) +
          ": operations and graphs of its communicators do not fit together, and cannot follow one another while ranks "
          "of one communicator share the device; wait for other communicators' operations first, give communicators "
          "fewer channels (JCCL_MAX_NCHANNELS), or give each rank a GPU of its own");
    }
    turn = {};
    std::this_thread::sleep_for(kFitSleep);
    turn = takeTurn();
    if (const Code code = completion_.failure(); code != Code::Ok) return {code, completion_.error()};
  }
  return Status::ok();
}

// Ends a launch's turn; called after the launch is on its stream.
Status DeviceOrder::endTurn(const LaunchTarget& target) {
  SharedDevice& device = sharedDevice_;
  if (!device.hasCaptured()) return Status::ok();
  return target.capturing ? recordEventFromGraph(device.last(), target.stream)
                          : recordEvent(device.last(), target.stream);
}

}  // namespace jccl::device
