// Tests of a communicator's connections, before the application uses it. All ranks run the same tests together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "cuda/runtime/device_heap.h"
#include "cuda/runtime/peer_probe.h"
#include "engine/operation.h"

namespace jccl::device {

class DeviceCommunicator;

class SelfTests {
 public:
  explicit SelfTests(DeviceCommunicator& communicator) : communicator_(communicator) {}

  // Allocates the memory of the tests, before any rank tests: during the tests kernels spin, and allocating could wait
  // for them.
  Status allocate();
  // Returns the memory. Called when the application has issued an operation.
  void release() {
    device_.reset();
    host_.reset();
  }
  // Returns true while a test runs; then the application has no operations in flight.
  bool isRunning() const { return running_; }

  // These functions are described in DeviceCommunicator, as are the steps of a probe.
  Status connections(Protocol protocol, int64_t timeoutNanos);
  Status inPlace(int64_t timeoutNanos);
  Status added(Algorithm algorithm, std::span<const OperationCode> reductions, int64_t timeoutNanos);

  static constexpr int kProbeSteps = 5;
  // Uses `peers` in the first step only, and sets `failures` in the last one.
  Status probe(int step, std::vector<PeerProbe::Peer> peers, int64_t timeoutNanos, std::vector<uint8_t>& failures);

 private:
  // An operation on `count` elements of known data.
  struct Test {
    OperationCode code;
    Choice choice;
    size_t count;
  };

  Status awaitStream(int64_t timeoutNanos);
  Status whileTesting(const std::function<Status()>& body);
  Status testAll(const std::vector<Test>& tests, int64_t timeoutNanos);
  Status testOnce(OperationCode code, Choice choice, size_t count, int64_t timeoutNanos);
  Status testReduction(OperationCode code, Choice choice, int64_t timeoutNanos);
  // Runs an operation whose input of `bytes` is in host_, and brings as many bytes of output there. Before the operation,
  // each byte of the output has the value `cleared`.
  Status runOn(OperationCode code, Choice choice, size_t count, size_t bytes, uint8_t cleared, int64_t timeoutNanos);

  DeviceCommunicator& communicator_;
  bool running_ = false;
  HeapMemory device_, host_;
  std::unique_ptr<PeerProbe> probe_;    // only between the first and the last step
  std::vector<uint8_t> probeFailures_;  // by rank
};

}  // namespace jccl::device
