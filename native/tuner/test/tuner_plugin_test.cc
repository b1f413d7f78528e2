// Tests of tuner plug-ins, with a test plug-in for each version of the interface.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "test/plugin_folder.h"
#include "tuner/tuner_library.h"

namespace jccl::tuner_plugin_test {
namespace {

using plugin::kIgnoredCost;
using plugin::kTunerCosts;
using test::has;
using test::PluginFolder;

constexpr int kAllReduce = 4;
constexpr int kRing = 1;
constexpr int kLl128 = 1;

constexpr std::array<const char*, 6> kTuners = {JCCL_TEST_TUNER_V2, JCCL_TEST_TUNER_V3, JCCL_TEST_TUNER_V4,
                                                JCCL_TEST_TUNER_V5, JCCL_TEST_TUNER_V6, JCCL_TEST_TUNER_V7};

const char* tunerOf(int version) { return kTuners[static_cast<size_t>(version - plugin::kOldestTuner)]; }

size_t entry(int algorithm, int protocol) {
  return static_cast<size_t>(algorithm * plugin::kTunerProtocols + protocol);
}

// Sizes and offsets as in NCCL's headers on 64-bit machines.
TEST(TunerInterface, HasTheLayoutsOfNccl) {
  using namespace plugin;
  EXPECT_EQ(12u, sizeof(NvlDomains));
  EXPECT_EQ(8u * (21 + 63 + 5 * 12), sizeof(TunerConstantsOf<5>));
  EXPECT_EQ(8u * (21 + 63 + 5 * 15), sizeof(TunerConstantsOf<7>));
  EXPECT_EQ(8u * 84, offsetof(TunerConstantsOf<5>, maxLl));
  EXPECT_EQ(8u * (84 + 4 * 15), offsetof(TunerConstantsOf<7>, maxNvlsTree));
  EXPECT_EQ(8u * 2, offsetof(TunerTable<2>, getCollInfo));
  EXPECT_EQ(8u * 3, offsetof(TunerTable<5>, finalize));
  EXPECT_EQ(8u * 4, offsetof(TunerTable<6>, getChunkSize));
}

TEST(TunerLibrary, SaysWhatIsMissing) {
  std::shared_ptr<plugin::TunerPlugin> tuner;
  const Status none = plugin::openTunerPlugin("no-such", &tuner);
  EXPECT_EQ(Code::System, none.code());
  EXPECT_TRUE(has(none.message(), "libnccl-tuner-no-such.so")) << none.message();
  EXPECT_TRUE(has(plugin::openTunerPluginOfNetwork("no-such", &tuner).message(), "libnccl-net-no-such.so"));
  const Status other = plugin::openTunerPlugin(JCCL_FAKE_VERBS, &tuner);
  EXPECT_EQ(Code::System, other.code());
  EXPECT_TRUE(has(other.message(), "exports none of ncclTunerPlugin_v2 to _v7; it is no tuner plug-in"))
      << other.message();
}

class TunerPluginTest : public ::testing::TestWithParam<int> {
 protected:
  std::shared_ptr<plugin::TunerPlugin> open(const PluginFolder& folder) const {
    std::shared_ptr<plugin::TunerPlugin> tuner;
    const Status opened = plugin::openTunerPlugin(folder.library(), &tuner);
    EXPECT_TRUE(opened.isOk()) << opened.message();
    return tuner;
  }
  std::shared_ptr<plugin::TunerPlugin> begin(const PluginFolder& folder) const {
    auto tuner = open(folder);
    EXPECT_TRUE(tuner->init({7, 8, 2, 3, 5}).isOk());
    return tuner;
  }
  Status ask(plugin::TunerPlugin& tuner, size_t bytes) {
    costs.fill(kIgnoredCost);
    costs[entry(kRing, kLl128)] = 20;
    costs[entry(kRing, 2)] = 10;
    return tuner.ask(kAllReduce, bytes, costs, &channels);
  }

