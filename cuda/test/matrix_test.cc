// Compares the results of kernels in the emulator with the host's communicators, bit for bit: for every combination of
// collective, algorithm, protocol, type and operation, for odd sizes, in place and out of place. Inputs are random bits
// and contain NaNs, infinities and subnormals.
#include <algorithm>
#include <random>
#include <tuple>

#include "cuda/test/compared_cases.h"

namespace jccl::test::matrix_test {
namespace {

constexpr uint32_t kChunkBytes = 700;  // several steps for most sizes

struct Case {
  OperationCode code;
  size_t count;
  int root;
  bool inPlace;
  size_t skew;  // offset of the buffers from an aligned address, in bytes

  std::string text() const {
    return std::string(nameOf(code.collective)) + " " + nameOf(code.type) + " " + nameOf(code.op) +
           " count=" + std::to_string(count) + " root=" + std::to_string(root) + (inPlace ? " in place" : "") +
           " skew=" + std::to_string(skew);
  }
};

// The buffers of one rank for one case.
struct Buffers {
  Guarded send, recv;

  Buffers(const Case& c, int rank, int size, uint32_t seed)
      : send(bytesOf(c, size, c.code.collective == Collective::ReduceScatter || c.inPlace), c.skew),
        recv(bytesOf(c, size, c.code.collective == Collective::AllGather), c.skew, 0xEE),
        case_(c),
        rank_(rank),
        sendBytes_(bytesOf(c, size, c.code.collective == Collective::ReduceScatter || c.inPlace)),
        recvBytes_(bytesOf(c, size, c.code.collective == Collective::AllGather)) {
    std::mt19937 random(seed * 977 + rank);
    for (size_t i = 0; i < sendBytes_; ++i) send.data()[i] = static_cast<uint8_t>(random());
    // Most numbers are ordinary, so that not all sums are NaN.
    if (c.code.type == DataType::Float32) tame<float>(random);
    if (c.code.type == DataType::Float64) tame<double>(random);
    original_.assign(send.data(), send.data() + sendBytes_);
  }

  uint8_t* input() {
    const size_t part = case_.count * sizeOf(case_.code.type);
    return case_.inPlace && case_.code.collective == Collective::AllGather ? send.data() + rank_ * part : send.data();
  }
  uint8_t* output() {
    if (!case_.inPlace) return recv.data();
    const size_t part = case_.count * sizeOf(case_.code.type);
    return case_.code.collective == Collective::ReduceScatter ? send.data() + rank_ * part : send.data();
  }
  // Returns true if the operation wrote neither outside the buffers nor over the input.
  bool intact() {
    return send.intact() && recv.intact() &&
           (case_.inPlace || std::equal(original_.begin(), original_.end(), send.data()));
  }
  bool same(Buffers& other) {
    return std::memcmp(send.data(), other.send.data(), sendBytes_) == 0 &&
           std::memcmp(recv.data(), other.recv.data(), recvBytes_) == 0;
  }

 private:
  static size_t bytesOf(const Case& c, int size, bool large) {
    const bool parts = c.code.collective == Collective::AllGather || c.code.collective == Collective::ReduceScatter;
    return c.count * sizeOf(c.code.type) * (large && parts ? size : 1);
  }
  template <class T>
  void tame(std::mt19937& random) {
    for (size_t i = 0; i < sendBytes_ / sizeof(T); ++i) {
      if (random() % 16 != 0) send.set<T>(i, static_cast<T>(random() % 20001) / 64 - 150);
    }
  }

