// Tests that every connection delivers data as it was sent. LL128 relies on lines that stay whole. The programming
// model does not promise this; it is a property of GPUs and their links, and is therefore tested on the GPUs in use.
#include "cuda/runtime/self_test.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "cuda/runtime/device_communicator.h"
#include "cuda/runtime/test_values.h"

namespace jccl::device {
namespace {

constexpr size_t kElements = 48 * 1024;    // enough for many LL128 lines and several rounds of small slots
constexpr size_t kReducedElements = 1024;  // of each tested reduction
constexpr std::chrono::milliseconds kGrace{2000};
// A wait sleeps for an eighth of the time that it has taken, within these limits: many ranks of one process that ask the
// driver often would keep cores from the threads that move their data.
constexpr std::chrono::microseconds kShortestSleep{20}, kLongestSleep{5000};
constexpr OperationCode kSum{Collective::AllReduce, DataType::Uint32, ReduceOp::Sum};

}  // namespace

Status SelfTests::allocate() {
  Status status = HeapMemory::device(2 * kElements * sizeof(uint32_t), device_);
  return status ? HeapMemory::pinned(kElements * sizeof(uint32_t), host_) : status;
}

// Waits until all work on the communicator's stream has ended.
Status SelfTests::awaitStream(int64_t timeoutNanos) {
  Event event = nullptr;
  Status status = createEvent(event);
  if (!status) return status;
  status = recordEvent(event, communicator_.ownStream());
  const auto begin = std::chrono::steady_clock::now();
  const auto deadline = begin + std::chrono::nanoseconds(timeoutNanos) + kGrace;
  for (bool done = false; status && !done;) {
    status = queryEvent(event, done);
    if (done) break;
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) {
      communicator_.abort(Code::Timeout);
      return {Code::Timeout, "the device does not answer"};
    }
    const auto taken = std::chrono::duration_cast<std::chrono::microseconds>(now - begin);
    std::this_thread::sleep_for(std::clamp(taken / 8, kShortestSleep, kLongestSleep));
  }
  (void)destroyEvent(event);
  return status;
}

Status SelfTests::runOn(OperationCode code, Choice choice, size_t count, size_t bytes, uint8_t cleared,
                        int64_t timeoutNanos) {
  const Stream stream = communicator_.ownStream();
  uint8_t *input = device_.base(), *output = input + bytes;
  Status status = copyAsync(input, host_.base(), bytes, stream);
  if (status) status = fillAsync(output, cleared, bytes, stream);
  if (!status) return status;
  const Issued issued =
      communicator_.run(code, choice, input, output, static_cast<int64_t>(count), 0, timeoutNanos, stream);
  if (issued.code != Code::Ok) return {issued.code, communicator_.lastError()};
  status = copyAsync(host_.base(), output, bytes, stream);
  if (status) status = awaitStream(timeoutNanos);
  if (status && communicator_.failure() != Code::Ok) return {communicator_.failure(), communicator_.lastError()};
  return status;
}

Status SelfTests::testOnce(OperationCode code, Choice choice, size_t count, int64_t timeoutNanos) {
  const bool exchange = code.collective == Collective::AllToAll, gathers = code.collective == Collective::AllGather;
  const size_t n = static_cast<size_t>(communicator_.config().size), bytes = count * sizeof(uint32_t);
  const TestValues test(kSum);
  auto* values = host_.as<uint32_t>();
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<uint32_t>(test.input(communicator_.config().rank, i));
  const size_t part = count / n;
  // Clear the output: the results of an earlier test would hide missing writes.
  const Status status = runOn(code, choice, exchange || gathers ? part : count, bytes, 0, timeoutNanos);
  for (size_t i = 0; status && i < count; ++i) {
    const uint64_t expected =
        gathers    ? test.input(static_cast<int>(i / part), i % part)
        : exchange ? test.input(static_cast<int>(i / part), communicator_.config().rank * part + i % part)
                   : test.result(communicator_.config().size, i);
    if (values[i] != expected) {
      return Status::transport("element=" + std::to_string(i) + " value=" + std::to_string(values[i]) + ", expected " +
                               std::to_string(expected) + ": " + nameOf(code.collective) + " by " +
                               nameOf(choice.algorithm) + " with " + nameOf(choice.protocol) +
                               " brings other data than was sent");
    }
  }
  return status;
}

