// Tests of shared segments in memfds and in /dev/shm.
#include "transport/shm_segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/page.h"

namespace jccl::shm_segment_test {
namespace {

class ShmSegmentOn : public ::testing::TestWithParam<ShmBacking> {};

TEST_P(ShmSegmentOn, IsZeroedAndSeenThroughItsDescriptor) {
  ShmSegment made;
  const Status created = ShmSegment::create("test", 10'000, GetParam(), &made);
  ASSERT_TRUE(created.isOk()) << created.message();
  EXPECT_EQ((10'000 + pageBytes() - 1) / pageBytes() * pageBytes(), made.bytes());
  EXPECT_TRUE(std::all_of(made.address(), made.address() + made.bytes(), [](uint8_t byte) { return byte == 0; }));

  ShmSegment view;
  const Status mapped = ShmSegment::map(UniqueFd(::dup(made.fd())), 10'000, &view);
  ASSERT_TRUE(mapped.isOk()) << mapped.message();
  EXPECT_NE(made.address(), view.address());
  made.address()[9'999] = 17;
  EXPECT_EQ(17, view.address()[9'999]);
}

TEST_P(ShmSegmentOn, OutlivesItsMakerWhileMapped) {
  ShmSegment made;
  ASSERT_TRUE(ShmSegment::create("test", 4096, GetParam(), &made).isOk());
  ShmSegment view;
  ASSERT_TRUE(ShmSegment::map(UniqueFd(::dup(made.fd())), 0, &view).isOk());
  made.address()[0] = 5;
  made.reset();
  EXPECT_EQ(5, view.address()[0]);
}

TEST_P(ShmSegmentOn, AnotherSizeThanAgreedIsRefused) {
  ShmSegment made;
  ASSERT_TRUE(ShmSegment::create("test", pageBytes(), GetParam(), &made).isOk());
  ShmSegment view;
  const Status mapped = ShmSegment::map(UniqueFd(::dup(made.fd())), 2 * pageBytes(), &view);
  EXPECT_EQ(Code::Transport, mapped.code());
  const std::string offered = std::to_string(pageBytes());
  const std::string expected = std::to_string(2 * pageBytes());
  EXPECT_NE(std::string::npos, mapped.message().find("bytes=" + offered + " expected_bytes=" + expected))
      << mapped.message();
}

TEST_P(ShmSegmentOn, DiscardedPagesAreFreedAtOnceForAllProcessesThatMapThem) {
  constexpr size_t kBytes = 1 << 20;
  ShmSegment made;
  ASSERT_TRUE(ShmSegment::create("test", kBytes, GetParam(), &made).isOk());
  made.markLive();
  UniqueFd file(::dup(made.fd()));
  ShmSegment view;
  ASSERT_TRUE(ShmSegment::map(UniqueFd(::dup(file.get())), kBytes, &view).isOk());
  std::fill(view.address(), view.address() + kBytes / 2, 7);
  EXPECT_TRUE(view.isLive());

  const Status discarded = made.discard(true);
  ASSERT_TRUE(discarded.isOk()) << discarded.message();
  struct stat facts {};
  ASSERT_EQ(0, ::fstat(file.get(), &facts));
  EXPECT_EQ(0, facts.st_blocks);
  EXPECT_FALSE(view.isLive());
  EXPECT_EQ(0, view.address()[17]);
  // The maker's addresses stay mapped, but stores there reach no other process.
  EXPECT_EQ(0, made.address()[17]);
  made.address()[17] = 5;
  EXPECT_EQ(0, view.address()[17]);
}

INSTANTIATE_TEST_SUITE_P(Backings, ShmSegmentOn, ::testing::Values(ShmBacking::Memfd, ShmBacking::DevShm),
                         [](const auto& info) { return info.param == ShmBacking::Memfd ? "Memfd" : "DevShm"; });

TEST(ShmSegment, AMemfdCannotShrink) {
  ShmSegment made;
  ASSERT_TRUE(ShmSegment::create("test", 8192, ShmBacking::Memfd, &made).isOk());
  EXPECT_EQ(-1, ::ftruncate(made.fd(), 4096));
  EXPECT_EQ(EPERM, errno);
}

TEST(ShmSegment, MemoryThatCouldShrinkUnderUsIsRefused) {
  UniqueFd fd(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(0, ::ftruncate(fd.get(), static_cast<off_t>(pageBytes())));
  ShmSegment view;
  const Status mapped = ShmSegment::map(std::move(fd), pageBytes(), &view);
  EXPECT_EQ(Code::Transport, mapped.code());
  EXPECT_NE(std::string::npos, mapped.message().find("not sealed")) << mapped.message();
}

// The maker shrinks and seals the memory while this process maps it. Afterwards the whole mapping exists, or it was
// refused.
TEST(ShmSegment, MemoryThatShrinksJustBeforeItIsSealedIsMappedAtItsLastSize) {
  const auto shortBytes = static_cast<off_t>(pageBytes());
  const int64_t end = monotonicNanos() + 2'000'000'000;
  for (int round = 0; monotonicNanos() < end && !HasFailure(); ++round) {
    const UniqueFd fd(::memfd_create("shrinking", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(0, ::ftruncate(fd.get(), 64 * shortBytes));
    UniqueFd theirs(::dup(fd.get()));
    std::atomic<int> ready{0};
    std::thread maker([&] {
      ++ready;
      while (ready.load() < 2) {
      }
      for (int i = 0; i < round % 500; ++i) __atomic_signal_fence(__ATOMIC_SEQ_CST);
      const int cut = ::ftruncate(fd.get(), shortBytes);  // fails if the seal came first
      static_cast<void>(cut);
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK);
    });
    ++ready;
    while (ready.load() < 2) {
    }
    ShmSegment view;
    if (ShmSegment::map(std::move(theirs), 0, &view)) {
      EXPECT_EQ(static_cast<size_t>(shortBytes), view.bytes()) << "round=" << round << ": the rest would be a SIGBUS";
    }
    maker.join();
  }
}

TEST(ShmSegment, AnImportedDescriptorIsClosedOnceItIsMapped) {
  ShmSegment made;
  ASSERT_TRUE(ShmSegment::create("test", 4096, ShmBacking::Memfd, &made).isOk());
  const int fd = ::dup(made.fd());
  ShmSegment view;
  ASSERT_TRUE(ShmSegment::map(UniqueFd(fd), 4096, &view).isOk());
  EXPECT_EQ(-1, ::fcntl(fd, F_GETFD)) << "a job with many ranks and buffers would run out of descriptors";
  made.address()[7] = 3;
  EXPECT_EQ(3, view.address()[7]);
}

TEST(ShmSegment, MoreMemoryThanDevShmHasIsRefusedBeforeItIsTouched) {
  ShmSegment made;
  const Status created = ShmSegment::create("huge", size_t{1} << 45, ShmBacking::DevShm, &made);
  EXPECT_EQ(Code::NoMemory, created.code());
  EXPECT_FALSE(made);
  EXPECT_NE(std::string::npos, created.message().find("wanted_bytes=35184372088832 free_bytes=")) << created.message();
  EXPECT_NE(std::string::npos, created.message().find("--shm-size")) << created.message();
}

TEST(ShmSegment, SpaceIsEnoughWhenItIsExactlyEnough) {
  EXPECT_TRUE(checkSpace("x", 100, 100).isOk());
  EXPECT_EQ(Code::NoMemory, checkSpace("x", 101, 100).code());
}

TEST(ShmSegment, AnEmptyOrAbsurdSizeIsRefused) {
  ShmSegment made;
  EXPECT_EQ(Code::Invalid, ShmSegment::create("none", 0, ShmBacking::Auto, &made).code());
  EXPECT_EQ(Code::Invalid, ShmSegment::create("absurd", SIZE_MAX, ShmBacking::Auto, &made).code());
}

}  // namespace
}  // namespace jccl::shm_segment_test
