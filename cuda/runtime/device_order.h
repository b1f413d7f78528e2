// The order of a rank's launches: behind each other, on whichever streams they are, and behind those of communicators
// that share the device.
//
// Used by the thread that issues operations. Threads that issue operations of other communicators on the device visit
// the object while it has joined the SharedDevice.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "base/status.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_completion.h"
#include "cuda/runtime/device_config.h"
#include "cuda/runtime/shared_device.h"

namespace jccl::device {

// A stream on which operations are put.
struct LaunchTarget {
  Stream stream = nullptr;
  StreamName name;
  bool capturing = false;
};

class DeviceOrder {
 public:
  DeviceOrder(const DeviceCommunicatorConfig& config, DeviceCompletion& completion)
      : config_(config), completion_(completion), sharedDevice_(SharedDevice::of(config.device)) {}

  // Joins the ranks that share the device; from then on, other threads visit this object. The caller holds the guard of
  // the device, also for makeStreams() and close().
  Status join();
  // Creates streams and events in advance.
  Status makeStreams();
  // Leaves the ranks that share the device. Returns when no thread visits this object any more.
  void leave();
  // Destroys the streams and events; called when no kernel is in flight.
  void close();

  // Returns this communicator's own stream, for operations without a stream of the application.
  Stream ownStream() const { return stream_; }
  // Finds out what the stream is. The caller holds a guard of the device.
  Status aim(Stream stream, LaunchTarget& target) const;

  // Begins a launch. The turn is held from the check for an earlier failure until the launch is in flight.
  SharedDevice::Turn takeTurn() { return sharedDevice_.takeTurn(*issuing_); }
  // Returns a lock that no launch of this rank holds, or an empty one if one is under way.
  std::unique_lock<std::mutex> betweenLaunches() { return std::unique_lock(*issuing_, std::try_to_lock); }
  // Before a launch of `blocks` blocks: makes the stream wait for the launches that come first. While it waits for
  // launches itself, it gives up the turn, and returns the code of a failure that happened meanwhile.
  Status begin(int blocks, const LaunchTarget& target, SharedDevice::Turn& turn);
  // After a launch: records the events that later launches need.
  Status record(const LaunchTarget& target);
  // Notes on which stream the last launch is.
  void launched(const LaunchTarget& target);

  // Returns true if no launch is in flight.
  bool isIdle() { return completion_.lastInFlight() == 0; }

 private:
  Status checkStream(const LaunchTarget& target);
  Status orderAfterLast(const LaunchTarget& target);
  Status waitForLaunch(Stream stream, uint64_t number);
  Status recordLast(const LaunchTarget& target);
  double shareInFlight();
  Status waitForAll(Stream stream);
  Status awaitFit(int blocks, const LaunchTarget& target, SharedDevice::Turn& turn);
  Status endTurn(const LaunchTarget& target);

  const DeviceCommunicatorConfig& config_;
  DeviceCompletion& completion_;
  SharedDevice& sharedDevice_;
  const std::shared_ptr<std::mutex> issuing_ = std::make_shared<std::mutex>();
  double shareOfBlock_ = 0;  // fraction of a multiprocessor that one block occupies
  Stream stream_ = nullptr;
  StreamName ownName_;
  std::optional<uint64_t> lastStream_;  // id of the stream
  std::array<uint64_t, 8> checked_{};   // ids of streams that were checked last
  size_t nextChecked_ = 0;              // entry of checked_ to overwrite next
  std::optional<uint64_t> capturedOn_;  // handle of the stream; written while a turn is held
  // Recorded after each operation, from the communicator's first captured operation on.
  Event order_ = nullptr;
  // Only waits for launches that were in flight before the first capture, and records order_ then.
  Stream orderStream_ = nullptr;
  // Recorded after each launch if the driver does not let streams wait for words, else null.
  Event lastLaunch_ = nullptr;
};

}  // namespace jccl::device
