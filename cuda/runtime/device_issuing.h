// Puts a rank's operations on a stream, alone or as a group. Operations that share a kernel share a launch.
//
// Used by one thread at a time; any thread may ask for a notice.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "cuda/kernels/launch.h"
#include "cuda/runtime/added_algorithm.h"
#include "cuda/runtime/argument_areas.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_completion.h"
#include "cuda/runtime/device_config.h"
#include "cuda/runtime/device_connections.h"
#include "cuda/runtime/device_operation.h"
#include "cuda/runtime/device_order.h"
#include "cuda/runtime/device_registration.h"
#include "cuda/runtime/self_test.h"
#include "engine/exchange_tasks.h"

namespace jccl::device {

// An operation that was issued, or the code of the failure. A group is described by its last operation.
struct Issued {
  Code code = Code::Ok;
  uint64_t number = 0;    // 0 while beginGroup() holds the operation back
  Choice choice{};        // algorithm and protocol that execute the operation
  uint64_t sequence = 0;  // of the last collective that was entered in the history
  bool captured = false;  // the operation was recorded for a graph, and counts as ended
};

using AddedAlgorithms = std::vector<std::unique_ptr<AddedAlgorithm>>;

class DeviceIssuing {
 public:
  DeviceIssuing(const DeviceCommunicatorConfig& config, DeviceConnections& connections, DeviceCompletion& completion,
                DeviceOrder& order, const DeviceRegistration& registration, const AddedAlgorithms& added,
                SelfTests& tests)
      : config_(config),
        connections_(connections),
        completion_(completion),
        order_(order),
        registration_(registration),
        added_(added),
        tests_(tests) {}

  // Lets operations run, when all peers are connected; with `inPlace`, also operations in place without registration.
  void begin(bool inPlace) {
    inPlace_ = inPlace;
    prepared_ = true;
  }

  // These functions are described in DeviceCommunicator.
  void renounceInPlace() { inPlace_ = false; }
  Issued run(OperationCode code, Choice choice, const void* send, void* recv, int64_t count, int root,
             int64_t timeoutNanos, Stream stream);
  Issued runV(OperationCode code, Choice choice, const void* send, void* recv, const std::vector<int64_t>& counts,
              int root, int64_t timeoutNanos, Stream stream);
  Issued runPointToPoint(Choice choice, std::vector<PointToPointTask> tasks, int64_t timeoutNanos, Stream stream);
  void beginGroup() { grouping_ = true; }
  Issued endGroup(int64_t timeoutNanos, Stream stream);
  void dropGroup();
  Choice adjustChoice(Choice choice, OperationCode code) const;
  Choice adjustChoice(Choice choice, Collective collective) const;
  bool hasNotice() const { return hasNotice_.load(std::memory_order_relaxed); }
  std::string takeNotice();

 private:
  friend class WorksLauncher;

  // A kernel and its descriptor, in which `control` is set when the launch gets its numbers.
  struct KernelLaunch {
    const KernelEntry& kernel;
    const void* descriptor;
    LaunchControl& control;
    int blocks;
    std::span<const MemoryCopy> copies = {};  // come before the kernel
  };

  // Keeps the message of a failure, and returns its code.
  Code refuse(const Status& status) { return completion_.noted(status).code(); }
  bool inPlaceFits(Collective collective) const;
  // Returns the added algorithm that executes operations of this algorithm; null: none.
  const AddedAlgorithm* addedFor(Algorithm algorithm) const;
  Status checkReach(DeviceOperation& operation);
  Issued submit(DeviceOperation operation, int64_t timeoutNanos, Stream stream);
  // Launches operations that share one kernel.
  Issued launch(std::span<const DeviceOperation> operations, int64_t timeoutNanos, const LaunchTarget& target);
  Issued launchWorks(std::span<const DeviceOperation> operations, int64_t timeoutNanos, const LaunchTarget& target);
  Issued launchTasks(std::span<const DeviceOperation> operations, int64_t timeoutNanos, const LaunchTarget& target);
  Issued launchCopies(std::span<const DeviceOperation> operations, int64_t timeoutNanos, const LaunchTarget& target);
  bool canCopy(OperationCode code) const;
  // Returns true if peers may read or copy the memory at the place. Between processes that needs a window behind a
  // descriptor: such memory stays mapped if its owner dies.
  bool isReadable(const WindowPlace& place) const {
    return place.window != 0 && (connections_.allInProcess() || place.behindDescriptor);
  }
  bool refersToWindows(const Choice& choice) const {
    return (choice.flags & Choice::kTryZeroCopy) != 0 && registration_.windows().everUsed();
  }
  uint8_t* addressForReader(const PointToPointTask& task) const;
  Status meetAndCopy(const DeviceOperation& operation, LaunchControl& control, const LaunchTarget& target);
  Work workOf(const DeviceOperation& operation, LaunchArguments& arguments) const;
  Issued issue(const KernelLaunch& launch, std::unique_ptr<ArgumentArea> arguments,
               std::span<const DeviceOperation> operations, int64_t timeoutNanos, const LaunchTarget& target);

  const DeviceCommunicatorConfig& config_;
  DeviceConnections& connections_;
  DeviceCompletion& completion_;
  DeviceOrder& order_;
  const DeviceRegistration& registration_;
  const AddedAlgorithms& added_;
  SelfTests& tests_;
  bool inPlace_ = false;
  bool prepared_ = false;
  TouchedMemory reached_;  // buffers that checkReach() checks; keeps its memory for the next operation
  bool toldUnreached_ = false;
  std::atomic<bool> hasNotice_{false};
  std::mutex noticeMutex_;  // guards notice_
  std::string notice_;
  bool grouping_ = false;
  std::vector<DeviceOperation> group_;
  GroupDivision division_;
  std::vector<std::unique_ptr<ArgumentArea>> capturedAreas_;
  std::vector<InFlight> launching_;  // operations of the launch that is being issued
};

}  // namespace jccl::device