Status SelfTests::probe(int step, std::vector<PeerProbe::Peer> peers, int64_t timeoutNanos,
                        std::vector<uint8_t>& failures) {
  const DeviceCommunicatorConfig& config = communicator_.config();
  const DeviceGuard guard(config.device);
  Status status = guard.status();
  if (status && (step == 0) != (probe_ == nullptr)) {
    status = Status::invalid("step=" + std::to_string(step) + ", expected the steps in their order");
  }
  if (status && step == 0) {
    probeFailures_.assign(config.size, 0);
    probe_ = std::make_unique<PeerProbe>(config.rank, config.token[0] ^ config.token[1], std::move(peers),
                                         communicator_.ownStream());
    status = probe_->allocate();
  }
  if (!status) return communicator_.noted(status);
  const uint32_t round = step < 2 ? 0 : 1;
  if (step % 2 == 1) {
    status = probe_->exchange(communicator_.config().channels, communicator_.config().threads);
    if (status) status = awaitStream(timeoutNanos);
    if (!status) probe_->leak();
    return communicator_.noted(status);
  }
  if (step == 2) status = probe_->check(0, probeFailures_);
  if (status && step < kProbeSteps - 1) status = probe_->fill(round);
  if (status && step == kProbeSteps - 1) {
    status = probe_->check(1, probeFailures_);
    if (status) status = probe_->clear();
    probe_.reset();
    failures = std::exchange(probeFailures_, {});
  }
  return communicator_.noted(status);
}

// Runs all tests and returns the first failure. A rank that has found other data than was sent still takes part in the
// remaining tests: otherwise the other ranks would wait for it until their time-out.
Status SelfTests::testAll(const std::vector<Test>& tests, int64_t timeoutNanos) {
  Status first;
  for (const Test& test : tests) {
    const Status status = testOnce(test.code, test.choice, test.count, timeoutNanos);
    if (first) first = status;
    if (!status && status.code() != Code::Transport) break;
  }
  return first;
}

// Runs a body of tests. If the device does not answer, a kernel may use the memory of the tests until the process ends.
Status SelfTests::whileTesting(const std::function<Status()>& body) {
  const DeviceGuard guard(communicator_.config().device);
  running_ = true;
  Status status = guard.status();
  if (status) status = body();
  if (!status && status.code() == Code::Timeout) {
    device_.leak();
    host_.leak();
  }
  running_ = false;
  return communicator_.noted(status);
}

Status SelfTests::testReduction(OperationCode code, Choice choice, int64_t timeoutNanos) {
  const TestValues test(code);
  const size_t element = sizeOf(code.type), bytes = kReducedElements * element;
  uint8_t* values = host_.base();
  for (size_t i = 0; i < kReducedElements; ++i) {
    const uint64_t value = test.input(communicator_.config().rank, i);
    std::memcpy(values + i * element, &value, element);
  }
  const Status status = runOn(code, choice, kReducedElements, bytes, 0xff, timeoutNanos);
  for (size_t i = 0; status && i < kReducedElements; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, values + i * element, element);
    const uint64_t expected = test.result(communicator_.config().size, i);
    if (value == expected) continue;
    char facts[96];
    (void)std::snprintf(facts, sizeof facts, "element=%zu bits=0x%llx, expected 0x%llx: ", i,
                        static_cast<unsigned long long>(value), static_cast<unsigned long long>(expected));
    return Status::transport(std::string(facts) + nameOf(code.collective) + " of " + nameOf(code.type) + " with " +
                             nameOf(code.op) + " by " + nameOf(choice.algorithm) + " gives a wrong result");
  }
  return status;
}

Status SelfTests::added(Algorithm algorithm, std::span<const OperationCode> reductions, int64_t timeoutNanos) {
  Choice choice;
  choice.algorithm = algorithm;
  choice.channels = static_cast<uint8_t>(communicator_.config().channels);
  return whileTesting([&] {
    Status status = testOnce(kSum, choice, kElements, timeoutNanos);
    for (const OperationCode& code : reductions) {
      if (status) status = testReduction(code, choice, timeoutNanos);
    }
    return status;
  });
}

Status SelfTests::inPlace(int64_t timeoutNanos) {
  const size_t n = static_cast<size_t>(communicator_.config().size);
  Choice choice;
  choice.algorithm = Algorithm::Direct;
  choice.channels = static_cast<uint8_t>(communicator_.config().channels);
  choice.flags = Choice::kTryZeroCopy;
  // The all-reduce is one-shot and overwrites nothing, so each rank reads the buffers of all ranks; in the all-gather it
  // writes to all.
  const size_t oneShot = std::clamp<size_t>(communicator_.config().oneShotBytes / 16 * 4, 4, kElements);
  const OperationCode gather{Collective::AllGather, DataType::Uint32, ReduceOp::Sum};
  return whileTesting([&] {
    return testAll({{kSum, choice, oneShot}, {gather, choice, kElements / n * n}}, timeoutNanos);
  });
}

Status SelfTests::connections(Protocol protocol, int64_t timeoutNanos) {
  const size_t n = static_cast<size_t>(communicator_.config().size);
  const size_t count = kElements / n * n;
  Choice choice;
  choice.protocol = protocol;
  choice.channels = static_cast<uint8_t>(communicator_.config().channels);
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
