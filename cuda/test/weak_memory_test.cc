// Runs the protocols in weak memory with thousands of seeds: stores become visible late and in any order, loads see old
// values, and schedules are unfair. Also checks that these runs catch faults of the protocols' code.
#include <cstring>
#include <random>

#include "cuda/test/device_ranks.h"
#include "cuda/test/emulated_collective.h"

namespace jccl::test::weak_memory_test {
namespace {

using device::NoFaults;

struct MissingFence : NoFaults {
  static constexpr bool kSkipsFence = true;
};
struct CreditOffByOne : NoFaults {
  static constexpr bool kMiscountsCredit = true;
};
struct SilentEmptyStep : NoFaults {
  static constexpr bool kSkipsEmptySteps = true;
};
struct DivergingWarp : NoFaults {
  static constexpr bool kDivergesAtLines = true;
};

struct Trial {
  int ranks = 2;
  Algorithm algorithm = Algorithm::Ring;
  Collective collective = Collective::AllReduce;  // AllReduce, or Reduce to rank 0
  size_t count = 0;
  int operations = 3;
  bool together = false;  // all operations are in one launch
  unsigned threads = 64;
  emulator::Options options;
  ConnectionShape shape = ConnectionShape(256, 128, 256);
};

enum class Outcome { Right, Wrong, Stuck };

// Runs operations on int32 in sequence, over new connections. Sets `text` to the trial's parameters and the report.
template <Protocol P, class Faults = NoFaults>
Outcome run(const Trial& trial, std::string& text) {
  const size_t count = trial.count;
  DeviceRanks ranks(trial.ranks, 1, trial.shape);
  ranks.timeoutNanos = 50'000'000;
  std::vector<std::vector<int32_t>> in(trial.ranks), out(trial.ranks);
  std::vector<Launch> launches;
  launches.reserve(trial.ranks * trial.operations);
  std::vector<std::vector<device::Work>> works(trial.ranks);
  emulator::Machine machine(trial.options);
  for (int rank = 0; rank < trial.ranks; ++rank) {
    in[rank].resize(count * trial.operations);
    out[rank].resize(count * trial.operations, -1);
    for (size_t i = 0; i < in[rank].size(); ++i) in[rank][i] = static_cast<int32_t>((rank + 1) * 1000003 + i * 7919);
    int before = -1;
    const size_t first = launches.size();
    for (int o = 0; o < trial.operations; ++o) {
      Launch& launch = launches.emplace_back(ranks.launchOf(rank));
      launch.code = {trial.collective, DataType::Int32, ReduceOp::Sum};
      launch.choice = choiceOf(trial.algorithm, P, 1);
      launch.send = reinterpret_cast<const uint8_t*>(in[rank].data() + o * count);
      launch.recv = reinterpret_cast<uint8_t*>(out[rank].data() + o * count);
      launch.count = count;
      if (trial.together) {
        works[rank].push_back(launch);
        continue;
      }
      before = machine.launch(
          1, trial.threads, [&launch] { collectiveKernelOf<P, device::Integer<uint32_t>, Faults>(launch); },
          "rank " + std::to_string(rank), before);
    }
    if (!trial.together) continue;
    Launch& launch = launches[first];
    launch.more = works[rank].data() + 1;
    launch.moreCount = static_cast<uint32_t>(trial.operations - 1);
    machine.launch(
        1, trial.threads, [&launch] { collectiveKernelOf<P, device::Integer<uint32_t>, Faults>(launch); },
        "rank " + std::to_string(rank));
  }
  const emulator::Report report = machine.run();
  text = "seed=" + std::to_string(trial.options.seed) + " ranks=" + std::to_string(trial.ranks) +
         " count=" + std::to_string(count) + " " + nameOf(trial.algorithm) + (trial.together ? " together" : "") +
         "\n" + report.text;
  if (!report.finished()) return Outcome::Stuck;
  Outcome outcome = Outcome::Right;
  for (int rank = 0; rank < trial.ranks; ++rank) {
    if (ranks.result(rank) != Code::Ok) return Outcome::Stuck;
    if (trial.collective == Collective::Reduce && rank != 0) continue;
    for (size_t i = 0; i < out[rank].size(); ++i) {
      int32_t sum = 0;
      for (int r = 0; r < trial.ranks; ++r) sum += in[r][i];
      if (out[rank][i] != sum) outcome = Outcome::Wrong;
    }
  }
  return outcome;
}

Trial trialOf(uint64_t seed) {
  std::mt19937_64 random(seed);
  Trial trial;
  trial.options.memory = emulator::Memory::Weak;
  trial.options.schedule = emulator::Schedule::BySeed;
  trial.options.seed = seed;
  trial.ranks = 2 + static_cast<int>(random() % 2);
  trial.algorithm = static_cast<Algorithm>(random() % 3);
  const size_t counts[] = {0, 1, 2, 29, 61, 130};
  trial.count = counts[random() % std::size(counts)];
  trial.threads = random() % 4 == 0 ? 128 : random() % 2 == 0 ? 64 : 32;
  trial.together = random() % 2 == 0;
  return trial;
}

constexpr uint64_t kSeeds = 1000;

template <Protocol P>
void expectRight() {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    std::string text;
    ASSERT_EQ(run<P>(trialOf(seed), text), Outcome::Right) << text;
  }
}

TEST(WeakMemory, LLIsRightWithAThousandSeeds) { expectRight<Protocol::LL>(); }
TEST(WeakMemory, LL128IsRightWithAThousandSeeds) { expectRight<Protocol::LL128>(); }
TEST(WeakMemory, SimpleIsRightWithAThousandSeeds) { expectRight<Protocol::Simple>(); }

// A rank receives LL128 lines from a proxy thread of the host, which writes a line word by word and its flag last
// (native/transport/recv_proxy.cc).
template <class Faults>
Outcome receiveLinesOfProxy(uint64_t seed) {
  using Primitives = device::DevicePrimitives<Protocol::LL128, device::Integer<uint32_t>, Faults>;
  constexpr uint64_t kSteps = kSlots;
  constexpr uint32_t kLines = 5, kWords = kLL128LineBytes / sizeof(uint64_t), kFingerprint = 77;
  constexpr size_t kCount = (kLines * kLL128PayloadBytes - kLL128HeaderBytes) / sizeof(uint32_t);
  const auto valueOf = [](uint64_t step, size_t i) { return static_cast<uint32_t>(step * 1000 + i + 1); };
  DeviceRanks ranks(2);
  ranks.channel(1, 0).recvs[0].transport = TransportKind::Socket;
  std::vector<uint32_t> out(kSteps * kCount);
  emulator::Options options = trialOf(seed).options;
  options.splitLines = true;  // the proxy writes lines in parts, and the kernel reads lines in parts
  emulator::Machine machine(options);
  machine.launch(
      1, 1,
      [&] {
        for (uint64_t step = 0; step < kSteps; ++step) {
          std::vector<uint32_t> payload = {checkWord(kFingerprint, kCount * sizeof(uint32_t)), 0};
          for (size_t i = 0; i < kCount; ++i) payload.push_back(valueOf(step, i));
          auto* slot = reinterpret_cast<uint64_t*>(ranks.block(1, 0, 0) + ranks.shape().ll128Slot(step));
          for (uint32_t line = 0; line < kLines; ++line) {
            for (uint32_t word = 0; word + 1 < kWords; ++word) {
              uint64_t bits = 0;
              std::memcpy(&bits, payload.data() + 2 * (line * (kWords - 1) + word), sizeof bits);
              simt::storeRelaxed(slot + line * kWords + word, bits);
            }
            simt::storeRelease(slot + line * kWords + kWords - 1, step + 1);
          }
        }
      },
      "proxy");
  machine.launch(
      1, 64,
      [&] {
        struct Shared {
          device::BlockState block;
          device::DeviceTransfer transfer;
          uint64_t staging[2 * device::kStagingWords];
        };
        JCCL_SHARED(Shared, shared);
        const Launch launch = ranks.launchOf(1);
        device::beginBlock(shared.block.wait, ranks.channel(1, 0), launch.control);
        if (simt::threadIndex() == 0) {
          shared.block.staging = shared.staging;
          shared.block.recvs[0].open(ranks.channel(1, 0).recvs, 0);
          shared.transfer = {nullptr,
                             reinterpret_cast<uint8_t*>(out.data()),
                             sizeof(uint32_t),
                             kCount,
                             {ReduceOp::Sum, 1, false},
                             kFingerprint,
                             {}};
        }
        simt::syncBlock();
        Primitives primitives(shared.block, launch.shape, shared.transfer, {0, 1, 0, 0, 0});
        for (uint64_t step = 0; step < kSteps; ++step) primitives.recv(step * kCount, kCount);
      },
      "receiver");
  const emulator::Report report = machine.run();
  if (!report.finished() || ranks.result(1) != Code::Ok) return Outcome::Stuck;
  for (uint64_t step = 0; step < kSteps; ++step) {
    for (size_t i = 0; i < kCount; ++i) {
      if (out[step * kCount + i] != valueOf(step, i)) return Outcome::Wrong;
    }
  }
  return Outcome::Right;
}

TEST(WeakMemory, LL128LinesOfAProxyAreWhole) {
  for (uint64_t seed = 1; seed <= 200; ++seed) ASSERT_EQ(receiveLinesOfProxy<NoFaults>(seed), Outcome::Right) << seed;
}

TEST(Faults, AMissingFenceOfAProxysReceiverIsCaught) {
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    wrong += receiveLinesOfProxy<MissingFence>(seed) == Outcome::Wrong ? 1 : 0;
  }
  EXPECT_GT(wrong, 0);
}

