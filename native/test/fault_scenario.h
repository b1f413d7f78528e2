// A scenario of the fault matrix, drawn from a seed: ranks on simulated hosts, operations, and the data that these must
// produce.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "engine/operation.h"
#include "test/faulty_net.h"
#include "test/rank_threads.h"
#include "test/reduce_reference.h"

namespace jccl::test {

// One operation, equal on all ranks.
struct Step {
  OperationCode code;
  Choice choice;
  size_t count = 0;
  int root = 0;
  bool inPlace = false;
};

struct Scenario {
  Scenario(uint64_t seed, bool loses);
  std::string describe() const;

  uint64_t seed;
  bool loses;
  bool registers;    // the network reaches only registered memory
  bool coordinated;  // the first error aborts all ranks, as the coordinator does
  int ranks;
  int channels;
  std::vector<int> hosts;  // number of each rank's host; ranks of one host share memory
  uint32_t simpleSlotBytes;
  uint32_t smallSlotBytes;
  std::vector<Step> steps;
};

inline size_t drawCount(SeededRandom& random) {
  switch (random.below(6)) {
    case 0:
      return random.below(4);
    case 1:
      return random.below(5000);
    case 2:
      return random.below(30'000);
    default:
      return random.below(300);
  }
}

inline Scenario::Scenario(uint64_t seed, bool loses)
    : seed(seed), loses(loses), registers(SeededRandom(~seed).oneIn(3)) {
  SeededRandom random(seed);
  coordinated = random.oneIn(2);
  ranks = 2 + static_cast<int>(random.below(4));
  channels = 1 + static_cast<int>(random.below(3));
  for (int rank = 0; rank < ranks; ++rank) {
    hosts.push_back(random.oneIn(3) ? static_cast<int>(random.below(2)) : rank);
  }
  hosts[0] = ranks;  // rank 0 is alone on its host, so that the network is used
  simpleSlotBytes = 4096u << random.below(5);
  smallSlotBytes = 1024u << random.below(4);
  for (int collective = 0; collective < kCollectiveCount; ++collective) {
    for (int algorithm = 0; algorithm < kAlgorithmCount; ++algorithm) {
      for (int protocol = 0; protocol < kProtocolCount; ++protocol) {
        Step step;
        step.code = {static_cast<Collective>(collective), static_cast<DataType>(random.below(kDataTypeCount)),
                     static_cast<ReduceOp>(random.below(kReduceOpCount))};
        const bool averagesScan = isScan(step.code.collective) && step.code.op == ReduceOp::Avg;
        if (averagesScan || !supports(step.code.op, step.code.type)) step.code.op = ReduceOp::Sum;
        const bool twoShot = step.code.collective == Collective::AllReduce && random.oneIn(2);
        step.choice = choiceOf(static_cast<Algorithm>(algorithm), static_cast<Protocol>(protocol),
                               1 + static_cast<int>(random.below(channels)),
                               random.oneIn(2) ? 0 : 256 + static_cast<uint32_t>(random.below(20'000)),
                               twoShot ? Choice::kTwoShot : uint16_t{0});
        step.count = drawCount(random);
        step.root = hasRoot(step.code.collective) ? static_cast<int>(random.below(ranks)) : 0;
        step.inPlace = random.oneIn(3);
        steps.push_back(step);
      }
    }
  }
  for (size_t i = steps.size(); i > 1; --i) std::swap(steps[i - 1], steps[random.below(i)]);
}

inline std::string Scenario::describe() const {
  std::string text = "again with JCCL_FAULT_SEED=" + std::to_string(seed) + ": ranks=" + std::to_string(ranks) +
                     " channels=" + std::to_string(channels) + " hosts=";
  for (const int host : hosts) text += std::to_string(host) + ",";
  return text + " simpleSlotBytes=" + std::to_string(simpleSlotBytes) +
         " smallSlotBytes=" + std::to_string(smallSlotBytes) + (loses ? " loses" : "") +
         (registers ? " registers" : "") + (coordinated ? " coordinated" : "");
}

inline std::string describe(const Step& step) {
  return std::string(nameOf(step.code.collective)) + " " + nameOf(step.choice.algorithm) + " " +
         nameOf(step.choice.protocol) + " " + nameOf(step.code.type) + " " + nameOf(step.code.op) +
         " count=" + std::to_string(step.count) + " root=" + std::to_string(step.root) +
         " channels=" + std::to_string(step.choice.channels) + " chunkBytes=" + std::to_string(step.choice.chunkBytes) +
         (step.inPlace ? " in place" : "");
}

// Stores a small number as an element of `type`.
inline void store(uint8_t* to, DataType type, int value) {
  const auto put = [to](auto typed) { std::memcpy(to, &typed, sizeof typed); };
  switch (type) {
    case DataType::Int8:
    case DataType::Uint8:
      return put(static_cast<uint8_t>(value));
    case DataType::Int16:
    case DataType::Uint16:
      return put(static_cast<uint16_t>(value));
    case DataType::Int32:
    case DataType::Uint32:
      return put(static_cast<uint32_t>(value));
    case DataType::Int64:
    case DataType::Uint64:
      return put(static_cast<uint64_t>(value));
    case DataType::Float16:
      return put(reference::toFloat16(static_cast<float>(value)));
    case DataType::Bfloat16:
      return put(reference::toBfloat16(static_cast<float>(value)));
    case DataType::Float32:
      return put(static_cast<float>(value));
    case DataType::Float64:
      return put(static_cast<double>(value));
    case DataType::Float8E4m3:
      return put(reference::toE4m3(static_cast<float>(value)));
    case DataType::Float8E5m2:
      return put(reference::toE5m2(static_cast<float>(value)));
  }
}

// The data that every rank sends in one step, and the data that it must receive. Reductions use small numbers, which
// are exact in all types. Other collectives use arbitrary bytes.
class Data {
 public:
  Data(const Scenario& scenario, size_t index)
      : step_(scenario.steps[index]),
        ranks_(static_cast<size_t>(scenario.ranks)),
        salt_(scenario.seed * 1000 + index),
        element_(sizeOf(step_.code.type)) {}

  // Numbers of elements that a rank sends and receives.
  size_t sendCount() const {
    switch (step_.code.collective) {
      case Collective::ReduceScatter:
      case Collective::AllToAll:
      case Collective::Scatter:
        return ranks_ * step_.count;
      default:
        return step_.count;
    }
  }
  size_t recvCount() const {
    switch (step_.code.collective) {
      case Collective::AllGather:
      case Collective::AllToAll:
      case Collective::Gather:
        return ranks_ * step_.count;
      default:
        return step_.count;
    }
  }
  size_t element() const { return element_; }

  // Returns the bytes that `rank` sends.
  std::vector<uint8_t> sentBy(size_t rank) const {
    std::vector<uint8_t> bytes(sendCount() * element_);
    if (reduces(step_.code.collective)) {
      for (size_t i = 0; i < sendCount(); ++i) store(bytes.data() + i * element_, step_.code.type, value(rank, i));
    } else {
      uint64_t x = salt_ ^ (rank + 1) * 0x9e3779b97f4a7c15u;
      for (uint8_t& byte : bytes) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        byte = static_cast<uint8_t>(x >> 56);
      }
    }
    return bytes;
  }

  // Returns the bytes that `rank` must receive; empty if it receives nothing.
  std::vector<uint8_t> expectedBy(size_t rank) const {
    const size_t part = step_.count * element_;
    const auto root = static_cast<size_t>(step_.root);
    switch (step_.code.collective) {
      case Collective::AllReduce:
        return reduced(0);
      case Collective::ReduceScatter:
        return reduced(rank * step_.count);
      case Collective::Reduce:
        return rank == root ? reduced(0) : std::vector<uint8_t>{};
      case Collective::Broadcast:
        return sentBy(root);
      case Collective::AllGather:
        return gathered(0);
      case Collective::Gather:
        return rank == root ? gathered(0) : std::vector<uint8_t>{};
      case Collective::AllToAll:
        return gathered(rank * part);
      case Collective::Scatter: {
        const std::vector<uint8_t> all = sentBy(root);
        return {all.begin() + static_cast<ptrdiff_t>(rank * part),
                all.begin() + static_cast<ptrdiff_t>((rank + 1) * part)};
      }
      case Collective::SendRecv:
        return sentBy((rank + ranks_ - 1) % ranks_);
      case Collective::Barrier:
        return {};
      case Collective::Scan:
        return reduced(0, rank + 1);
      case Collective::Exscan:
        return rank == 0 ? std::vector<uint8_t>{} : reduced(0, rank);
    }
    return {};
  }

 private:
  int value(size_t rank, size_t i) const {
    const uint64_t drawn = (salt_ + i * 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u >> 40;
    switch (step_.code.op) {
      case ReduceOp::Avg:
        return static_cast<int>(drawn % (isFloat8() ? 2 : 10));  // equal on all ranks, so that the average is exact
      case ReduceOp::Prod:
        return 1 + static_cast<int>((drawn + rank) % 2);
      case ReduceOp::Sum:
        if (isFloat8()) return static_cast<int>((drawn + rank) % 2);
        [[fallthrough]];
      default:
        return static_cast<int>((drawn + rank * 3) % 7);
    }
  }

  // The sums of 8-bit floats are exact only up to 8.
  bool isFloat8() const { return step_.code.type == DataType::Float8E4m3 || step_.code.type == DataType::Float8E5m2; }

  std::vector<uint8_t> reduced(size_t begin) const { return reduced(begin, ranks_); }

  // Returns the reduction of the first ranks.
  std::vector<uint8_t> reduced(size_t begin, size_t ranks) const {
    std::vector<uint8_t> bytes(step_.count * element_);
    for (size_t i = 0; i < step_.count; ++i) {
      int result = value(0, begin + i);
      for (size_t rank = 1; rank < ranks; ++rank) result = fold(result, value(rank, begin + i));
      store(bytes.data() + i * element_, step_.code.type, result);
    }
    return bytes;
  }

  int fold(int a, int b) const {
    switch (step_.code.op) {
      case ReduceOp::Sum:
        return a + b;
      case ReduceOp::Prod:
        return a * b;
      case ReduceOp::Min:
        return std::min(a, b);
      case ReduceOp::Max:
        return std::max(a, b);
      case ReduceOp::And:
        return a & b;
      case ReduceOp::Or:
        return a | b;
      case ReduceOp::Xor:
        return a ^ b;
      case ReduceOp::Avg:
        return a;
    }
    return 0;
  }

  // Returns one part of every rank's data, in the order of ranks. `offset` is the part's offset in bytes.
  std::vector<uint8_t> gathered(size_t offset) const {
    const size_t part = step_.count * element_;
    std::vector<uint8_t> all;
    for (size_t rank = 0; rank < ranks_; ++rank) {
      const std::vector<uint8_t> sent = sentBy(rank);
      all.insert(all.end(), sent.begin() + static_cast<ptrdiff_t>(offset),
                 sent.begin() + static_cast<ptrdiff_t>(offset + part));
    }
    return all;
  }

  const Step& step_;
  const size_t ranks_;
  const uint64_t salt_;
  const size_t element_;
};

}  // namespace jccl::test
