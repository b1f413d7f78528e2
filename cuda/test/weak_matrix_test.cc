// Runs every combination of kernel family, algorithm, protocol and collective in weak memory, with several seeds.
// JCCL_EMULATED_SEEDS sets the number of seeds, which is small by default, and JCCL_EMULATED_FIRST_SEED the first one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "cuda/test/staged_operation.h"

namespace jccl::test::weak_matrix_test {
namespace {

uint64_t numberFrom(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class WeakMatrix : public ::testing::TestWithParam<Job> {};

TEST_P(WeakMatrix, IsRightWithEverySeed) {
  const uint64_t first = numberFrom("JCCL_EMULATED_FIRST_SEED", 1);
  const uint64_t seeds = numberFrom("JCCL_EMULATED_SEEDS", 12);
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    std::mt19937_64 random(seed);
    emulator::Options options;
    options.memory = emulator::Memory::Weak;
    options.schedule = emulator::Schedule::BySeed;
    options.seed = seed;
    const int size = 2 + static_cast<int>(random() % 3);
    const int channels = random() % 4 == 0 ? 2 : 1;
    const unsigned threads = random() % 4 == 0 ? 128 : random() % 2 == 0 ? 64 : 32;
    constexpr size_t kCounts[] = {0, 1, 2, 29, 61, 130, 700};
    const size_t count = kCounts[random() % std::size(kCounts)];
    // Some seeds use slots for more lines than a warp moves at once.
    const ConnectionShape shape = random() % 3 == 0 ? ConnectionShape(4096, 512, 4096) : ConnectionShape(256, 128, 256);
    StagedOperation staged(GetParam(), size, channels, count, shape);
    emulator::Machine machine(options);
    for (int rank = 0; rank < size; ++rank) staged.launch(machine, rank, threads);
    size_t seenWrong = 0;
    for (int rank = 0; rank < size; ++rank) staged.launchReader(machine, rank, seenWrong);
    const emulator::Report report = machine.run();
    const auto text = [&] {
      return "seed=" + std::to_string(seed) + " ranks=" + std::to_string(size) +
             " channels=" + std::to_string(channels) + " threads=" + std::to_string(threads) +
             " count=" + std::to_string(count) + "\n" + report.text;
    };
    ASSERT_TRUE(report.finished()) << text();
    ASSERT_EQ(seenWrong, 0u) << "after the report of the end: " << text();
    for (int rank = 0; rank < size; ++rank) {
      ASSERT_EQ(staged.ranks.result(rank), Code::Ok) << text();
      ASSERT_EQ(staged.wrong(rank), 0u) << "rank=" << rank << " " << text();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, WeakMatrix, ::testing::ValuesIn(allJobs()),
                         [](const ::testing::TestParamInfo<Job>& info) { return info.param.name(); });

}  // namespace
}  // namespace jccl::test::weak_matrix_test