  Case case_;
  int rank_;
  size_t sendBytes_, recvBytes_;
  std::vector<uint8_t> original_;
};

using Parameter = std::tuple<int, Algorithm, Protocol, bool>;  // ranks, algorithm, protocol, two-shot

class KernelMatrix : public ::testing::TestWithParam<Parameter> {
 protected:
  // Runs the cases in sequence over one set of connections, on the host and on the device, and compares the results.
  void compare(const std::vector<Case>& cases, int channels, unsigned threads, uint32_t chunkBytes = kChunkBytes,
               uint32_t ll128SlotBytes = 1024) {
    const auto [size, algorithm, protocol, twoShot] = GetParam();
    const Choice choice = choiceOf(algorithm, protocol, channels, chunkBytes, twoShot ? Choice::kTwoShot : uint16_t{0});
    std::vector<std::vector<Buffers>> host(size), device(size);
    for (int rank = 0; rank < size; ++rank) {
      for (size_t i = 0; i < cases.size(); ++i) {
        host[rank].emplace_back(cases[i], rank, size, static_cast<uint32_t>(i));
        device[rank].emplace_back(cases[i], rank, size, static_cast<uint32_t>(i));
      }
    }
    runHost(cases, choice, channels, host, ll128SlotBytes);
    DeviceRanks ranks(size, channels, ConnectionShape(4096, 1024, ll128SlotBytes));
    runOnDevice(ranks, channels, threads,
                static_cast<uint64_t>(size * 100 + channels * 10 + static_cast<int>(protocol)), cases.size(),
                [&](Launch& launch, int rank, size_t i) {
                  launch.code = cases[i].code;
                  launch.choice = choice;
                  launch.send = device[rank][i].input();
                  launch.recv = device[rank][i].output();
                  launch.count = cases[i].count;
                  launch.root = hasRoot(cases[i].code.collective) ? cases[i].root : 0;
                  return cases[i].text();
                });
    if (HasFatalFailure()) return;
    expectSame(cases, ranks, device, host);
    for (int rank = 0; rank < size; ++rank) {
      for (int c = 0; c < channels; ++c) ASSERT_EQ(ranks.channel(rank, c).operations, cases.size());
    }
  }

