// Tests that every connection delivers data as it was sent. LL128 relies on lines that stay whole. The programming
// model does not promise this; it is a property of GPUs and their links, and is therefore tested on the GPUs in use.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "cuda/runtime/device_communicator.h"
#include "cuda/runtime/test_values.h"
#include "engine/plan_arguments.h"

namespace jccl::device {
namespace {

constexpr size_t kElements = 48 * 1024;    // enough for many LL128 lines and several rounds of small slots
constexpr size_t kReducedElements = 1024;  // of each tested reduction
constexpr std::chrono::milliseconds kGrace{2000};
constexpr OperationCode kSum{Collective::AllReduce, DataType::Uint32, ReduceOp::Sum};

}  // namespace

Status DeviceCommunicator::allocateForTests() {
  Status status = HeapMemory::device(2 * kElements * sizeof(uint32_t), testDevice_);
  return status ? HeapMemory::pinned(kElements * sizeof(uint32_t), testHost_) : status;
}

// Waits until all work on the communicator's stream has ended.
Status DeviceCommunicator::awaitStream(int64_t timeoutNanos) {
  Event event = nullptr;
  Status status = createEvent(event);
  if (!status) return status;
  status = recordEvent(event, stream_);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeoutNanos) + kGrace;
  for (bool done = false; status && !done;) {
    status = queryEvent(event, done);
    if (done) break;
    if (std::chrono::steady_clock::now() >= deadline) {
      abort(Code::Timeout);
      return {Code::Timeout, "the device does not answer"};
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  (void)destroyEvent(event);
  return status;
}

Status DeviceCommunicator::testOnce(OperationCode code, Choice choice, size_t count, int64_t timeoutNanos) {
  const bool exchange = code.collective == Collective::AllToAll, gathers = code.collective == Collective::AllGather;
  const size_t n = static_cast<size_t>(config_.size), bytes = count * sizeof(uint32_t);
  const TestValues test(kSum);
  auto* values = testHost_.as<uint32_t>();
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint32_t>(test.input(config_.rank, i));
  uint8_t* output = testDevice_.base() + bytes;
  Status status = copyAsync(testDevice_.base(), values, bytes, stream_);
  // Clear the output: the results of an earlier test would hide missing writes.
  if (status) status = fillAsync(output, 0, bytes, stream_);
  if (!status) return status;
  const Issued issued = run(code, choice, testDevice_.base(), output,
                            static_cast<int64_t>(exchange || gathers ? count / n : count), 0, timeoutNanos, stream_);
  if (issued.code != Code::Ok) return {issued.code, lastError()};
  status = copyAsync(values, output, bytes, stream_);
  if (!status) return status;
  status = awaitStream(timeoutNanos);
  if (status && failure() != Code::Ok) return {failure(), lastError()};
  const size_t part = count / n;
  for (size_t i = 0; status && i < count; ++i) {
    const uint64_t expected = gathers    ? test.input(static_cast<int>(i / part), i % part)
                              : exchange ? test.input(static_cast<int>(i / part), config_.rank * part + i % part)
                                         : test.result(config_.size, i);
    if (values[i] != expected) {
      return Status::transport("element=" + std::to_string(i) + " value=" + std::to_string(values[i]) + ", expected " +
                               std::to_string(expected) + ": " + nameOf(code.collective) + " by " +
                               nameOf(choice.algorithm) + " with " + nameOf(choice.protocol) +
                               " brings other data than was sent");
    }
  }
  return status;
}

Status DeviceCommunicator::beginProbe(const std::vector<int>& peers) {
  std::vector<PeerProbe::Peer> probed;
  for (const int peer : peers) {
    if (Status status = checkPeer(peer, config_.rank, config_.size); !status) return status;
    const DevicePlan::PeerSegment& segment = peers_[peer];
    const uint64_t ours = plan_.blocksOf(peer);
    const uint64_t theirs = segment.base == nullptr ? DevicePlan::kNone : segment.blocks;
    if (ours == DevicePlan::kNone || theirs == DevicePlan::kNone) {
      return Status::invalid("peer=" + std::to_string(peer) + ": cannot be probed, expected one that is connected");
    }
    // The slots of the pair's first channel. Their headers contain flags, so the last step zeroes them.
    const size_t slots = plan_.shapeOf(peer, 0).simpleOffset();
    probed.push_back({peer, segment_->base() + ours + slots, segment.base + theirs + slots});
  }
  probeFailures_.assign(config_.size, 0);
  probe_ = std::make_unique<PeerProbe>(config_.rank, config_.token[0] ^ config_.token[1], std::move(probed), stream_);
  return probe_->allocate();
}

Status DeviceCommunicator::probe(int step, const std::vector<int>& peers, int64_t timeoutNanos,
                                 std::vector<uint8_t>& failures) {
  const DeviceGuard guard(config_.device);
  Status status = guard.status();
  if (status && (step == 0) != (probe_ == nullptr)) {
    status = Status::invalid("step=" + std::to_string(step) + ", expected the steps in their order");
  }
  if (status && step == 0) status = beginProbe(peers);
  if (!status) return noted(status);
  const uint32_t round = step < 2 ? 0 : 1;
  if (step % 2 == 1) {
    status = probe_->exchange(config_.channels, config_.threads);
    if (status) status = awaitStream(timeoutNanos);
    if (!status) probe_->leak();
    return noted(status);
  }
  if (step == 2) status = probe_->check(0, probeFailures_);
  if (status && step < kProbeSteps - 1) status = probe_->fill(round);
  if (status && step == kProbeSteps - 1) {
    status = probe_->check(1, probeFailures_);
    if (status) status = probe_->clear();
    probe_.reset();
    failures = std::exchange(probeFailures_, {});
  }
  return noted(status);
}

// Runs all tests and returns the first failure. A rank that has found other data than was sent still takes part in the
// remaining tests: otherwise the other ranks would wait for it until their time-out.
Status DeviceCommunicator::testAll(const std::vector<Test>& tests, int64_t timeoutNanos) {
  Status first;
  for (const Test& test : tests) {
    const Status status = testOnce(test.code, test.choice, test.count, timeoutNanos);
    if (first) first = status;
    if (!status && status.code() != Code::Transport) break;
  }
  return first;
}

// Runs a body of tests. If the device does not answer, a kernel may use the memory of the tests until the process ends.
Status DeviceCommunicator::whileTesting(const std::function<Status()>& body) {
  const DeviceGuard guard(config_.device);
  testing_ = true;
  Status status = guard.status();
  if (status) status = body();
  if (!status && status.code() == Code::Timeout) {
    testDevice_.leak();
    testHost_.leak();
  }
  testing_ = false;
  return noted(status);
}

Status DeviceCommunicator::testReduction(OperationCode code, Choice choice, int64_t timeoutNanos) {
  const TestValues test(code);
  const size_t element = sizeOf(code.type), bytes = kReducedElements * element;
  uint8_t* values = testHost_.base();
  for (size_t i = 0; i < kReducedElements; ++i) {
    const uint64_t value = test.input(config_.rank, i);
    std::memcpy(values + i * element, &value, element);
  }
  uint8_t* output = testDevice_.base() + bytes;
  Status status = copyAsync(testDevice_.base(), values, bytes, stream_);
  if (status) status = fillAsync(output, 0xff, bytes, stream_);
  if (!status) return status;
  const Issued issued =
      run(code, choice, testDevice_.base(), output, static_cast<int64_t>(kReducedElements), 0, timeoutNanos, stream_);
  if (issued.code != Code::Ok) return {issued.code, lastError()};
  status = copyAsync(values, output, bytes, stream_);
  if (status) status = awaitStream(timeoutNanos);
  if (status && failure() != Code::Ok) return {failure(), lastError()};
  for (size_t i = 0; status && i < kReducedElements; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, values + i * element, element);
    const uint64_t expected = test.result(config_.size, i);
    if (value == expected) continue;
    char facts[96];
    (void)std::snprintf(facts, sizeof facts, "element=%zu bits=0x%llx, expected 0x%llx: ", i,
                        static_cast<unsigned long long>(value), static_cast<unsigned long long>(expected));
    return Status::transport(std::string(facts) + nameOf(code.collective) + " of " + nameOf(code.type) + " with " +
                             nameOf(code.op) + " by " + nameOf(choice.algorithm) + " gives a wrong result");
  }
  return status;
}

Status DeviceCommunicator::testAdded(Algorithm algorithm, std::span<const OperationCode> reductions,
                                     int64_t timeoutNanos) {
  Choice choice;
  choice.algorithm = algorithm;
  choice.channels = static_cast<uint8_t>(config_.channels);
  return whileTesting([&] {
    Status status = testOnce(kSum, choice, kElements, timeoutNanos);
    for (const OperationCode& code : reductions) {
      if (status) status = testReduction(code, choice, timeoutNanos);
    }
    return status;
  });
}

Status DeviceCommunicator::testInPlace(int64_t timeoutNanos) {
  const size_t n = static_cast<size_t>(config_.size);
  Choice choice;
  choice.algorithm = Algorithm::Direct;
  choice.channels = static_cast<uint8_t>(config_.channels);
  choice.flags = Choice::kTryZeroCopy;
  // The all-reduce is small and overwrites nothing, so each rank reads the buffers of all ranks; in the all-gather it
  // writes to all.
  const OperationCode gather{Collective::AllGather, DataType::Uint32, ReduceOp::Sum};
  return whileTesting([&] {
    return testAll({{kSum, choice, kElements}, {gather, choice, kElements / n * n}}, timeoutNanos);
  });
}

Status DeviceCommunicator::selfTest(Protocol protocol, int64_t timeoutNanos) {
  const size_t n = static_cast<size_t>(config_.size);
  const size_t count = kElements / n * n;
  Choice choice;
  choice.protocol = protocol;
  choice.channels = static_cast<uint8_t>(config_.channels);
  std::vector<Test> tests;
  for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree}) {
    choice.algorithm = algorithm;
    tests.push_back({kSum, choice, count});
  }
  const OperationCode exchange{Collective::AllToAll, DataType::Uint32, ReduceOp::Sum};
  if (protocol == Protocol::Simple) tests.push_back({exchange, choice, count});
  return whileTesting([&] { return testAll(tests, timeoutNanos); });
}

}  // namespace jccl::device
