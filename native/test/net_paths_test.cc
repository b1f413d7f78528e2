// Tests of the network devices that connections use, with invented plans and hosts.
#include "transport/net_paths.h"

#include <gtest/gtest.h>

namespace jccl::net_paths_test {
namespace {

constexpr int kUnknown = NetDeviceNumbers::kUnknown;

TEST(NetDeviceNumbers, AreReadFromLines) {
  NetDeviceNumbers numbers;
  ASSERT_TRUE(NetDeviceNumbers::parse("0 mlx5_0:1\n0 eth0\n3 odd name\n300 eth300\n", &numbers).isOk());
  EXPECT_EQ(0, numbers.of("mlx5_0:1"));
  EXPECT_EQ(0, numbers.of("eth0"));
  EXPECT_EQ(3, numbers.of("odd name"));
  EXPECT_EQ(kUnknown, numbers.of("eth300")) << "does not fit into an address on the wire";
  EXPECT_EQ(kUnknown, numbers.of("eth1"));
  EXPECT_EQ(kUnknown, NetDeviceNumbers().of("eth0"));
}

TEST(NetDeviceNumbers, OtherLinesAreRefused) {
  for (const char* text : {"eth0", "0", "0 ", "-1 eth0", "0eth0", "0 eth0\n\n"}) {
    NetDeviceNumbers numbers;
    const Status parsed = NetDeviceNumbers::parse(text, &numbers);
    EXPECT_EQ(Code::Invalid, parsed.code()) << text;
    EXPECT_NE(std::string::npos, parsed.message().find("expected its number")) << parsed.message();
  }
}

// A plan for rank 2. The two hosts have ranks 0 to 2 and ranks 3 to 5. Rings go from rank 2 to rank 3. Channel 1 uses
// other rails than channel 0.
const std::vector<NetPath> kPlan = {{0, 2, 3, 0, 0}, {0, 3, 2, 0, 0}, {0, 2, 2, 0, 4}, {1, 2, 3, 1, 5},
                                    {1, 3, 2, 6, 2}, {1, 2, 3, 7, 7}, {1, 2, 2, 1, 2}};

void expectEnds(int local, int remote, const NetPaths::Ends& ends) {
  EXPECT_EQ(local, ends.local);
  EXPECT_EQ(remote, ends.remote);
}

TEST(NetPaths, BothEndsOfAConnectionComeFromThePlan) {
  const NetPaths paths(2, kPlan);
  expectEnds(0, 0, paths.sending(3, 0));
  expectEnds(1, 5, paths.sending(3, 1));
  expectEnds(2, 6, paths.receiving(3, 1));
  EXPECT_EQ("NET/1, because the plan's rings and trees do", reasonOf(paths.sending(3, 1), true));
}

TEST(NetPaths, OtherConnectionsUseTheDevicesOfTheChannelsRing) {
  const NetPaths paths(2, kPlan);
  expectEnds(0, 0, paths.sending(4, 0));
  expectEnds(1, 1, paths.sending(5, 1));
  expectEnds(4, 0, paths.receiving(4, 0));
  EXPECT_EQ("NET/1, because the channel's ring uses it", reasonOf(paths.sending(5, 1), true));
}

TEST(NetPaths, ReportOnceWhichDevicesOfThePlanAreNotInUse) {
  const NetPaths paths(2, kPlan);  // uses devices 0, 1, 2 and 4
  EXPECT_EQ("", missingText(paths, {4, 2, 1, 0, 9}));
  EXPECT_EQ("", missingText(NetPaths(), {}));
  EXPECT_EQ(0u, missingText(paths, {1, kUnknown, 2}).find("NET/0, NET/4 of the plan is not in use"));
}

TEST(NetPaths, WithoutAPlanDevicesAlternate) {
  expectEnds(kUnknown, kUnknown, NetPaths().sending(1, 0));
  expectEnds(kUnknown, kUnknown, NetPaths(2, kPlan).sending(3, 2));
  EXPECT_EQ("in rotation, because no plan names one", reasonOf(NetPaths().sending(1, 0), false));
}

TEST(NetPaths, ADeviceThatIsNotOpenIsReported) {
  const NetPaths paths(2, kPlan);
  EXPECT_EQ(0u, placeOf({1, 4}, paths.sending(3, 1).local));
  EXPECT_EQ(1u, placeOf({kUnknown, 1, 1}, 1));
  EXPECT_FALSE(placeOf({kUnknown, 4}, paths.sending(3, 1).local));
  EXPECT_FALSE(placeOf({kUnknown, 4}, kUnknown)) << "two unknown devices are not the same";
  EXPECT_EQ("in rotation, because NET/1 of the plan is not among those in use", reasonOf(paths.sending(3, 1), false));
}

}  // namespace
}  // namespace jccl::net_paths_test
