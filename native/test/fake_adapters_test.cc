// Tests of the adapters that the verbs network opens and uses, with fake adapters (verbs/fake_verbs.cc).
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/log.h"
#include "test/net_pair.h"
#include "transport/net_ib.h"

namespace jccl::test::fake_adapters_test {
namespace {

// Ranks 0 and 1 on hosts with equal adapters. Keeps log records of all levels.
class FakeAdapters : public ::testing::Test {
 protected:
  void SetUp() override {
    setLogLevel(LogLevel::Debug);
    logged();
    for (const size_t rank : {0, 1}) {
      ASSERT_TRUE(control_[rank].open().isOk() && data_[rank].open().isOk());
      configs_[rank] = configOf(static_cast<int>(rank), 2);
      configs_[rank].channels = 4;
      configs_[rank].ib.adapter.library = std::string(JCCL_FAKE_VERBS);
      ASSERT_TRUE(NetDeviceNumbers::parse("0 fake0\n0 fake0:1\n0 ib0\n1 fake0:2\n2 fake1:1\n3 fake2:1\n",
                                          &configs_[rank].devices)
                      .isOk());
    }
  }
  void TearDown() override { setLogLevel(LogLevel::Info); }

  void openBoth() {
    for (const size_t rank : {0, 1}) {
      const Status opened = IbNet::open(configs_[rank], control_[rank], data_[rank], &nets_[rank]);
      ASSERT_TRUE(opened.isOk()) << opened.message();
      ASSERT_TRUE(nets_[rank]->listen({"127.0.0.1"}, &listeners_[rank]).isOk());
    }
    opening_ = logged();
  }

  // Connects rank 0 to rank 1, and returns what this logs.
  std::string connect(int channel) {
    std::unique_ptr<NetSendConnection> connection;
    EXPECT_TRUE(nets_[0]->connect({{}, 0, 1, channel}, listeners_[1]->info(), &connection).isOk());
    return logged();
  }

  static std::string logged() {
    std::string text;
    for (LogRecord record; takeLogRecord(&record);) {
      text += std::to_string(static_cast<int>(record.level)) + " " + record.text + "\n";
    }
    return text;
  }

  std::array<EventSet, 2> control_;
  std::array<EventSet, 2> data_;
  std::array<NetConfig, 2> configs_;
  std::array<std::unique_ptr<Net>, 2> nets_;
  std::array<std::unique_ptr<NetListener>, 2> listeners_;
  std::string opening_;
};

void expectPart(const std::string& part, const std::string& text) {
  EXPECT_NE(std::string::npos, text.find(part)) << "no \"" << part << "\" in: " << text;
}

TEST_F(FakeAdapters, ChannelsUseTheAdaptersOfThePlan) {
  openBoth();
  nets_[0]->setPaths(NetPaths(0, {{0, 0, 1, 2, 2}, {1, 0, 1, 1, 1}, {2, 0, 0, 0, 0}}));
  EXPECT_EQ("", logged()) << "all are open";
  expectPart("channel=0 to_rank=1 adapter=fake1:1 (NET/2, because the plan's rings and trees do)", connect(0));
  expectPart("channel=1 to_rank=1 adapter=fake0:2 (NET/1, because the plan's rings and trees do)", connect(1));
  expectPart("channel=2 to_rank=1 adapter=fake0:1 (NET/0, because the channel's ring uses it)", connect(2));
}

TEST_F(FakeAdapters, WithoutAPlanChannelsAlternate) {
  openBoth();
  const char* const adapters[] = {"fake0:1", "fake0:2", "fake1:1", "fake0:1"};
  for (int channel = 0; channel < 4; ++channel) {
    expectPart(std::string("adapter=") + adapters[channel] + " (in rotation, because no plan names one)",
               connect(channel));
  }
}

TEST_F(FakeAdapters, AnAdapterThatCannotBeOpenedIsReportedAndReplacedInRotation) {
  openBoth();
  for (const char* part : {"3 ib: continues without a device", "device=fake2", "ibv_open_device", "/dev/infiniband",
                           "Permission denied"}) {
    expectPart(part, opening_);
  }
  nets_[0]->setPaths(NetPaths(0, {{0, 0, 1, 3, 3}}));
  expectPart("2 ib: NET/3 of the plan is not in use on this rank", logged());
  expectPart("adapter=fake0:1 (in rotation, because NET/3 of the plan is not among those in use)", connect(0));
}

// Two ports of a device are two adapters that share one descriptor for events.
TEST_F(FakeAdapters, AWarningNamesThePortThatGoesDown) {
  openBoth();
  ASSERT_EQ(3u, nets_[0]->devices().size());
  void* library = ::dlopen(JCCL_FAKE_VERBS, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(nullptr, library);
  const auto takeDown = reinterpret_cast<void (*)(int)>(::dlsym(library, "fake_verbs_take_down"));
  for (const char* port : {"1", "2"}) {
    takeDown(std::atoi(port));
    EXPECT_GE(control_[0].dispatch(), 1);  // more than 1 if the set also reports that new descriptors are writable
    const std::string text = logged();
    expectPart(std::string("3 device=fake0 event=10 (fake) port=fake0:") + port + ": the link is down", text);
    EXPECT_EQ(1, std::count(text.begin(), text.end(), '\n')) << text;
  }
  ::dlclose(library);
}

TEST_F(FakeAdapters, AdaptersThatSettingsExcludeAreReported) {
  for (NetConfig& config : configs_) config.ib.adapter.hca = "=fake0:2";
  openBoth();
  expectPart("2 ib: continues without a device: fake0:1 is not in JCCL_IB_HCA", opening_);
  expectPart("adapter=fake0:2", connect(0));
  expectPart("adapter=fake0:2", connect(1));
}

}  // namespace
}  // namespace jccl::test::fake_adapters_test