// Number of seeds with which a fault leads to wrong results (wrong), or to ranks that wait for ever (stuck).
struct Found {
  int wrong = 0;
  int stuck = 0;
};

template <Protocol P, class Faults>
Found find(const std::function<void(Trial&)>& adjust, int seeds) {
  Found found;
  for (int seed = 1; seed <= seeds; ++seed) {
    Trial trial = trialOf(static_cast<uint64_t>(seed));
    trial.algorithm = Algorithm::Ring;
    trial.count = 130;
    adjust(trial);
    std::string text;
    const Outcome outcome = run<P, Faults>(trial, text);
    found.wrong += outcome == Outcome::Wrong ? 1 : 0;
    found.stuck += outcome == Outcome::Stuck ? 1 : 0;
  }
  return found;
}

TEST(Faults, AMissingFenceIsCaught) {
  EXPECT_GT((find<Protocol::Simple, MissingFence>([](Trial&) {}, 400).wrong), 0);
}

TEST(Faults, ACreditOffByOneIsCaught) {
  // Many steps go in one direction, so that the sender can overtake the receiver.
  const auto longer = [](Trial& trial) {
    trial.count = 1200;
    trial.ranks = 2;
    trial.collective = Collective::Reduce;
  };
  const Found simple = find<Protocol::Simple, CreditOffByOne>(longer, 40);
  EXPECT_GT(simple.wrong + simple.stuck, 0);
  const Found ll = find<Protocol::LL, CreditOffByOne>(longer, 40);
  EXPECT_GT(ll.wrong + ll.stuck, 0);
}

