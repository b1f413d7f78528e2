// Orders the launches of one communicator, and of all communicators that share a device.
//
// On a full device, a launch that does not fit next to the launches in flight waits for them. All waits are for
// launches that this process issued earlier. So ranks that issue the operations of several communicators in the same
// order never wait in a circle. Launches that may run together always fit: this is checked whenever one is issued.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include "cuda/runtime/device_communicator.h"
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

Status DeviceCommunicator::checkStream(Stream stream, const StreamName& name) {
  if (name.id != 0 && name.id == checkedStream_) return Status::ok();
  StreamFacts facts;
  Status status = describeStream(stream, name, facts);
  if (status) status = StreamOwners::ofThisProcess().claim(config_.device, facts, config_.token, config_.rank);
  if (status && name.id != 0) checkedStream_ = name.id;
  return status;
}

// Makes the stream wait for the communicator's last operation. All operations of a communicator use its connections, so
// they follow one another even on different streams. Replays of its graphs follow one another, too: each replay waits
// for the event that the previous replay recorded.
Status DeviceCommunicator::orderAfterLast(Stream stream, const StreamName& name, bool capturing) {
  Event last = nullptr;
  {
    const std::lock_guard lock(mutex_);
    reap();
    if (!flights_.empty()) last = flights_.back().event;
  }
  if (capturing) {
    if (activity_ != nullptr) {
      return Status::invalid(
          "operations between hosts cannot be captured: the host moves their data and is not notified of a replay; "
          "issue them without a graph");
    }
    if (capturedOn_ && capturedOn_ != name.handle) {
      return Status::invalid(
          "this communicator was captured on another stream before; capture its operations on one stream");
    }
    if (last != nullptr) {
      if (Status status = waitEventInGraph(stream, last); !status) return status;
    }
    return waitEventInGraph(stream, order_);
  }
  if (capturedOn_) {
    if (Status status = waitEvent(stream, order_); !status) return status;
  }
  return last == nullptr || lastStream_ == name.id ? Status::ok() : waitEvent(stream, last);
}

// Returns how many multiprocessors this rank's launches in flight occupy at most. A replay of a graph is assumed to
// occupy the blocks of all channels.
double DeviceCommunicator::shareInFlight() {
  const std::lock_guard lock(mutex_);
  reap();
  int blocks = 0;
  for (const InFlight& flight : flights_) blocks = std::max(blocks, flight.blocks);
  bool replayed = true;
  if (capturedOn_ && queryEvent(order_, replayed) && !replayed) blocks = config_.channels;
  return blocks * shareOfBlock_;
}

// Makes the stream wait for all launches and replays of this communicator.
Status DeviceCommunicator::waitForAll(Stream stream) {
  const std::lock_guard lock(mutex_);
  Status status = flights_.empty() ? Status::ok() : waitEvent(stream, flights_.back().event);
  return status && capturedOn_ ? waitEvent(stream, order_) : status;
}

// Makes a launch that does not fit next to the launches in flight wait for them on its stream. If a communicator has
// several ranks on this device, their launches must run together. One of these launches could be queued behind another
// communicator's launch that itself waits for another rank; then none would end. So if any communicator with launches
// in flight has several ranks here, the calling thread waits instead of the stream. After kFitTimeout it returns an
// error.
Status DeviceCommunicator::takeTurn(int blocks, Stream stream, const StreamName& name, bool capturing,
                                    SharedDevice::Turn& turn) {
  SharedDevice& device = SharedDevice::of(config_.device);
  const auto behindAll = [&](Stream later) {
    Status status;
    device.forAll([&](DeviceCommunicator& one) {
      if (status) status = one.waitForAll(later);
    });
    return status;
  };
  const auto deadline = std::chrono::steady_clock::now() + kFitTimeout;
  for (;;) {
    turn = device.takeTurn();
    if (!turn.alone.owns_lock()) return Status::ok();
    const bool replays = capturing || device.hasCaptured();
    std::map<std::pair<uint64_t, uint64_t>, Occupancy> all;
    device.forAll([&](DeviceCommunicator& one) {
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
  }
}

// Ends a launch's turn; called after the launch is on its stream.
Status DeviceCommunicator::endTurn(Stream stream, bool capturing) {
  SharedDevice& device = SharedDevice::of(config_.device);
  if (!device.hasCaptured()) return Status::ok();
  return capturing ? recordEventFromGraph(device.last(), stream) : recordEvent(device.last(), stream);
}

}  // namespace jccl::device