  std::array<float, kTunerCosts> costs{};
  int channels = -1;
};

TEST_P(TunerPluginTest, IsFoundInTheNewestVersionThatItSpeaksAndToldOfTheCommunicator) {
  const PluginFolder folder(tunerOf(GetParam()), "");
  auto tuner = begin(folder);
  EXPECT_EQ(GetParam(), tuner->version());
  EXPECT_EQ("Test", tuner->name());
  const auto lines = folder.lines(".log");
  ASSERT_EQ(1u, lines.size());
  EXPECT_TRUE(has(lines[0], "init ranks=8 nodes=2")) << lines[0];
  EXPECT_EQ(GetParam() >= 5, has(lines[0], "id=7 domains=2 of 3 to 5")) << lines[0];
}

TEST_P(TunerPluginTest, ChangesOnlyTheCostsThatItSets) {
  const PluginFolder folder(tunerOf(GetParam()), "1 1 3 100 200");
  auto tuner = begin(folder);
  ASSERT_TRUE(ask(*tuner, 150).isOk());
  EXPECT_EQ(0, costs[entry(kRing, kLl128)]);
  EXPECT_EQ(10, costs[entry(kRing, 2)]);
  EXPECT_EQ(3, channels);
  EXPECT_EQ(kTunerCosts - 2, std::count(costs.begin(), costs.end(), kIgnoredCost));
  ASSERT_TRUE(ask(*tuner, 201).isOk());
  EXPECT_EQ(20, costs[entry(kRing, kLl128)]);
  EXPECT_EQ(0, channels);
}

TEST_P(TunerPluginTest, SetsTheChunkSizeSinceVersion6) {
  const PluginFolder folder(tunerOf(GetParam()), "1 1 3 0 0 4096");
  auto tuner = begin(folder);
  size_t chunk = 1000;
  ASSERT_TRUE(tuner->askChunk(kAllReduce, 150, kRing, kLl128, 3, &chunk).isOk());
  EXPECT_EQ(GetParam() >= 6 ? 4096u : 1000u, chunk);
}

TEST_P(TunerPluginTest, FailuresNameThePluginTheFunctionAndWhatItReturned) {
  const PluginFolder refusing(tunerOf(GetParam()), "init");
  auto refuses = open(refusing);
  const Status refused = refuses->init({});
  EXPECT_TRUE(has(refused.message(), "tuner plug-in Test (" + refusing.library() + ", version " +
                                         std::to_string(GetParam()) + "): init returned 2 (system error)"))
      << refused.message();
  const PluginFolder failing(tunerOf(GetParam()), "fails");
  auto fails = begin(failing);
  const Status failed = ask(*fails, 1);
  EXPECT_TRUE(has(failed.message(), "getCollInfo returned 3 (internal error)")) << failed.message();
}

TEST_P(TunerPluginTest, IsFinalizedOnceAndOnlyIfItWasInitialised) {
  const PluginFolder folder(tunerOf(GetParam()), "");
  auto tuner = begin(folder);
  tuner->finalize();
  tuner->finalize();
  EXPECT_EQ(1, test::count(folder.lines(".log"), "finalize"));
  const PluginFolder refusing(tunerOf(GetParam()), "init");
  auto refuses = open(refusing);
  EXPECT_FALSE(refuses->init({}).isOk());
  refuses->finalize();
  EXPECT_EQ(0, test::count(refusing.lines(".log"), "finalize"));
}

TEST_P(TunerPluginTest, IsFoundInTheLibraryOfANetworkAsWell) {
  std::shared_ptr<plugin::TunerPlugin> tuner;
  ASSERT_TRUE(plugin::openTunerPluginOfNetwork(tunerOf(GetParam()), &tuner).isOk());
  EXPECT_EQ(GetParam(), tuner->version());
}

INSTANTIATE_TEST_SUITE_P(Versions, TunerPluginTest, ::testing::Range(plugin::kOldestTuner, plugin::kNewestTuner + 1));

TEST(TunerPluginOfVersion2, AnUnknownAlgorithmIsRefused) {
  const PluginFolder folder(JCCL_TEST_TUNER_V2, "unknown");
  std::shared_ptr<plugin::TunerPlugin> tuner;
  ASSERT_TRUE(plugin::openTunerPlugin(folder.library(), &tuner).isOk());
  ASSERT_TRUE(tuner->init({}).isOk());
  std::array<float, kTunerCosts> costs{};
  int channels = 0;
  const Status asked = tuner->ask(kAllReduce, 1, costs, &channels);
  EXPECT_EQ(Code::Invalid, asked.code());
  EXPECT_TRUE(has(asked.message(), "algorithm=99 protocol=2, expected 0 to 6 and 0 to 2")) << asked.message();
}

}  // namespace
}  // namespace jccl::tuner_plugin_test