TEST(Faults, AFlagNotAdvancedOnAnEmptyStepIsCaught) {
  const auto small = [](Trial& trial) { trial.count = 1; };
  EXPECT_EQ((find<Protocol::Simple, SilentEmptyStep>(small, 10).stuck), 10);
}

TEST(Faults, AWarpThatDivergesBeforeALineIsCaught) {
  EXPECT_GT((find<Protocol::LL128, DivergingWarp>([](Trial&) {}, 40).wrong), 0);
}

TEST(Faults, LinesThatComeApartBreakLL128) {
  const auto split = [](Trial& trial) { trial.options.splitLines = true; };
  EXPECT_GT((find<Protocol::LL128, NoFaults>(split, 40).wrong), 0);
}

TEST(Faults, TrialsWithoutFaultsAreRight) {
  const Found simple = find<Protocol::Simple, NoFaults>([](Trial& trial) { trial.count = 1; }, 10);
  const Found lines = find<Protocol::LL128, NoFaults>([](Trial&) {}, 40);
  const Found longer =
      find<Protocol::LL, NoFaults>([](Trial& trial) { trial.count = 1200, trial.collective = Collective::Reduce; }, 40);
  EXPECT_EQ(simple.wrong + simple.stuck + lines.wrong + lines.stuck + longer.wrong + longer.stuck, 0);
}

}  // namespace
}  // namespace jccl::test::weak_memory_test
