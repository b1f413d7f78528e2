// Compares the results of v-forms by kernels in the emulator with the host's communicators, bit for bit. The parts have
// gaps between them, a part may be empty, and buffers have any alignment.
#include <algorithm>
#include <cstring>
#include <random>
#include <tuple>

#include "cuda/test/compared_cases.h"
#include "cuda/test/exchange_group.h"
#include "cuda/test/in_place_descriptors.h"

namespace jccl::test::parts_test {
namespace {

// Counts by rank, then displacements by rank, as Engine::runV takes them.
struct Parts {
  std::vector<int64_t> numbers;
  size_t end = 0;  // number of elements of the buffer of all parts

  Parts(int size, size_t base, int shape) : numbers(2 * size) {
    std::mt19937 random(static_cast<unsigned>(size * 1000 + base * 10 + shape));
    for (int i = 0; i < size; ++i) {
      // Shape 1 puts the parts in the reverse order of the ranks.
      const int rank = shape == 1 ? size - 1 - i : i;
      numbers[rank] = static_cast<int64_t>(shape == 2 && rank == 0 ? 0 : random() % (2 * base + 1));
      numbers[size + rank] = static_cast<int64_t>(end + random() % 4);
      end = numbers[size + rank] + numbers[rank] + random() % 3;
    }
  }
  size_t count(int rank) const { return numbers[rank]; }
  size_t displacement(int rank) const { return numbers[numbers.size() / 2 + rank]; }
};

struct Case {
  OperationCode code;
  Parts parts;
  bool inPlace;
  size_t skew;

  std::string text() const {
    std::string text = std::string(nameOf(code.collective)) + " " + nameOf(code.type) + " " + nameOf(code.op) +
                       (inPlace ? " in place" : "") + " skew=" + std::to_string(skew) + " parts";
    for (const int64_t number : parts.numbers) text.append(" ").append(std::to_string(number));
    return text;
  }
};

// The buffers of one rank for one case: one for all parts, and one for the rank's own part.
struct Buffers {
  Guarded large, own;

  Buffers(const Case& c, int rank, uint32_t seed)
      : large(c.parts.end * sizeOf(c.code.type), c.skew, 0xEE),
        own(c.parts.count(rank) * sizeOf(c.code.type), c.skew * 3 % 16, 0xEE),
        case_(c),
        rank_(rank) {
    std::mt19937 random(seed * 977 + rank);
    Guarded& input = reads() ? large : own;
    for (size_t i = 0; i < bytesOf(input); ++i) input.data()[i] = static_cast<uint8_t>(random());
    if (c.inPlace && !reads()) {
      for (size_t i = 0; i < bytesOf(own); ++i) partOfLarge()[i] = static_cast<uint8_t>(random());
    }
  }
  uint8_t* input() { return reads() ? large.data() : case_.inPlace ? partOfLarge() : own.data(); }
  uint8_t* output() { return !reads() ? large.data() : case_.inPlace ? partOfLarge() : own.data(); }
  bool same(Buffers& other) {
    return std::memcmp(large.data(), other.large.data(), bytesOf(large)) == 0 &&
           std::memcmp(own.data(), other.own.data(), bytesOf(own)) == 0;
  }
  bool intact() const { return large.intact() && own.intact(); }

 private:
  bool reads() const { return case_.code.collective == Collective::ReduceScatter; }
  uint8_t* partOfLarge() { return large.data() + case_.parts.displacement(rank_) * sizeOf(case_.code.type); }
  size_t bytesOf(const Guarded& buffer) const {
    return (&buffer == &large ? case_.parts.end : case_.parts.count(rank_)) * sizeOf(case_.code.type);
  }

