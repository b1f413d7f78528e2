// Tests of reading NVML reports, with a fake library that simulates the host that a file describes (nvml/fake_nvml.cc).
#include "nvml/nvml_report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace {

using jccl::nvml::kUnknown;
using jccl::nvml::packBusId;
using jccl::nvml::readReport;
using jccl::nvml::Report;
using Numbers = std::vector<std::int64_t>;

class NvmlReportTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Report play(const std::string& script, const char* library = JCCL_FAKE_NVML) {
    char name[] = "/tmp/jccl-nvml-XXXXXX";
    folder_ = mkdtemp(name);
    const std::filesystem::path copy = folder_ / "libnvml.so";
    std::filesystem::copy_file(library, copy);
    std::ofstream(copy.string() + ".txt") << script;
    return readReport(copy.string());
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(NvmlReportTest, ReportsGpusWithTheirLinksAndPeers) {
  const Report report = play(
      "gpu 00000000:07:00.0 9 0\n"
      "gpu 0000000A:0F:00.0 9 0\n"
      "mig 1 1\n"
      "link 0 0 1 2 00000000:C1:00.0\n"
      "link 0 1 0 2 00000000:C1:00.0   # down\n"
      "link 0 2 1 2 00000000:C1:00.0\n"
      "weak 0 2\n"
      "link 0 3 1 255 nonsense\n"
      "c2c 1 10 9 45000\n"
      "p2p 0 1 4\n");
  ASSERT_TRUE(report.available);
  EXPECT_EQ(report.numbers, (Numbers{2,  //
                                     0,          0x07 << 12,
                                     90,         kUnknown,
                                     0,          0,
                                     2,          2,  //
                                     0,          2,
                                     0xc1 << 12, 3,
                                     kUnknown,   kUnknown,
                                     0,          4,  //
                                     1,          0xaLL << 20 | 0x0f << 12,
                                     90,         1,
                                     9,          45000,
                                     0,          2,
                                     4,          0}));
  EXPECT_TRUE(report.remarks.empty());
}

TEST_F(NvmlReportTest, AnOldLibraryReportsLinksWithoutTheTypeOfTheirEnds) {
  const Report report = play(
      "gpu 00000000:07:00.0 7 0\n"
      "link 0 5 1 0 00000000:0A:00.0\n",
      JCCL_FAKE_NVML_OLD);
  EXPECT_EQ(report.numbers, (Numbers{1, 0, 0x07 << 12, 70, kUnknown, 0, 0, 1, 1, 5, kUnknown, 0x0a << 12, 0}));
}

TEST_F(NvmlReportTest, ALostGpuIsLeftOutAndNamed) {
  const Report report = play("gpu lost 8 0\ngpu 00000000:07:00.0 8 0\n");
  EXPECT_EQ(report.numbers, (Numbers{1, 1, 0x07 << 12, 80, kUnknown, 0, 0, 0, 1, 0}));
  ASSERT_EQ(report.remarks.size(), 1U);
  EXPECT_EQ(report.remarks[0], "gpu=0 nvmlDeviceGetHandleByIndex_v2: code=15 (GPU is lost)");
}

TEST_F(NvmlReportTest, EachFunctionMayFail) {
  for (const char* function :
       {"nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetPciInfo_v3",
        "nvmlDeviceGetCudaComputeCapability", "nvmlDeviceGetMigMode", "nvmlDeviceGetNvLinkCapability",
        "nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetP2PStatus",
        "nvmlDeviceGetNvLinkRemoteDeviceType", "nvmlDeviceGetFieldValues"}) {
    const Report report = play(
        "gpu 00000000:07:00.0 8 0\ngpu 00000000:08:00.0 8 0\n"
        "link 0 0 1 0 00000000:08:00.0\nfail " +
        std::string(function) + " 999\n");
    EXPECT_EQ(report.available, std::string(function) != "nvmlDeviceGetCount_v2") << function;
    if (report.available) {
      EXPECT_LE(report.numbers[0], 2) << function;
    }
    TearDown();
  }
}

TEST_F(NvmlReportTest, ALibraryThatDoesNotStartGivesItsReason) {
  const Report report = play("fail nvmlInit_v2 9\n");
  EXPECT_FALSE(report.available);
  ASSERT_EQ(report.remarks.size(), 1U);
  EXPECT_EQ(report.remarks[0], "nvmlInit_v2: code=9 (Driver Not Loaded)");
}

TEST_F(NvmlReportTest, MissingAndOtherLibrariesAreNotUsed) {
  const Report none = readReport("/nowhere/libnvidia-ml.so.1");
  EXPECT_FALSE(none.available);
  ASSERT_EQ(none.remarks.size(), 1U);
  EXPECT_NE(none.remarks[0].find("cannot be loaded: /nowhere/libnvidia-ml.so.1"), std::string::npos);
  const Report other = readReport("libm.so.6");
  EXPECT_FALSE(other.available);
  ASSERT_EQ(other.remarks.size(), 1U);
  EXPECT_NE(other.remarks[0].find("is no management library"), std::string::npos);
}

TEST_F(NvmlReportTest, ALibraryThatClaimsTooMuchIsNotBelieved) {
  const Report report = play("gpu 00000000:07:00.0 8 0\nclaim 4000000000\n");
  ASSERT_TRUE(report.available);
  EXPECT_EQ(report.numbers[0], 1);
  EXPECT_EQ(report.remarks[0], "count=4000000000: only the first 256 GPUs are reported");
  EXPECT_EQ(report.remarks.size(), 256U);
}

TEST(BusId, IsReadInBothWidthsAndNothingElse) {
  EXPECT_EQ(packBusId("0000:3B:00.0"), 0x3b << 12);
  EXPECT_EQ(packBusId("00000001:3b:1f.7"), 1LL << 20 | 0x3b << 12 | 0x1f << 4 | 7);
  EXPECT_EQ(packBusId("FFFFFFFF:FF:FF.F"), 0xffffffffLL << 20 | 0xff << 12 | 0xff << 4 | 0xf);
  for (const char* bad : {"", "x", "0000:3b:00", "0000:3b:00.0 ", "-000:3b:00.0", "fffffff:ffff:ff"}) {
    EXPECT_EQ(packBusId(bad), kUnknown) << bad;
  }
}

}  // namespace
