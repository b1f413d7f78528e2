// Tests of CollNet: every version of the plug-in interface, and the schedules over it. The plug-in's switch is a
// process.
#include <algorithm>
#include <atomic>
#include <string>
#include <tuple>

#include "collnet/collnet_abi.h"
#include "collnet/collnet_library.h"
#include "collnet/test/coll_net_ranks.h"
#include "test/sanitized.h"

namespace jccl::test::coll_net_test {
namespace {

constexpr size_t kCounts[] = {0, 1, 7, 250, 3001, kSanitized ? 5000 : 20'000};

constexpr CollNetLimits kLimits = {kTimeoutNanos, kTimeoutNanos};
constexpr int64_t kBriefNanos = 600'000'000;  // threads of a busy host may run late

int32_t valueOf(int rank, size_t i) { return static_cast<int32_t>((rank + 1) * 1000 + i % 997); }

int32_t sumOf(int size, size_t i) {
  int32_t sum = 0;
  for (int rank = 0; rank < size; ++rank) sum += valueOf(rank, i);
  return sum;
}

Guarded filled(int rank, size_t count) {
  Guarded buffer(count * 4, count % 3 == 1 ? 1 : 0);
  for (size_t i = 0; i < count; ++i) buffer.set<int32_t>(i, valueOf(rank, i));
  return buffer;
}

Code run(Engine& communicator, OperationCode code, Choice choice, Guarded& send, Guarded& recv, size_t count,
         int64_t timeoutNanos = kTimeoutNanos) {
  const Code ended =
      communicator.run(code, choice, send.address(), recv.address(), static_cast<int64_t>(count), 0, timeoutNanos);
  EXPECT_TRUE(send.intact() && recv.intact());
  return ended;
}

// Sizes and offsets as in NCCL's headers on 64-bit machines.
TEST(CollNetInterface, HasTheLayoutsOfNccl) {
  using namespace plugin;
  EXPECT_EQ(8u * 15, sizeof(CollNetTable<6>));
  EXPECT_EQ(8u * 15, sizeof(CollNetTable<7>));
  EXPECT_EQ(8u * 19, sizeof(CollNetTable<8>));  // NCCL's table ends two functions earlier
  EXPECT_EQ(8u * 19, sizeof(CollNetTable<12>));
  EXPECT_EQ(8u * 11, sizeof(CollNetTableBegin<12>));
  const auto offset = [](const auto& table, const auto& function) {
    return reinterpret_cast<uintptr_t>(&function) - reinterpret_cast<uintptr_t>(&table);
  };
  const CollNetTable<6> six{};
  EXPECT_EQ(8u * 10, offset(six, six.iallreduce));
  EXPECT_EQ(8u * 11, offset(six, six.iflush));
  const CollNetTable<8> eight{};
  EXPECT_EQ(8u * 11, offset(eight, eight.iallgather));
  EXPECT_EQ(8u * 13, offset(eight, eight.iflush));
  const CollNetTable<12> twelve{};
  EXPECT_EQ(8u * 17, offset(twelve, twelve.makeVDevice));
  EXPECT_EQ(8u * 18, offset(twelve, twelve.finalize));
  EXPECT_EQ(24u, sizeof(CollNetPart<8>));
  EXPECT_EQ(24u, sizeof(CollNetPart<12>));
  EXPECT_EQ(4u, sizeof(CollNetPart<8>::size));
  EXPECT_EQ(8u, sizeof(CollNetPart<9>::size));
}

TEST(CollNetLibrary, SaysWhatIsMissing) {
  std::shared_ptr<plugin::CollNetPlugin> plugin;
  const Status none = plugin::openCollNetPlugin("no-such", &plugin);
  EXPECT_EQ(Code::System, none.code());
  EXPECT_NE(std::string::npos, none.message().find("libnccl-net-no-such.so")) << none.message();
  const Status other = plugin::openCollNetPlugin(JCCL_TEST_PLUGIN_V12, &plugin);
  EXPECT_EQ(Code::System, other.code());
  EXPECT_NE(std::string::npos, other.message().find("exports none of ncclCollNetPlugin_v6 to _v12")) << other.message();
}

std::string whyNotOpened(const char* fault) {
  const Fault set(fault);
  std::unique_ptr<CollNet> net;
  return CollNet::open(collNetPlugin(12), 1, kLimits, &net).message();
}

TEST(CollNetLibrary, APluginThatOffersNothingIsRefusedWithTheReason) {
  EXPECT_NE(std::string::npos, whyNotOpened("init").find("init returned 2 (system error)")) << whyNotOpened("init");
  EXPECT_NE(std::string::npos, whyNotOpened("none").find("devices=0, expected 1 to 16")) << whyNotOpened("none");
}

TEST(CollNetOffers, CommonOfferHasWhatAllRanksSupport) {
  CollNetOffer one;
  one.plugin = "A";
  one.devices = 4;
  one.gathers = true;
  one.maxBytes = 1000;
  one.speedMbps = 100;
  one.reductions.fill(0xff);
  CollNetOffer other = one;
  other.devices = 2;
  other.gathers = false;
  other.maxBytes = 500;
  other.reductions[static_cast<size_t>(DataType::Float16)] = 1;
  CollNetOffer common;
  ASSERT_TRUE(CollNetOffer::common(std::vector{one.encode(), other.encode()}, &common).isOk());
  EXPECT_EQ(2, common.devices);
  EXPECT_FALSE(common.gathers);
  EXPECT_EQ(500u, common.maxBytes);
  EXPECT_TRUE(common.reduces(DataType::Float16, ReduceOp::Sum));
  EXPECT_FALSE(common.reduces(DataType::Float16, ReduceOp::Max));
  other.plugin = "B";
  const Status differ = CollNetOffer::common(std::vector{one.encode(), other.encode()}, &common);
  EXPECT_NE(std::string::npos, differ.message().find("rank=1 uses plug-in \"B\" and rank=0 \"A\"")) << differ.message();
  const Status bad = CollNetOffer::common(std::vector{one.encode(), std::vector<uint8_t>(3)}, &common);
  EXPECT_NE(std::string::npos, bad.message().find("rank=1 collnet: bytes=3 are no offer")) << bad.message();
}

void allReduces(CollNetRanks& net, const Choice& choice) {
  net.ranks.run([&](Engine& communicator) {
    for (const size_t count : kCounts) {
      for (const bool inPlace : {false, true}) {
        Guarded send = filled(communicator.rank(), count);
        Guarded recv(count * 4);
        Guarded& into = inPlace ? send : recv;
        ASSERT_EQ(Code::Ok,
                  run(communicator, {Collective::AllReduce, DataType::Int32, ReduceOp::Sum}, choice, send, into, count))
            << communicator.lastError();
        ASSERT_EQ(choice.algorithm, communicator.lastChoice().algorithm);
        for (size_t i = 0; i < count; ++i) ASSERT_EQ(sumOf(communicator.size(), i), into.get<int32_t>(i));
      }
    }
  });
}

class CollNetVersions : public ::testing::TestWithParam<int> {
 protected:
  SwitchProcess switch_;
};

TEST_P(CollNetVersions, ReduceInTheNetwork) {
  CollNetRanks net({0, 0, 1, 1}, 1, collNetPlugin(GetParam()));
  EXPECT_EQ("TestSwitch", net.common.plugin);
  EXPECT_EQ(GetParam() >= 8, net.common.gathers);
  EXPECT_TRUE(net.common.reduces(DataType::Bfloat16, ReduceOp::Avg));
  EXPECT_FALSE(net.common.reduces(DataType::Int32, ReduceOp::Xor));
  allReduces(net, choiceOf(Algorithm::CollNetDirect, Protocol::Simple, 1, 3000));
}

INSTANTIATE_TEST_SUITE_P(All, CollNetVersions, ::testing::Range(plugin::kOldestVersion, plugin::kNewestVersion + 1),
                         [](const auto& info) { return "V" + std::to_string(info.param); });

using Parameter = std::tuple<std::vector<int>, Protocol, int>;

class CollNetMatrix : public ::testing::TestWithParam<Parameter> {
 protected:
  static const std::vector<int>& hosts() { return std::get<0>(GetParam()); }
  static int groups() { return std::get<2>(GetParam()); }
  static size_t size() { return hosts().size(); }
  static Choice choice(Algorithm algorithm) { return choiceOf(algorithm, std::get<1>(GetParam()), groups(), 3000); }
  // Returns true if all hosts have equal numbers of ranks, and ranks are numbered host by host.
  static bool isEven() {
    if (!std::is_sorted(hosts().begin(), hosts().end())) return false;
    const auto first = std::count(hosts().begin(), hosts().end(), 0);
    return std::all_of(hosts().begin(), hosts().end(),
                       [&](int host) { return std::count(hosts().begin(), hosts().end(), host) == first; });
  }

  SwitchProcess switch_;
  Devices devices_{2};
};

TEST_P(CollNetMatrix, AllReduceSumsOverAllHosts) {
  CollNetRanks net(hosts(), groups(), collNetPlugin(12));
  allReduces(net, choice(Algorithm::CollNetDirect));
  allReduces(net, choice(Algorithm::CollNetChain));
}

TEST_P(CollNetMatrix, AllGatherOrdersByRank) {
  CollNetRanks net(hosts(), groups(), collNetPlugin(8));
  net.ranks.run([&](Engine& communicator) {
    for (const size_t count : kCounts) {
      for (const bool inPlace : {false, true}) {
        Guarded send = filled(communicator.rank(), count);
        Guarded recv(size() * count * 4);
        uint8_t* own = recv.data() + static_cast<size_t>(communicator.rank()) * count * 4;
        if (inPlace) std::copy_n(send.data(), count * 4, own);
        const auto from = inPlace ? reinterpret_cast<uint64_t>(own) : send.address();
        ASSERT_EQ(Code::Ok, communicator.run({Collective::AllGather, DataType::Int32, ReduceOp::Sum},
                                             choice(Algorithm::CollNetDirect), from, recv.address(),
                                             static_cast<int64_t>(count), 0, kTimeoutNanos))
            << communicator.lastError();
        ASSERT_TRUE(recv.intact());
        ASSERT_EQ(isEven() ? Algorithm::CollNetDirect : Algorithm::Ring, communicator.lastChoice().algorithm);
        for (size_t i = 0; i < size() * count; ++i) {
          ASSERT_EQ(valueOf(static_cast<int>(i / count), i % count), recv.get<int32_t>(i));
        }
      }
    }
  });
}

TEST_P(CollNetMatrix, ReduceScatterGivesEachRankItsPartOfTheSum) {
  CollNetRanks net(hosts(), groups(), collNetPlugin(12));
  net.ranks.run([&](Engine& communicator) {
    for (const size_t count : kCounts) {
      for (const bool inPlace : {false, true}) {
        Guarded send = filled(communicator.rank(), size() * count);
        Guarded recv(count * 4);
        const size_t begin = static_cast<size_t>(communicator.rank()) * count;
        uint8_t* into = inPlace ? send.data() + begin * 4 : recv.data();
        ASSERT_EQ(Code::Ok,
                  communicator.run({Collective::ReduceScatter, DataType::Int32, ReduceOp::Sum},
                                   choice(Algorithm::CollNetDirect), send.address(), reinterpret_cast<uint64_t>(into),
                                   static_cast<int64_t>(count), 0, kTimeoutNanos))
            << communicator.lastError();
        ASSERT_TRUE(send.intact() && recv.intact());
        ASSERT_EQ(isEven() ? Algorithm::CollNetDirect : Algorithm::Ring, communicator.lastChoice().algorithm);
        for (size_t i = 0; i < count; ++i) {
          const int32_t found = inPlace ? send.get<int32_t>(begin + i) : recv.get<int32_t>(i);
          ASSERT_EQ(sumOf(communicator.size(), begin + i), found);
        }
      }
    }
  });
}

std::string nameOfCase(const ::testing::TestParamInfo<Parameter>& info) {
  const auto& [hosts, protocol, groups] = info.param;
  std::string name = "hosts";
  for (const int host : hosts) name += std::to_string(host);
  return name + "_" + nameOf(protocol) + "_" + std::to_string(groups);
}

INSTANTIATE_TEST_SUITE_P(Cases, CollNetMatrix,
                         ::testing::Combine(::testing::Values(std::vector<int>{0, 1}, std::vector<int>{0, 0, 1, 1},
                                                              std::vector<int>{0, 0, 0, 1, 1, 1},
                                                              std::vector<int>{0, 1, 0, 1, 2},
                                                              std::vector<int>{0, 0, 0, 1, 2, 2, 1}),
                                            ::testing::Values(Protocol::LL, Protocol::LL128, Protocol::Simple),
                                            ::testing::Values(1, 2)),
                         nameOfCase);

// Returns the number 2 if `two`, otherwise 1, as bits of the type. Sums and products of these numbers over four ranks
// are exact in every type.
uint64_t bitsOf(DataType type, bool two) {
  switch (type) {
    case DataType::Float16:
      return two ? 0x4000 : 0x3c00;
    case DataType::Bfloat16:
      return two ? 0x4000 : 0x3f80;
    case DataType::Float32:
      return two ? 0x40000000 : 0x3f800000;
    case DataType::Float64:
      return two ? 0x4000000000000000 : 0x3ff0000000000000;
    case DataType::Float8E4m3:
      return two ? 0x40 : 0x38;
    case DataType::Float8E5m2:
      return two ? 0x40 : 0x3c;
    default:
      return two ? 2 : 1;
  }
}

class CollNet4 : public ::testing::Test {
 protected:
  static constexpr size_t kCount = 500;
  SwitchProcess switch_;
};

TEST_F(CollNet4, EveryTypeAndReductionGivesWhatARingGives) {
  CollNetRanks net({0, 0, 1, 1}, 1, collNetPlugin(12));
  net.ranks.run([&](Engine& communicator) {
    for (int t = 0; t < kDataTypeCount; ++t) {
      for (int o = 0; o < kReduceOpCount; ++o) {
        const auto type = static_cast<DataType>(t);
        const auto op = static_cast<ReduceOp>(o);
        if (!supports(op, type)) continue;
        const size_t bytes = sizeOf(type);
        Guarded send(kCount * bytes);
        for (size_t i = 0; i < kCount; ++i) {
          const uint64_t value = bitsOf(type, (i + static_cast<size_t>(communicator.rank())) % 3 == 0);
          std::memcpy(send.data() + i * bytes, &value, bytes);
        }
        Guarded byRing(kCount * bytes);
        const OperationCode code{Collective::AllReduce, type, op};
        ASSERT_EQ(Code::Ok, run(communicator, code, choiceOf(Algorithm::Ring, Protocol::Simple), send, byRing, kCount));
        for (const Algorithm algorithm : {Algorithm::CollNetDirect, Algorithm::CollNetChain}) {
          Guarded recv(kCount * bytes);
          ASSERT_EQ(Code::Ok, run(communicator, code, choiceOf(algorithm, Protocol::LL), send, recv, kCount))
              << communicator.lastError();
          const bool known = !isBitwise(op) && type != DataType::Int16 && type != DataType::Uint16;
          ASSERT_EQ(known ? algorithm : Algorithm::Ring, communicator.lastChoice().algorithm);
          ASSERT_EQ(0, std::memcmp(byRing.data(), recv.data(), kCount * bytes)) << nameOf(type) << " " << nameOf(op);
        }
      }
    }
  });
}

TEST_F(CollNet4, OperationsThatTheNetworkDoesNotReduceUseARing) {
  const Fault sums("sums");
  CollNetRanks net({0, 0, 1, 1}, 1, collNetPlugin(12));
  net.ranks.run([&](Engine& communicator) {
    const auto used = [&](Collective collective, DataType type, ReduceOp op) {
      Guarded send(64 * 8), recv(64 * 8);
      EXPECT_EQ(Code::Ok, run(communicator, {collective, type, op}, choiceOf(Algorithm::CollNetDirect, Protocol::LL),
                              send, recv, 16));
      return communicator.lastChoice().algorithm;
    };
    EXPECT_EQ(Algorithm::CollNetDirect, used(Collective::AllReduce, DataType::Float32, ReduceOp::Sum));
    EXPECT_EQ(Algorithm::CollNetDirect, used(Collective::AllReduce, DataType::Float32, ReduceOp::Avg));
    EXPECT_EQ(Algorithm::CollNetDirect, used(Collective::AllGather, DataType::Int8, ReduceOp::Sum));
    EXPECT_EQ(Algorithm::Ring, used(Collective::AllReduce, DataType::Float32, ReduceOp::Max));
    EXPECT_EQ(Algorithm::Ring, used(Collective::ReduceScatter, DataType::Float64, ReduceOp::Sum));
    EXPECT_EQ(Algorithm::Ring, used(Collective::Broadcast, DataType::Float32, ReduceOp::Sum));
  });
}

TEST_F(CollNet4, OldVersionsGatherByRings) {
  CollNetRanks net({0, 0, 1, 1}, 1, collNetPlugin(7));
  net.ranks.run([&](Engine& communicator) {
    Guarded send(64), recv(64 * 4);
    ASSERT_EQ(Code::Ok, run(communicator, {Collective::AllGather, DataType::Int32, ReduceOp::Sum},
                            choiceOf(Algorithm::CollNetDirect, Protocol::LL), send, recv, 16));
    EXPECT_EQ(Algorithm::Ring, communicator.lastChoice().algorithm);
  });
}

TEST_F(CollNet4, OperationsUseTheRingOnceTheSchedulesAreDropped) {
  CollNetRanks net({0, 0, 1, 1}, 1, collNetPlugin(12));
  const auto used = [&] {
    std::atomic<int> rings{0};
    net.ranks.run([&](Engine& communicator) {
      Guarded send(64), recv(64);
      ASSERT_EQ(Code::Ok, run(communicator, {Collective::AllReduce, DataType::Int32, ReduceOp::Sum},
                              choiceOf(Algorithm::CollNetDirect, Protocol::LL), send, recv, 16));
      rings += communicator.lastChoice().algorithm == Algorithm::Ring ? 1 : 0;
    });
    return rings.load();
  };
  EXPECT_EQ(0, used());
  net.ranks.run([](Engine& communicator) { communicator.dropSchedules(); });
  EXPECT_EQ(4, used());
}

TEST_F(CollNet4, LateAnswersCostTimeOnly) {
  const Fault late("late");
  CollNetRanks net({0, 0, 1, 1}, 1, collNetPlugin(12));
  allReduces(net, choiceOf(Algorithm::CollNetDirect, Protocol::Simple, 1, 500));
}

// Runs all-reduces until one fails. Returns the code and the text of each rank's failure.
std::vector<std::pair<Code, std::string>> failures(CollNetRanks& net, int64_t timeoutNanos,
                                                   const std::function<void(int round)>& each = {}) {
  std::vector<std::pair<Code, std::string>> ends(4);
  std::atomic<bool> over{false};
  net.ranks.run([&](Engine& communicator) {
    const int rank = communicator.rank();
    Guarded buffer(4000);
    Code code = Code::Ok;
    for (int round = 0; code == Code::Ok && round < 1'000'000; ++round) {
      if (rank == 0 && each) each(round);
      code = run(communicator, {Collective::AllReduce, DataType::Float32, ReduceOp::Sum},
                 choiceOf(Algorithm::CollNetDirect, Protocol::LL), buffer, buffer, 1000, timeoutNanos);
    }
    ends[static_cast<size_t>(rank)] = {code, communicator.lastError()};
    // Aborts all ranks, as an agreed failure does.
    if (!over.exchange(true)) {
      for (int peer = 0; peer < 4; ++peer) net.ranks[peer].abort(Code::Aborted);
    }
  });
  return ends;
}

TEST_F(CollNet4, AnOperationThatThePluginRefusesEndsInATransportError) {
  const Fault fails("fails");
  CollNetRanks net({0, 0, 1, 1}, 1, collNetPlugin(12));
  const auto ends = failures(net, kTimeoutNanos);
  EXPECT_TRUE(ends[0].first == Code::Transport || ends[2].first == Code::Transport);
  for (const auto& [code, text] : ends) EXPECT_TRUE(code == Code::Transport || code == Code::Aborted) << text;
  const std::string why = net.nets[0]->error().message() + net.nets[2]->error().message();
  EXPECT_NE(std::string::npos, why.find("iallreduce returned 3 (internal error); see what it logged")) << why;
}

TEST_F(CollNet4, AnOperationThatThePluginFailsEndsInATransportError) {
  const Fault error("error");
  CollNetRanks net({0, 0, 1, 1}, 1, collNetPlugin(12));
  const auto ends = failures(net, kTimeoutNanos);
  const std::string why = net.nets[0]->error().message() + net.nets[2]->error().message();
  EXPECT_NE(std::string::npos, why.find("test returned 6 (remote error)")) << why;
  const std::string text = ends[0].second + ends[2].second;
  EXPECT_NE(std::string::npos, text.find("waitsFor=collnet")) << text;
}

TEST_F(CollNet4, AnOperationThatNeverEndsTimesOut) {
  const Fault stuck("stuck");
  CollNetRanks net({0, 0, 1, 1}, 1, collNetPlugin(12));
  const auto ends = failures(net, 300'000'000);
  EXPECT_TRUE(std::any_of(ends.begin(), ends.end(), [](const auto& one) { return one.first == Code::Timeout; }));
  for (const auto& [code, text] : ends) EXPECT_TRUE(code == Code::Timeout || code == Code::Aborted) << text;
}

TEST_F(CollNet4, AnAbortEndsAnOperation) {
  const Fault stuck("stuck");
  CollNetRanks net({0, 0, 1, 1}, 1, collNetPlugin(12));
  std::thread other([&] {
    ::usleep(200'000);
    for (int rank = 0; rank < 4; ++rank) net.ranks[rank].abort(Code::Aborted);
  });
  const auto ends = failures(net, 0);
  other.join();
  for (const auto& [code, text] : ends) EXPECT_EQ(Code::Aborted, code) << text;
}

TEST_F(CollNet4, AKilledSwitchEndsTheOperation) {
  CollNetRanks net({0, 0, 1, 1}, 1, collNetPlugin(12));
  const auto ends = failures(net, kTimeoutNanos, [&](int round) {
    if (round == 20) switch_.kill();
  });
  for (const auto& [code, text] : ends) EXPECT_TRUE(code == Code::Transport || code == Code::Aborted) << text;
}

// Both operations are sums for the network, so only the leaders' own messages reveal that they differ.
TEST_F(CollNet4, HostsInDifferentOperationsAreDetected) {
  CollNetRanks net({0, 0, 1, 1}, 1, collNetPlugin(12));
  std::atomic<int> mismatches{0};
  net.ranks.run([&](Engine& communicator) {
    Guarded buffer(400);
    const ReduceOp op = communicator.rank() < 2 ? ReduceOp::Sum : ReduceOp::Avg;
    const Code code = run(communicator, {Collective::AllReduce, DataType::Float32, op},
                          choiceOf(Algorithm::CollNetDirect, Protocol::LL), buffer, buffer, 100);
    if (net.leads(communicator.rank())) {
      EXPECT_EQ(Code::Mismatch, code);
      mismatches += code == Code::Mismatch ? 1 : 0;
    }
  });
  EXPECT_EQ(2, mismatches);
}

TEST_F(CollNet4, AGroupThatDoesNotConnectIsAnErrorInBoundedTime) {
  std::unique_ptr<CollNet> net;
  CollNetHandle handle{};
  {
    const Fault refuses("refuses");
    ASSERT_TRUE(CollNet::open(collNetPlugin(12), 1, kLimits, &net).isOk());
    ASSERT_TRUE(net->listen(0, &handle).isOk());
    const Status refused = net->connect(0, std::array{handle, handle}, 0, kTimeoutNanos);
    EXPECT_EQ(Code::Transport, refused.code());
    EXPECT_NE(std::string::npos, refused.message().find("connect returned 2 (system error)")) << refused.message();
    EXPECT_EQ(nullptr, net->group(0));
  }
  const Fault blocks("blocks=connect");
  const Variable length("JCCL_TEST_COLLNET_BLOCK_MS", "1000");
  ASSERT_TRUE(CollNet::open(collNetPlugin(12), 1, kLimits, &net).isOk());
  ASSERT_TRUE(net->listen(0, &handle).isOk());
  const Status late = net->connect(0, std::array{handle, handle}, 0, 100'000'000);
  EXPECT_NE(std::string::npos, late.message().find("connect has not returned for millis=100")) << late.message();
  net.reset();
}

TEST_F(CollNet4, WrongGroupsMembersAndLeadersAreRefused) {
  std::unique_ptr<CollNet> net;
  CollNetHandle handle{};
  ASSERT_TRUE(CollNet::open(collNetPlugin(12), 1, kLimits, &net).isOk());
  EXPECT_EQ(Code::Invalid, net->listen(1, &handle).code());
  EXPECT_EQ(Code::Invalid, net->connect(0, std::array{handle, handle}, 0, kTimeoutNanos).code());
  ASSERT_TRUE(net->listen(0, &handle).isOk());
  EXPECT_EQ(Code::Invalid, net->connect(0, std::array{handle, handle}, 2, kTimeoutNanos).code());
  RankThreads ranks(2);
  const auto use = [&](int rank, const std::vector<CollNetChannel::Group>& groups) {
    return CollNetRanks::use(ranks[rank], groups, {}).code();
  };
  EXPECT_EQ(Code::Invalid, use(0, {}));
  EXPECT_EQ(Code::Invalid, use(0, {{{0, 1}, nullptr}}));  // hosts are not set
  ASSERT_TRUE(ranks[0].setHosts({0, 1}).isOk());
  EXPECT_EQ(Code::Invalid, use(0, {{{0, 1}, nullptr}}));  // rank 0 leads, but has no group
  ASSERT_TRUE(ranks[1].setHosts({0, 1}).isOk());
  EXPECT_EQ(Code::Invalid, use(1, {{{1, 0}, nullptr}}));  // each leader is of the wrong host
}

// Calls that do not return. These tests leave blocked threads behind, which must not exist when another test forks.
// Tests with parameters run last, so these tests have parameters.
class BlockedCollNet : public CollNet4, public ::testing::WithParamInterface<const char*> {
 protected:
  const std::string call_ = GetParam();
  const Fault blocks_{"blocks=" + call_};
};

std::string callOf(const ::testing::TestParamInfo<const char*>& info) { return info.param; }

// The rank that executes the operation abandons the blocked thread, with the group and its memory.
class BlockedCollNetOperation : public BlockedCollNet {};

TEST_P(BlockedCollNetOperation, EndsInTime) {
  const int64_t start = monotonicNanos();
  CollNetRanks net({0, 0, 1, 1}, 1, collNetPlugin(12), {}, {kTimeoutNanos, kBriefNanos});
  const auto ends = failures(net, 0);
  EXPECT_LT(monotonicNanos() - start, kTimeoutNanos);
  EXPECT_TRUE(ends[0].first == Code::Transport || ends[2].first == Code::Transport);
  for (const auto& [code, text] : ends) EXPECT_TRUE(code == Code::Transport || code == Code::Aborted) << text;
  const std::string why = net.nets[0]->error().message() + net.nets[2]->error().message();
  EXPECT_NE(std::string::npos, why.find(": " + call_ + " has not returned for ")) << why;
}

INSTANTIATE_TEST_SUITE_P(Faults, BlockedCollNetOperation, ::testing::Values("regMr", "iallreduce", "test"), callOf);

class BlockedCollNetInit : public BlockedCollNet {};

TEST_P(BlockedCollNetInit, EndsInTime) {
  std::unique_ptr<CollNet> net;
  CollNetHandle handle{};
  Status made = CollNet::open(collNetPlugin(12), 1, {kBriefNanos, kTimeoutNanos}, &net);
  if (made) made = net->listen(0, &handle);
  EXPECT_NE(std::string::npos, made.message().find(" has not returned for millis=600")) << made.message();
}

INSTANTIATE_TEST_SUITE_P(Faults, BlockedCollNetInit, ::testing::Values("init", "devices", "listen"), callOf);

}  // namespace
}  // namespace jccl::test::coll_net_test