  const Case& case_;
  int rank_;
};

std::vector<Case> casesOf(DataType type, int size, bool canOverwrite = true) {
  constexpr size_t kSkews[] = {0, 1, 0, 8, 4, 0, 2, 12};
  std::vector<Case> cases;
  const auto add = [&](Collective collective, ReduceOp op, size_t base, bool inPlace) {
    cases.push_back({{collective, type, op},
                     Parts(size, base, static_cast<int>(cases.size() % 3)),
                     inPlace,
                     kSkews[cases.size() % std::size(kSkews)]});
  };
  for (const size_t base : {size_t{0}, size_t{1}, size_t{7}, size_t{150}, size_t{700}}) {
    for (const bool inPlace : {false, true}) {
      if (inPlace && !canOverwrite) continue;
      add(Collective::AllGather, ReduceOp::Sum, base, inPlace);
      const ReduceOp op = static_cast<ReduceOp>(cases.size() % kReduceOpCount);
      add(Collective::ReduceScatter, supports(op, type) ? op : ReduceOp::Sum, base, inPlace);
    }
  }
  return cases;
}

using AllBuffers = std::vector<std::vector<Buffers>>;  // by rank, by case

AllBuffers buffersOf(const std::vector<Case>& cases, int size) {
  AllBuffers all(size);
  for (int rank = 0; rank < size; ++rank) {
    all[rank].reserve(cases.size());
    for (size_t i = 0; i < cases.size(); ++i) all[rank].emplace_back(cases[i], rank, static_cast<uint32_t>(i));
  }
  return all;
}

void runHost(const std::vector<Case>& cases, Choice choice, int channels, AllBuffers& buffers) {
  runOnHost(static_cast<int>(buffers.size()), channels, cases.size(), [&](Engine& communicator, size_t i) {
    Buffers& b = buffers[communicator.rank()][i];
    return communicator.runV(cases[i].code, choice, reinterpret_cast<uint64_t>(b.input()),
                             reinterpret_cast<uint64_t>(b.output()), cases[i].parts.numbers, 0, kTimeoutNanos);
  });
}

template <class AnyLaunch>
void takeParts(AnyLaunch& launch, const Parts& parts, int size) {
  launch.counts = parts.numbers.data();
  launch.displacements = parts.numbers.data() + size;
  launch.fingerprint = parts.end + 77;
}

class KernelParts : public ::testing::TestWithParam<std::tuple<int, Algorithm, Protocol>> {};

TEST_P(KernelParts, EqualTheHostsBitForBit) {
  const auto [size, algorithm, protocol] = GetParam();
  for (int type = 0; type < kDataTypeCount; ++type) {
    const int channels = 1 + type % 2;
    const unsigned threads = type % 3 == 0 ? 128 : 64;
    const Choice choice = choiceOf(algorithm, protocol, channels, 700);
    const std::vector<Case> cases = casesOf(static_cast<DataType>(type), size);
    AllBuffers host = buffersOf(cases, size), device = buffersOf(cases, size);
    runHost(cases, choice, channels, host);
    DeviceRanks ranks(size, channels);
    runOnDevice(ranks, channels, threads, size * 10 + type, cases.size(), [&](Launch& launch, int rank, size_t i) {
      launch.code = cases[i].code;
      launch.choice = choice;
      launch.send = device[rank][i].input();
      launch.recv = device[rank][i].output();
      takeParts(launch, cases[i].parts, size);
      return cases[i].text();
    });
    if (HasFatalFailure()) return;
    expectSame(cases, ranks, device, host);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, KernelParts,
                         ::testing::Combine(::testing::Values(1, 2, 3, 5),
                                            ::testing::Values(Algorithm::Ring, Algorithm::Direct),
                                            ::testing::Values(Protocol::LL, Protocol::LL128, Protocol::Simple)),
                         [](const auto& info) {
                           return std::string(nameOf(std::get<1>(info.param))) + "_" + nameOf(std::get<2>(info.param)) +
                                  "_ranks" + std::to_string(std::get<0>(info.param));
                         });

class InPlaceParts : public ::testing::TestWithParam<int> {};

TEST_P(InPlaceParts, EqualTheHostsBitForBit) {
  const int size = GetParam();
  for (int type = 0; type < kDataTypeCount; ++type) {
    const int channels = 1 + type % 2;
    // Peers read a rank's send buffer until all ranks are done, so no output overwrites an input here.
    const std::vector<Case> cases = casesOf(static_cast<DataType>(type), size, false);
    AllBuffers host = buffersOf(cases, size), device = buffersOf(cases, size);
    runHost(cases, choiceOf(Algorithm::Direct, Protocol::Simple, 1), 1, host);
    DeviceRanks ranks(size, channels);
    std::vector<std::unique_ptr<InPlaceDescriptors>> descriptors;
    for (size_t i = 0; i < cases.size(); ++i) {
      std::vector<const uint8_t*> inputs;
      std::vector<uint8_t*> outputs;
      for (int rank = 0; rank < size; ++rank) {
        inputs.push_back(device[rank][i].input());
        outputs.push_back(device[rank][i].output());
      }
      // A communicator has one set of buffer-exchange descriptors. Here each case has a set of its own, so each case is
      // operation 1 of its set.
      descriptors.push_back(std::make_unique<InPlaceDescriptors>(channels, inputs, outputs));
    }
    for (size_t i = 0; i < cases.size(); ++i) {
      for (int rank = 0; rank < size; ++rank) {
        for (int c = 0; c < channels; ++c) ranks.channel(rank, c).operations = 0;
      }
      std::vector<device::InPlaceLaunch> launches;
      for (int rank = 0; rank < size; ++rank) {
        launches.push_back(descriptors[i]->launchOf(ranks, rank, cases[i].code, 0));
        takeParts(launches.back(), cases[i].parts, size);
      }
      runKernels(bySeed(size * 10 + type), size, channels, [&](int rank) { inPlaceKernel(launches[rank]); });
      if (HasFatalFailure()) return;
    }
    expectSame(cases, ranks, device, host);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, InPlaceParts, ::testing::Values(1, 2, 3, 5), ::testing::PrintToStringParamName());

// Returns the arguments of an all-to-all with messages of different sizes: counts and displacements of the sent
// messages, then those of the received messages.
std::vector<int64_t> messagesOf(int size, int rank, size_t base, size_t& sendEnd, size_t& recvEnd) {
  std::vector<int64_t> numbers(4 * size);
  const auto message = [&](int from, int to) { return static_cast<int64_t>(base * ((from + 2 * to) % 4) + from + to); };
  sendEnd = recvEnd = 0;
  for (int peer = 0; peer < size; ++peer) {
    numbers[peer] = message(rank, peer);
    numbers[size + peer] = static_cast<int64_t>(sendEnd);
    sendEnd += numbers[peer] + 1;
    numbers[2 * size + peer] = message(peer, rank);
    numbers[3 * size + peer] = static_cast<int64_t>(recvEnd);
    recvEnd += numbers[2 * size + peer] + 2;
  }
  return numbers;
}

class ExchangeParts : public ::testing::TestWithParam<int> {};

TEST_P(ExchangeParts, EqualTheHostsBitForBit) {
  const int size = GetParam();
  for (const DataType type : {DataType::Int8, DataType::Float16, DataType::Float32, DataType::Float64}) {
    for (const size_t base : {size_t{0}, size_t{3}, size_t{2000}}) {
      const int channels = 1 + static_cast<int>(base % 2);
      const size_t element = sizeOf(type);
      std::vector<std::vector<int64_t>> numbers(size);
      std::vector<Guarded> sends, recvs, hostRecvs;
      std::vector<size_t> recvBytes;
      for (int rank = 0; rank < size; ++rank) {
        size_t sendEnd = 0, recvEnd = 0;
        numbers[rank] = messagesOf(size, rank, base, sendEnd, recvEnd);
        Guarded& send = sends.emplace_back(sendEnd * element, rank % 3);
        for (size_t i = 0; i < sendEnd * element; ++i) send.data()[i] = static_cast<uint8_t>(i * 7 + rank * 31);
        recvs.emplace_back(recvEnd * element, rank % 5, uint8_t{0xEE});
        hostRecvs.emplace_back(recvEnd * element, 0, uint8_t{0xEE});
        recvBytes.push_back(recvEnd * element);
      }
      RankThreads threads(size);
      threads.run([&](Engine& communicator) {
        const int rank = communicator.rank();
        ASSERT_EQ(communicator.runV({Collective::AllToAll, type, ReduceOp::Sum},
                                    choiceOf(Algorithm::Direct, Protocol::Simple), sends[rank].address(),
                                    hostRecvs[rank].address(), numbers[rank], 0, kTimeoutNanos),
                  Code::Ok)
            << communicator.lastError();
      });
      DeviceRanks ranks(size, channels);
      std::vector<ExchangeGroup> groups(size);
      std::vector<ExchangeLaunch> launches;
      for (int rank = 0; rank < size; ++rank) {
        const auto& n = numbers[rank];
        for (int i = 0; i < size; ++i) {
          const int to = (rank + i) % size, from = (rank - i + size) % size;
          uint8_t* source = sends[rank].data() + n[size + to] * element;
          uint8_t* target = recvs[rank].data() + n[3 * size + from] * element;
          const size_t out = n[to] * element, in = n[2 * size + from] * element;
          if (to == rank) {
            groups[rank].copies.push_back({ExchangeTask::Kind::Copy, rank, source, target, out, 0});
            continue;
          }
          groups[rank].add({{ExchangeTask::Kind::Send, to, source, nullptr, out, static_cast<uint32_t>(out)}});
          groups[rank].add({{ExchangeTask::Kind::Recv, from, target, nullptr, in, static_cast<uint32_t>(in)}});
        }
        launches.push_back(groups[rank].launchOf(ranks, rank, channels, true));
      }
      runKernels(bySeed(base + size), size, channels, [&](int rank) { exchangeKernel(launches[rank]); });
      if (HasFatalFailure()) return;
      for (int rank = 0; rank < size; ++rank) {
        ASSERT_EQ(ranks.result(rank), Code::Ok);
        ASSERT_TRUE(recvs[rank].intact());
        ASSERT_EQ(std::memcmp(recvs[rank].data(), hostRecvs[rank].data(), recvBytes[rank]), 0)
            << "rank=" << rank << " base=" << base << " " << nameOf(type);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ExchangeParts, ::testing::Values(1, 2, 3, 5), ::testing::PrintToStringParamName());

}  // namespace
}  // namespace jccl::test::parts_test
