// Tests of the parts of verbs that need no adapter: the choice of ports and GIDs, the data that ends exchange, and
// texts.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "verbs/connection_info.h"
#include "verbs/device_filter.h"
#include "verbs/gid_choice.h"
#include "verbs/verbs_library.h"
#include "verbs/verbs_text.h"

namespace jccl::verbs::verbs_choice_test {
namespace {

bool accepts(const std::string& text, const std::string& device, int port = 1) {
  DeviceFilter filter;
  const Status parsed = DeviceFilter::parse(text, &filter);
  EXPECT_TRUE(parsed.isOk()) << parsed.message();
  return filter.accepts(device, port);
}

TEST(DeviceFilter, AcceptsWhatTheListNames) {
  EXPECT_TRUE(accepts("", "mlx5_0"));
  EXPECT_TRUE(accepts("mlx5", "mlx5_0"));
  EXPECT_FALSE(accepts("mlx5", "rxe0"));
  EXPECT_TRUE(accepts("mlx5_1", "mlx5_10"));
  EXPECT_FALSE(accepts("=mlx5_1", "mlx5_10"));
  EXPECT_TRUE(accepts("=mlx5_1", "mlx5_1", 2));
  EXPECT_TRUE(accepts("mlx5_0:1,mlx5_2", "mlx5_0", 1));
  EXPECT_FALSE(accepts("mlx5_0:1,mlx5_2", "mlx5_0", 2));
  EXPECT_TRUE(accepts("mlx5_0:1,mlx5_2", "mlx5_2", 2));
  EXPECT_FALSE(accepts("^mlx5_1", "mlx5_10"));
  EXPECT_TRUE(accepts("^=mlx5_1", "mlx5_10"));
  EXPECT_FALSE(accepts("=^mlx5_1:2", "mlx5_1", 2));
  EXPECT_TRUE(accepts("^=mlx5_1:2", "mlx5_1", 1));
}

TEST(DeviceFilter, QuotesAListThatItCannotParse) {
  for (const char* bad : {"mlx5_0:0", "mlx5_0:x", "mlx5_0:", ":1", "^", "^^a", "mlx5_0:999"}) {
    DeviceFilter filter;
    const Status parsed = DeviceFilter::parse(bad, &filter);
    EXPECT_EQ(Code::Invalid, parsed.code()) << bad;
    EXPECT_NE(std::string::npos, parsed.message().find(std::string("JCCL_IB_HCA=\"") + bad)) << parsed.message();
  }
}

GidEntry entry(int index, const char* address, int version, bool ofInterface) {
  GidEntry made;
  made.index = index;
  EXPECT_EQ(1, ::inet_pton(AF_INET6, address, made.gid.raw));
  made.roceVersion = version;
  made.isInterfaceAddress = ofInterface;
  return made;
}

// The GIDs of a RoCE port: the link-local one, then those of its addresses, each for both RoCE versions.
const std::vector<GidEntry> kTable = {
    entry(0, "fe80::1", 1, true),          entry(1, "fe80::1", 2, true),     entry(2, "::ffff:10.0.0.1", 1, true),
    entry(3, "::ffff:10.0.0.1", 2, true),  entry(4, "2001:db8::1", 1, true), entry(5, "2001:db8::1", 2, true),
    entry(6, "::ffff:10.9.9.9", 2, false),
};

TEST(GidChoice, TakesTheAddressOfTheInterfaceInThePreferredVersionAndFamily) {
  EXPECT_EQ(3, kTable[static_cast<size_t>(chooseGid(kTable, {2, false}))].index);
  EXPECT_EQ(2, kTable[static_cast<size_t>(chooseGid(kTable, {1, false}))].index);
  EXPECT_EQ(5, kTable[static_cast<size_t>(chooseGid(kTable, {2, true}))].index);
  EXPECT_EQ(4, kTable[static_cast<size_t>(chooseGid(kTable, {1, true}))].index);
}

TEST(GidChoice, FallsBackStepByStep) {
  const std::span<const GidEntry> all(kTable);
  EXPECT_EQ(1, chooseGid(all.first(2), {2, false}));       // only link-local GIDs: the RoCE version decides
  EXPECT_EQ(0, chooseGid(all.subspan(5, 1), {2, false}));  // only a GID of an IPv6 address
  EXPECT_EQ(-1, chooseGid(all.first(0), {2, false}));
}

ConnectionInfo someInfo() {
  ConnectionInfo info;
  info.linkLayer = LinkLayer::Ethernet;
  info.mtu = 5;
  info.queuePairs = 2;
  info.ringBytes = 512;
  info.qpNumbers = {17, 18};
  return info;
}

TEST(ConnectionInfo, DataThatDoesNotFitIsNamed) {
  const ConnectionInfo own = someInfo();
  EXPECT_TRUE(checkConnectionInfo(own, someInfo(), 512).isOk());
  const auto refusal = [&](auto change) {
    ConnectionInfo remote = someInfo();
    change(remote);
    const Status checked = checkConnectionInfo(own, remote, 512);
    EXPECT_EQ(Code::Transport, checked.code());
    return checked.message();
  };
  EXPECT_NE(std::string::npos, refusal([](auto& r) { r.magic = 1; }).find("magic=1"));
  EXPECT_NE(std::string::npos, refusal([](auto& r) { r.version = 9; }).find("version=9, expected 2"));
  EXPECT_NE(std::string::npos, refusal([](auto& r) { r.bytes = 3; }).find("bytes=3"));
  EXPECT_NE(std::string::npos,
            refusal([](auto& r) { r.linkLayer = LinkLayer::InfiniBand; }).find("link_layer=1, expected 2"));
  EXPECT_NE(std::string::npos, refusal([](auto& r) { r.mtu = 6; }).find("mtu=6"));
  EXPECT_NE(std::string::npos, refusal([](auto& r) { r.queuePairs = 200; }).find("qps=200, expected 2"));
  EXPECT_NE(std::string::npos, refusal([](auto& r) { r.split = 1; }).find("split=1"));
  EXPECT_NE(std::string::npos, refusal([](auto& r) { r.ringBytes = 64; }).find("ring_bytes=64"));
  EXPECT_NE(std::string::npos, refusal([](auto& r) { r.qpNumbers[1] = 1 << 24; }).find("qp=16777216"));
  EXPECT_NE(std::string::npos, refusal([](auto& r) { r.psns[1] = 1 << 24; }).find("psn=16777216, expected 16777215"));
}

TEST(ConnectionInfo, AnInfiniBandPortNeedsALid) {
  ConnectionInfo own = someInfo();
  own.linkLayer = LinkLayer::InfiniBand;
  own.lid = 3;
  ConnectionInfo remote = own;
  EXPECT_TRUE(checkConnectionInfo(own, remote, 512).isOk());
  remote.lid = 0;
  EXPECT_NE(std::string::npos, checkConnectionInfo(own, remote, 512).message().find("subnet manager"));
}

TEST(VerbsText, ACompletionIsDecodedWithBothEndsAndCauses) {
  WorkCompletion completion{};
  completion.status = kWcRetryExceeded;
  completion.vendorError = 0x81;
  const std::string text =
      completionText(completion, {"mlx5_0:1", "::ffff:10.0.0.1", 0x11}, {"mlx5_1:1", "::ffff:10.0.0.2", 0x12}, 14, 3);
  for (const char* part :
       {"RETRY_EXC_ERR (status=12 vendor_error=0x81)", "local {device=mlx5_0:1 gid=::ffff:10.0.0.1 qp=0x11}",
        "remote {device=mlx5_1:1 gid=::ffff:10.0.0.2 qp=0x12}", "4 waits of 4.096 us * 2^14", "JCCL_IB_RETRY_CNT=3",
        "a cable or port is down"}) {
    EXPECT_NE(std::string::npos, text.find(part)) << part << " in " << text;
  }
  EXPECT_EQ("status 77", statusName(77));
  EXPECT_EQ(4 * 67'108'864, retryNanos(14, 3));
  EXPECT_EQ(0, retryNanos(0, 3));
}

TEST(VerbsLibrary, ReportsInOneSentenceWhatIsMissing) {
  std::shared_ptr<const Library> library;
  const Status absent = Library::open("libno-such-thing.so.1", &library);
  EXPECT_NE(std::string::npos, absent.message().find("cannot be loaded: libno-such-thing.so.1")) << absent.message();
  EXPECT_NE(std::string::npos, absent.message().find("rdma-core"));
  const Status other = Library::open("libc.so.6", &library);
  EXPECT_NE(std::string::npos, other.message().find("is no libibverbs")) << other.message();
  EXPECT_EQ(nullptr, library);
}

}  // namespace
}  // namespace jccl::verbs::verbs_choice_test
