// Tests of finding the cache that cores share, in invented sysfs directories.
#include "base/shared_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace jccl::shared_cache_test {
namespace {

class SharedCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "jccl-cache-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void add(int index, const char* level, const char* size, const char* map) {
    const auto path = directory_ / ("index" + std::to_string(index));
    std::filesystem::create_directory(path);
    const auto write = [&path](const char* name, const char* text) { std::ofstream(path / name) << text << "\n"; };
    write("level", level);
    if (size != nullptr) write("size", size);
    if (map != nullptr) write("shared_cpu_map", map);
  }

  SharedCache found() const { return sharedCacheIn(directory_.c_str()); }

 private:
  std::filesystem::path directory_;
};

TEST_F(SharedCacheTest, IsTheCacheOfTheHighestLevel) {
  add(0, "1", "48K", "1");
  add(1, "1", "32K", "1");
  add(2, "3", "32768K", "ff,00ff0003");
  add(3, "2", "1024K", "1");
  EXPECT_EQ(found().bytes, 32u << 20);
  EXPECT_EQ(found().cores, 18);
}

TEST_F(SharedCacheTest, IsTheSecondLevelIfThatIsTheLast) {
  add(0, "1", "32K", "1");
  add(1, "2", "2M", "f");
  EXPECT_EQ(found().bytes, 2u << 20);
  EXPECT_EQ(found().cores, 4);
}

TEST_F(SharedCacheTest, IsAssumedIfNothingIsReported) {
  EXPECT_EQ(found().bytes, 32u << 20);
  EXPECT_EQ(found().cores, 1);
  add(0, "3", nullptr, nullptr);
  EXPECT_EQ(found().bytes, 32u << 20);
}

TEST_F(SharedCacheTest, BelongsToOneCoreIfNothingReportsWhichCoresShareIt) {
  add(0, "3", "16M", nullptr);
  EXPECT_EQ(found().bytes, 16u << 20);
  EXPECT_EQ(found().cores, 1);
}

}  // namespace
}  // namespace jccl::shared_cache_test
