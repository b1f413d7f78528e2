// Tests of profiler plug-ins, with a test plug-in for each version of the interface.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "profiler/profiler_library.h"
#include "test/plugin_folder.h"

namespace jccl::profiler_plugin_test {
namespace {

using plugin::ProfiledOperation;
using plugin::ProfilerPlugin;
using test::has;
using test::PluginFolder;

constexpr std::array<const char*, 7> kProfilers = {JCCL_TEST_PROFILER_V1, JCCL_TEST_PROFILER_V2, JCCL_TEST_PROFILER_V3,
                                                   JCCL_TEST_PROFILER_V4, JCCL_TEST_PROFILER_V5, JCCL_TEST_PROFILER_V6,
                                                   JCCL_TEST_PROFILER_V7};

const char* profilerOf(int version) { return kProfilers[static_cast<size_t>(version - plugin::kOldestProfiler)]; }

// Sizes and offsets as in NCCL's headers on 64-bit machines.
TEST(ProfilerInterface, HasTheLayoutsOfNccl) {
  using namespace plugin;
  EXPECT_EQ(120u, sizeof(ProfilerDescriptor<1>));
  EXPECT_EQ(128u, sizeof(ProfilerDescriptor<2>));
  EXPECT_EQ(120u, sizeof(ProfilerDescriptor<3>));
  EXPECT_EQ(104u, sizeof(ProfilerDescriptor<4>));
  EXPECT_EQ(112u, sizeof(ProfilerDescriptor<5>));
  EXPECT_EQ(112u, sizeof(ProfilerDescriptor<6>));
  EXPECT_EQ(136u, sizeof(ProfilerDescriptor<7>));
  EXPECT_EQ(88u, offsetof(ProfilerDescriptorV1::Coll, nvls));
  EXPECT_EQ(80u, offsetof(ProfilerDescriptorV2::Coll, channels));
  EXPECT_EQ(72u, offsetof(ProfilerDescriptorV3::Coll, channels));
  EXPECT_EQ(56u, offsetof(ProfilerDescriptorV4::Coll, channels));
  EXPECT_EQ(36u, offsetof(ProfilerDescriptorV4::P2p, channels));
  EXPECT_EQ(80u, offsetof(ProfiledColl, parentGroup));
  EXPECT_EQ(88u, offsetof(ProfiledCollV7, kernelVariant));
  EXPECT_EQ(104u, offsetof(ProfiledCollV7, tag));
  EXPECT_EQ(48u, offsetof(ProfiledP2pV7, tag));
  EXPECT_EQ(48u, offsetof(ProfiledCollApiV7, tag));
  EXPECT_EQ(40u, offsetof(ProfiledP2pApiV7, tag));
  EXPECT_EQ(24u, offsetof(ProfilerDescriptorV1, coll));
  EXPECT_EQ(24u, offsetof(ProfilerDescriptorV7, coll));
  EXPECT_EQ(8u * 6, sizeof(ProfilerTable<7>));
}

TEST(ProfilerLibrary, SaysWhatIsMissing) {
  std::shared_ptr<ProfilerPlugin> profiler;
  const Status none = plugin::openProfilerPlugin("no-such", &profiler);
  EXPECT_EQ(Code::System, none.code());
  EXPECT_TRUE(has(none.message(), "libnccl-profiler-no-such.so")) << none.message();
  const Status other = plugin::openProfilerPlugin(JCCL_FAKE_VERBS, &profiler);
  EXPECT_TRUE(has(other.message(), "exports none of ncclProfiler_v1 to _v7; it is no profiler plug-in"))
      << other.message();
}

ProfiledOperation allReduce() {
  ProfiledOperation one;
  one.function = "AllReduce";
  one.functionNumber = 4;
  one.type = "ncclFloat32";
  one.typeNumber = 7;
  one.algorithm = "RING";
  one.algorithmNumber = 1;
  one.protocol = "SIMPLE";
  one.protocolNumber = 2;
  one.channels = 3;
  one.sequence = 41;
  one.count = 1000;
  one.bytes = 4000;
  return one;
}

ProfiledOperation send(int peer) {
  ProfiledOperation one = allReduce();
  one.isTransfer = true;
  one.function = "Send";
  one.functionNumber = 6;
  one.root = peer;
  return one;
}

class ProfilerPluginTest : public ::testing::TestWithParam<int> {
 protected:
  static std::shared_ptr<ProfilerPlugin> open(const PluginFolder& folder) {
    std::shared_ptr<ProfilerPlugin> profiler;
    const Status opened = plugin::openProfilerPlugin(folder.library(), &profiler);
    EXPECT_TRUE(opened.isOk()) << opened.message();
    return profiler;
  }
  static std::shared_ptr<ProfilerPlugin> begin(const PluginFolder& folder) {
    auto profiler = open(folder);
    EXPECT_TRUE(profiler->init({7, "comm", 2, 8, 5}).isOk());
    return profiler;
  }
  static std::vector<std::string> lines(const PluginFolder& folder) {
    return folder.lines("." + std::to_string(::getpid()) + ".events");
  }
  static bool callsHaveEvents() { return GetParam() >= 5; }
  // Returns the text by which an event identifies the communicator; empty since version 4, where init identifies it.
  static std::string communicator() { return GetParam() <= 3 ? " communicator=comm id=7" : ""; }
};

TEST_P(ProfilerPluginTest, IsFoundInTheNewestVersionThatItSpeaksAndToldOfTheCommunicator) {
  const PluginFolder folder(profilerOf(GetParam()), "");
  auto profiler = begin(folder);
  EXPECT_EQ(GetParam(), profiler->version());
  EXPECT_EQ(0x7fff, profiler->mask());
  const std::string first = lines(folder).at(0);
  EXPECT_EQ(GetParam() >= 4, has(first, "init rank=5 communicator=comm id=7 hosts=2 ranks=8")) << first;
}

TEST_P(ProfilerPluginTest, ACollectiveHasAnEventInAGroup) {
  const PluginFolder folder(profilerOf(GetParam()), "");
  auto profiler = begin(folder);
  const ProfiledOperation one = allReduce();
  ProfilerPlugin::Events* events = profiler->start({&one, 1});
  ASSERT_NE(nullptr, events);
  EXPECT_EQ(callsHaveEvents() ? 2 : 0, test::count(lines(folder), "stop"));  // the call's own events have ended
  profiler->stop(events);
  const auto found = lines(folder);
  size_t at = 1;
  std::string call = "-";
  if (callsHaveEvents()) {
    EXPECT_TRUE(has(found.at(1), "parent=- group_api depth=0")) << found.at(1);
    EXPECT_TRUE(has(found.at(2), " 23")) << found.at(2);
    EXPECT_TRUE(has(found.at(3), "coll_api func=AllReduce count=1000")) << found.at(3);
    call = found.at(3).substr(6, found.at(3).find(' ', 6) - 6);
    EXPECT_EQ("stop " + call, found.at(4));
    EXPECT_TRUE(has(found.at(5), " 24")) << found.at(5);
    at = 6;
  }
  EXPECT_TRUE(has(found.at(at), "rank=5 parent=- group")) << found.at(at);
  const std::string group = found.at(at).substr(6, found.at(at).find(' ', 6) - 6);
  const bool numbers = GetParam() == 1;
  EXPECT_TRUE(has(found.at(at + 1), "rank=5 parent=" + (callsHaveEvents() ? call : group) +
                                        " coll func=" + (numbers ? "4" : "AllReduce") + " seq=41 count=1000 type=" +
                                        (numbers ? "7" : "ncclFloat32") + " root=0 algo=" + (numbers ? "1" : "RING") +
                                        " proto=" + (numbers ? "2" : "SIMPLE") + " channels=3" +
                                        (callsHaveEvents() ? " group=" + group : "") + communicator()))
      << found.at(at + 1);
  const std::string coll = found.at(at + 1).substr(6, found.at(at + 1).find(' ', 6) - 6);
  EXPECT_EQ("stop " + group, found.back());
  EXPECT_EQ("stop " + coll, found.at(found.size() - 2));
  EXPECT_EQ(test::count(found, "start"), test::count(found, "stop"));
}

TEST_P(ProfilerPluginTest, AGroupHasAnEventForEachMember) {
  const PluginFolder folder(profilerOf(GetParam()), "");
  auto profiler = begin(folder);
  const std::vector<ProfiledOperation> members = {allReduce(), send(1), send(2)};
  profiler->stop(profiler->start(members));
  const auto found = lines(folder);
  long colls = 0;
  long sends = 0;
  for (const std::string& line : found) {
    colls += has(line, " coll func=") ? 1 : 0;
    sends += has(line, " p2p func=") && has(line, "count=1000") && (has(line, "peer=1") || has(line, "peer=2")) ? 1 : 0;
  }
  EXPECT_EQ(1, colls);
  EXPECT_EQ(2, sends);
  EXPECT_EQ(test::count(found, "start"), test::count(found, "stop"));
  EXPECT_EQ(callsHaveEvents() ? 8 : 4, test::count(found, "start"));
}

TEST_P(ProfilerPluginTest, GetsNothingThatItDoesNotAskFor) {
  const PluginFolder none(profilerOf(GetParam()), "0");
  auto asksForNone = begin(none);
  const ProfiledOperation one = allReduce();
  EXPECT_EQ(nullptr, asksForNone->start({&one, 1}));
  // Asks only for point-to-point events: then a collective has no event, and neither has its group.
  const PluginFolder p2p(profilerOf(GetParam()), std::to_string(plugin::kProfileP2p));
  auto asksForP2p = begin(p2p);
  asksForP2p->stop(asksForP2p->start({&one, 1}));
  const ProfiledOperation other = send(1);
  asksForP2p->stop(asksForP2p->start({&other, 1}));
  for (const std::string& line : lines(p2p)) EXPECT_FALSE(has(line, "coll")) << line;
  EXPECT_EQ(1, test::count(lines(none), ""));
}

TEST_P(ProfilerPluginTest, FinalizeStopsUnfinishedEvents) {
  const PluginFolder folder(profilerOf(GetParam()), "");
  auto profiler = begin(folder);
  const ProfiledOperation one = allReduce();
  ASSERT_NE(nullptr, profiler->start({&one, 1}));
  profiler->finalize();
  const auto found = lines(folder);
  EXPECT_EQ(test::count(found, "start"), test::count(found, "stop"));
  EXPECT_EQ(1, test::count(found, "finalize"));
  EXPECT_EQ(0u, found.back().rfind("finalize", 0)) << found.back();
}

TEST_P(ProfilerPluginTest, FailuresChangeNothing) {
  const PluginFolder refusing(profilerOf(GetParam()), "init");
  auto refuses = open(refusing);
  const Status refused = refuses->init({});
  EXPECT_TRUE(has(refused.message(), "profiler plug-in Test (" + refusing.library() + ", version " +
                                         std::to_string(GetParam()) + "): init returned 2 (system error)"))
      << refused.message();
  const PluginFolder failing(profilerOf(GetParam()), "fails");
  auto fails = begin(failing);
  const ProfiledOperation one = allReduce();
  fails->stop(fails->start({&one, 1}));
  fails->finalize();
  EXPECT_EQ(0, test::count(lines(failing), "stop"));
}

TEST_P(ProfilerPluginTest, ManyThreadsHaveEventsAtOnce) {
  const PluginFolder folder(profilerOf(GetParam()), "");
  auto profiler = begin(folder);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const ProfiledOperation one = allReduce();
      for (int round = 0; round < 50; ++round) profiler->stop(profiler->start({&one, 1}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  profiler->finalize();
  const auto found = lines(folder);
  EXPECT_EQ(200 * (callsHaveEvents() ? 4 : 2), test::count(found, "start"));
  EXPECT_EQ(test::count(found, "start"), test::count(found, "stop"));
}

INSTANTIATE_TEST_SUITE_P(Versions, ProfilerPluginTest,
                         ::testing::Range(plugin::kOldestProfiler, plugin::kNewestProfiler + 1));

}  // namespace
}  // namespace jccl::profiler_plugin_test
