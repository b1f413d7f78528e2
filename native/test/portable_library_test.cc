// Tests of the functions that libraries of the jar contain in place of functions of a newer C library (native/glibc),
// in a process with another C++ library.
#ifdef JCCL_PORTABLE
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace jccl::portable_library_test {
namespace {

class PortableLibrary : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = ::dlopen(JCCL_PORTABLE, RTLD_NOW);
    ASSERT_NE(nullptr, library_) << ::dlerror();  // NOLINT(concurrency-mt-unsafe)
  }
  void TearDown() override {
    if (library_ != nullptr) ::dlclose(library_);
  }

  template <typename Function>
  Function call(const char* name) const {
    return reinterpret_cast<Function>(::dlsym(library_, name));
  }

  void* library_ = nullptr;
};

TEST_F(PortableLibrary, AnExceptionIsCaughtAndAllItsFramesAreUnwound) {
  EXPECT_EQ(1, call<int (*)(int)>("Java_unwind")(1));
  EXPECT_EQ(500, call<int (*)(int)>("Java_unwind")(500));
}

// The unwinder searches the loaded objects while others are loaded and unloaded.
TEST_F(PortableLibrary, ThreadsThrowWhileLibrariesAreLoadedAndUnloaded) {
  const auto unwind = call<int (*)(int)>("Java_unwind");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) wrong += unwind(20) == 20 ? 0 : 1;
    });
  }
  for (int round = 0; round < 50; ++round) {
    void* other = ::dlopen(JCCL_FAKE_NVML, RTLD_NOW);
    ASSERT_NE(nullptr, other) << ::dlerror();  // NOLINT(concurrency-mt-unsafe)
    ::dlclose(other);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(0, wrong);
}

// The C++ runtime in the library must not assume that the process has a single thread, whatever the C library reports.
TEST_F(PortableLibrary, ReferencesAreCountedByAtomicInstructions) {
  int ends = 0;
  EXPECT_EQ(1, call<long (*)(int, int, int*)>("Java_share")(4, 200'000, &ends));
  EXPECT_EQ(1, ends);
}

TEST_F(PortableLibrary, RandomNumbersDiffer) {
  EXPECT_GE(call<size_t (*)(int)>("Java_random")(1000), 998u) << "of 2^32";
}

TEST_F(PortableLibrary, FilesHaveTheirSizes) {
  const auto fileBytes = call<int64_t (*)(const char*)>("Java_fileBytes");
  EXPECT_EQ(static_cast<int64_t>(std::filesystem::file_size(JCCL_PORTABLE)), fileBytes(JCCL_PORTABLE));
  EXPECT_EQ(-2, fileBytes("/nowhere/at/all"));
}

TEST_F(PortableLibrary, NumbersAreParsed) {
  EXPECT_EQ(0x2a + 18'446'744'073'709'551'573u,
            call<uint64_t (*)(const char*)>("Java_parse")("2a:18446744073709551573"));
}

// A symbol that is unique in the process (STB_GNU_UNIQUE) would keep the library loaded.
TEST_F(PortableLibrary, IsUnloadedWhenItIsClosed) {
  EXPECT_EQ(1, call<int (*)(int)>("Java_unwind")(1));
  ::dlclose(library_);
  library_ = ::dlopen(JCCL_PORTABLE, RTLD_NOW | RTLD_NOLOAD);
  EXPECT_EQ(nullptr, library_);
}

}  // namespace
}  // namespace jccl::portable_library_test
#endif
