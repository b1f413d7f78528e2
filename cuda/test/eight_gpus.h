// Eight emulated GPUs for tests of many ranks.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "cuda/test/device/emulated_driver.h"

namespace jccl::test {

// Returns true in a process with eight emulated GPUs, of a chip that runs the kernels of nine ranks together. In another
// process, runs the current test in such a process, whichever shard of the tests this process runs.
inline bool onEightGpus() {
  constexpr std::pair<const char*, const char*> kVariables[] = {
      {"JCCL_EMULATED_GPUS", "8"}, {"JCCL_EMULATED_CHIP", "H100"}, {"CUDA_DEVICE_MAX_CONNECTIONS", "32"}};
  std::string command = "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX ";
  bool all = true;
  for (const auto& [name, value] : kVariables) {
    const char* set = std::getenv(name);
    all = all && set != nullptr && std::string(set) == value;
    command += std::string(name) + "=" + value + " ";
  }
  if (all) {
    EXPECT_EQ(emulator::EmulatedDriver::ofThisProcess().devices(), 8);
    return true;
  }
  char path[4096] = {};
  EXPECT_GT(::readlink("/proc/self/exe", path, sizeof path - 1), 0);
  const ::testing::TestInfo* const test = ::testing::UnitTest::GetInstance()->current_test_info();
  command += std::string("'") + path + "' --gtest_filter=" + test->test_suite_name() + "." + test->name();
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  return false;
}

}  // namespace jccl::test
