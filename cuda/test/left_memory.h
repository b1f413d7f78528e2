// Counts the descriptors and mappings of shareable emulated GPU memory that are left in this process.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cuda/test/device/gpu_memory.h"

namespace jccl::test {

struct Left {
  int descriptors = 0;  // includes one that the driver keeps for each mapping, to know the allocation
  int mappings = 0;
};

inline Left left() {
  Left left;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry, gone);
    left.descriptors += target.string().find(emulator::kEmulatedMemoryName) != std::string::npos ? 1 : 0;
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    left.mappings += line.find(emulator::kEmulatedMemoryName) != std::string::npos ? 1 : 0;
  }
  return left;
}

inline void expectNothingLeft() {
  const Left now = left();
  EXPECT_EQ(0, now.descriptors);
  EXPECT_EQ(0, now.mappings);
}

}  // namespace jccl::test
