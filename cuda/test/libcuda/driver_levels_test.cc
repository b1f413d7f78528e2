// Tests how the library finds and uses drivers of several versions, from dlopen to kernels, with the libcuda.so.1 of
// the tests (exports.cc). Each run of this program tests one driver: JCCL_EMULATED_DRIVER names it, and
// JCCL_EMULATED_KERNELS the CUDA version of the kernels. The runtime, the opening of the library and the format of the
// kernel images are the real ones; the kernels run on the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cuda/driver/driver.h"
#include "cuda/kernels/image.h"
#include "cuda/kernels/registry.h"
#include "cuda/test/application.h"
#include "cuda/test/device_runtime_ranks.h"

namespace jccl::test {
namespace {

using driver::driver;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string levelOfThisProcess() { return variable("JCCL_EMULATED_DRIVER"); }
bool isTooOld() { return levelOfThisProcess() == "470"; }
int versionOfLevel() { return levelOfThisProcess() == "525" ? 12000 : levelOfThisProcess() == "550" ? 12040 : 13000; }
bool compiles() { return versionOfLevel() < device::versionOfImages() / 1000 * 1000; }
bool isTooOldForKernels() { return compiles() && !device::hasPtx(); }

// Returns the cells of this driver's row in the table of docs/versions.md.
std::vector<std::string> documented() {
  std::ifstream page(JCCL_VERSIONS_PAGE);
  for (std::string line; std::getline(page, line);) {
    std::istringstream row(line);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(row, cell, '|');) {
      const size_t begin = cell.find_first_not_of(' ');
      cells.push_back(begin == std::string::npos ? "" : cell.substr(begin, cell.find_last_not_of(' ') + 1 - begin));
    }
    if (cells.size() > 1 && cells[1] == levelOfThisProcess()) return cells;
  }
  return {};
}
enum Cell : uint8_t { kDriver = 1, kCuda, kWithout, kKernelsOf12, kKernelsOf13, kCells };

std::set<std::string> namesIn(const std::string& text) {
  std::set<std::string> names;
  for (size_t at = 0; (at = text.find('`', at)) != std::string::npos;) {
    const size_t end = text.find('`', at + 1);
    if (text.compare(at + 1, 2, "cu") == 0 || text.compare(at + 1, 3, "CU_") == 0) {
      names.insert(text.substr(at + 1, end - at - 1));
    }
    at = end + 1;
  }
  return names;
}

TEST(DriverLevel, ATooOldDriverIsRefusedByItsVersion) {
  if (!isTooOld()) GTEST_SKIP() << "this driver is new enough";
  int count = -1;
  EXPECT_EQ(device::countDevices(count).message(),
            "libcuda.so.1 is of NVIDIA's driver for CUDA 11.4 (driver 470), expected one for CUDA 12.0 (driver 525) or "
            "later: install a newer one");
  EXPECT_EQ(count, 0);
  const device::DeviceGuard guard(0);
  EXPECT_EQ(guard.status().code(), Code::System);
}

TEST(DriverLevel, MatchesItsRowOfTheDocumentation) {
  const std::vector<std::string> row = documented();
  ASSERT_GE(row.size(), size_t{kCells}) << "no row of driver " << levelOfThisProcess();
  if (isTooOld()) {
    EXPECT_EQ(row[kKernelsOf12].substr(0, 7), "refused");
    EXPECT_EQ(row[kKernelsOf13].substr(0, 7), "refused");
    return;
  }
  ASSERT_TRUE(driver().status.isOk()) << driver().status.message();
  EXPECT_EQ(driver().version, versionOfLevel());
  EXPECT_EQ("CUDA " + row[kCuda] + " (driver " + row[kDriver] + ")",
            "CUDA " + driver::describeVersion(driver().version));
  std::set<std::string> lacks;
  for (const auto& lack : driver().lacks) {
    lacks.insert(lack.name);
    EXPECT_GT(lack.version, driver().version) << lack.name;
    EXPECT_NE(row[kWithout].find(lack.without), std::string::npos) << lack.name << ": " << lack.without;
  }
  EXPECT_EQ(namesIn(row[kWithout]), lacks);
  EXPECT_EQ(row[kKernelsOf12], "yes");
  EXPECT_EQ(row[kKernelsOf13], versionOfLevel() < 13000 ? "compiled from PTX" : "yes");
}

TEST(DriverLevel, FindsAllCallsThatTheDriverDoesNotLack) {
  if (isTooOld()) GTEST_SKIP() << "this driver is refused";
  const auto lacks = [](const char* name) {
    return std::any_of(driver().lacks.begin(), driver().lacks.end(),
                       [&](const auto& lack) { return std::string(lack.name) == name; });
  };
#define JCCL_EXPECT_CALL(member, name, version, need, parameters) \
  EXPECT_EQ(driver().member == nullptr, lacks(name)) << name;
  JCCL_DRIVER_CALLS(JCCL_EXPECT_CALL)
#undef JCCL_EXPECT_CALL
}

TEST(DriverLevel, RefusesKernelsOfALaterMajorVersionWithoutPtxBeforeItTouchesADevice) {
  if (isTooOld()) GTEST_SKIP() << "this driver is refused before its kernels are checked";
  int count = 0;
  const Status status = device::countDevices(count);
  if (!isTooOldForKernels()) {
    EXPECT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(count, 2);
    return;
  }
  EXPECT_EQ(status.message(), "NVIDIA's driver is for CUDA " + driver::describeVersion(versionOfLevel()) +
                                  ", and this build's kernels are of CUDA 13.0, expected a driver for CUDA "
                                  "13.0 (driver 580) or later: install one, or use a build made by nvcc of CUDA 12");
  unsigned flags = 0;
  int active = 1;
  ASSERT_EQ(driver().primaryContextState(0, &flags, &active), driver::Result::Success);
  EXPECT_EQ(active, 0);
  const device::DeviceGuard guard(0);
  EXPECT_EQ(guard.status().message(), status.message());
  ASSERT_EQ(driver().primaryContextState(0, &flags, &active), driver::Result::Success);
  EXPECT_EQ(active, 0);
}

TEST(DriverLevel, DescribesWhatItLacks) {
  if (isTooOld() || isTooOldForKernels()) GTEST_SKIP() << "this driver is refused";
  const std::string text = device::describeDriver();
  EXPECT_EQ(text.rfind("driver for CUDA " + driver::describeVersion(versionOfLevel()) + ", kernels of CUDA ", 0), 0U)
      << text;
  EXPECT_EQ(text.find(", which the driver compiles from PTX") != std::string::npos, compiles()) << text;
  EXPECT_EQ(device::compilesKernels(), compiles());
  for (const auto& lack : driver().lacks) EXPECT_NE(text.find(lack.name), std::string::npos) << text;
  EXPECT_EQ(text.find("without") == std::string::npos, driver().lacks.empty()) << text;
}

TEST(DriverLevel, RecognisesAnMpsServerIfTheDriverReportsIt) {
  if (isTooOld() || isTooOldForKernels()) GTEST_SKIP() << "this driver is refused";
  device::DeviceProperties properties;
  const Status status = device::describeDevice(0, properties);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(properties.servedByMps, versionOfLevel() >= 12030);  // JCCL_EMULATED_MPS=1
}

// The PTX of NVLS needs CUDA 12.2. An older driver loads all other kernels.
TEST(DriverLevel, LoadsNvlsIfItCanCompileIt) {
  if (isTooOld() || isTooOldForKernels()) GTEST_SKIP() << "this driver is refused";
  const device::DeviceGuard guard(0);
  ASSERT_TRUE(guard.status().isOk()) << guard.status().message();
  const Status loaded = device::loadKernels();
  ASSERT_TRUE(loaded.isOk()) << loaded.message();
  device::DeviceProperties properties;
  ASSERT_TRUE(device::describeDevice(0, properties).isOk());
  for (int i = 0; i < device::kernelCount(); ++i) {
    const device::KernelEntry& kernel = device::kernelAt(i);
    const bool isNew = kernel.capability != 0;
    EXPECT_EQ(device::hasKernel(kernel).isOk(),
              !isNew || (properties.capability >= kernel.capability && !(compiles() && versionOfLevel() < 12020)))
        << kernel.name;
  }
}

TEST(DriverLevel, LoadsLaunchesAndReplaysKernels) {
  if (isTooOld() || isTooOldForKernels()) GTEST_SKIP() << "this driver is refused";
  DeviceRuntimeRanks ranks(2, 2, 2);
  if (HasFailure()) return;
  const std::vector<device::Stream> streams = {Application(0).createStream(), Application(1).createStream()};
  constexpr OperationCode kSum{Collective::AllReduce, DataType::Float32, ReduceOp::Sum};
  for (const Protocol protocol : {Protocol::LL, Protocol::LL128, Protocol::Simple}) {
    std::vector<std::vector<float>> buffers(2, std::vector<float>(3001, 1));
    Choice choice;
    choice.algorithm = Algorithm::Ring;
    choice.protocol = protocol;
    choice.channels = 2;
    const auto issue = [&](int rank, device::Stream stream) {
      return ranks.rank(rank).run(kSum, choice, buffers[rank].data(), buffers[rank].data(), 3001, 0, 60'000'000'000,
                                  stream);
    };
    const std::vector<device::Issued> issued = {issue(0, ranks.rank(0).ownStream()),
                                                issue(1, ranks.rank(1).ownStream())};
    for (int rank = 0; rank < 2; ++rank) ASSERT_EQ(ranks.await(rank, issued[rank]), Code::Ok);
    std::vector<device::Graph> graphs;
    for (int rank = 0; rank < 2; ++rank) {
      const Application application(rank);
      application.beginCapture(streams[rank]);
      EXPECT_EQ(issue(rank, streams[rank]).code, Code::Ok) << ranks.rank(rank).lastError();
      graphs.push_back(application.endCapture(streams[rank]));
    }
    for (int rank = 0; rank < 2; ++rank) Application(rank).replay(graphs[rank], streams[rank]);
    for (int rank = 0; rank < 2; ++rank) {
      Application(rank).synchronize(streams[rank]);
      Application(rank).destroyGraph(graphs[rank]);
      EXPECT_EQ(buffers[rank], std::vector<float>(3001, 4)) << "rank=" << rank;
    }
  }
  for (int rank = 0; rank < 2; ++rank) Application(rank).destroyStream(streams[rank]);
}

}  // namespace
}  // namespace jccl::test