 private:
  static void runHost(const std::vector<Case>& cases, Choice choice, int channels,
                      std::vector<std::vector<Buffers>>& buffers, uint32_t ll128SlotBytes) {
    runOnHost(
        static_cast<int>(buffers.size()), channels, cases.size(),
        [&](Engine& communicator, size_t i) {
          Buffers& b = buffers[communicator.rank()][i];
          return communicator.run(cases[i].code, choice, reinterpret_cast<uint64_t>(b.input()),
                                  reinterpret_cast<uint64_t>(b.output()), static_cast<int64_t>(cases[i].count),
                                  cases[i].root, kTimeoutNanos);
        },
        [&](EngineConfig& config) { config.ll128SlotBytes = ll128SlotBytes; });
  }
};

constexpr size_t kSkews[] = {0, 0, 1, 0, 8, 4, 0, 2};

TEST_P(KernelMatrix, ReductionsEqualTheHostsBitForBit) {
  const auto [size, algorithm, protocol, twoShot] = GetParam();
  for (int type = 0; type < kDataTypeCount; ++type) {
    std::vector<Case> cases;
    for (int op = 0; op < kReduceOpCount; ++op) {
      if (!supports(static_cast<ReduceOp>(op), static_cast<DataType>(type))) continue;
      for (const size_t count : {size_t{0}, size_t{1}, size_t{3}, size_t{37}, size_t{250}, size_t{1023}}) {
        for (const bool inPlace : {false, true}) {
          for (const Collective collective : {Collective::AllReduce, Collective::ReduceScatter, Collective::Reduce}) {
            if ((algorithm == Algorithm::Tree || twoShot) && collective != Collective::AllReduce) continue;
            if (collective == Collective::ReduceScatter && count > 400) continue;
            const OperationCode code{collective, static_cast<DataType>(type), static_cast<ReduceOp>(op)};
            const int root = static_cast<int>(cases.size()) % size;
            cases.push_back({code, count, root, inPlace, kSkews[cases.size() % std::size(kSkews)]});
          }
        }
      }
    }
    compare(cases, 1 + type % 2, type % 3 == 0 ? 128 : 64);
    if (HasFatalFailure()) return;
  }
}

class KernelCopies : public KernelMatrix {};

TEST_P(KernelCopies, EqualTheHosts) {
  const int size = std::get<0>(GetParam());
  for (const DataType type : {DataType::Int8, DataType::Float16, DataType::Float32, DataType::Int64}) {
    std::vector<Case> cases;
    for (const size_t count : {size_t{0}, size_t{1}, size_t{5}, size_t{251}, size_t{1024}}) {
      for (const bool inPlace : {false, true}) {
        for (int root = 0; root < size; ++root) {
          cases.push_back(
              {{Collective::Broadcast, type, ReduceOp::Sum}, count, root, inPlace, kSkews[cases.size() % 8]});
        }
        cases.push_back({{Collective::AllGather, type, ReduceOp::Sum}, count, 0, inPlace, kSkews[cases.size() % 8]});
        cases.push_back({{Collective::Barrier, DataType::Int8, ReduceOp::Sum}, 0, 0, false, 0});
      }
    }
    compare(cases, type == DataType::Float32 ? 2 : 1, type == DataType::Int8 ? 160 : 32);
    if (HasFatalFailure()) return;
  }
}

class KernelLines : public KernelMatrix {};

// The slots hold more lines than a warp moves in a pass. The cases have every alignment.
TEST_P(KernelLines, EqualTheHostsBitForBit) {
  for (int type = 0; type < kDataTypeCount; ++type) {
    const size_t element = sizeOf(static_cast<DataType>(type));
    std::vector<Case> cases;
    for (size_t skew = 0; skew < 16; ++skew) {
      ReduceOp op = static_cast<ReduceOp>((type + skew) % kReduceOpCount);
      if (!supports(op, static_cast<DataType>(type))) op = ReduceOp::Max;
      const size_t count = (skew % 2 == 0 ? 9000 : 3801) / element + skew % 3;
      cases.push_back({{Collective::AllReduce, static_cast<DataType>(type), op}, count, 0, skew % 5 == 0, skew});
    }
    compare(cases, 1, type % 2 == 0 ? 32 : 64, 3800, 4096);
    if (HasFatalFailure()) return;
  }
}

std::string nameOfParameter(const ::testing::TestParamInfo<Parameter>& info) {
  const auto [ranks, algorithm, protocol, twoShot] = info.param;
  return std::string(nameOf(algorithm)) + (twoShot ? "_two_shot_" : "_") + nameOf(protocol) + "_ranks" +
         std::to_string(ranks);
}

INSTANTIATE_TEST_SUITE_P(All, KernelMatrix,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 5),
                                            ::testing::Values(Algorithm::Ring, Algorithm::Tree, Algorithm::Direct),
                                            ::testing::Values(Protocol::LL, Protocol::LL128, Protocol::Simple),
                                            ::testing::Values(false)),
                         nameOfParameter);
INSTANTIATE_TEST_SUITE_P(All, KernelCopies,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 5),
                                            ::testing::Values(Algorithm::Ring, Algorithm::Direct),
                                            ::testing::Values(Protocol::LL, Protocol::LL128, Protocol::Simple),
                                            ::testing::Values(false)),
                         nameOfParameter);
INSTANTIATE_TEST_SUITE_P(All, KernelLines,
                         ::testing::Combine(::testing::Values(2, 3),
                                            ::testing::Values(Algorithm::Ring, Algorithm::Direct),
                                            ::testing::Values(Protocol::LL128), ::testing::Values(false)),
                         nameOfParameter);
INSTANTIATE_TEST_SUITE_P(TwoShot, KernelMatrix,
                         ::testing::Combine(::testing::Values(2, 3, 4, 5), ::testing::Values(Algorithm::Direct),
                                            ::testing::Values(Protocol::LL, Protocol::LL128, Protocol::Simple),
                                            ::testing::Values(true)),
                         nameOfParameter);

}  // namespace
}  // namespace jccl::test::matrix_test
