// Tests of adopted memory: ordinary memory that peers use in place while it is registered.
#include "transport/adopted_memory.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "base/page.h"
#include "engine/shared_heap.h"
#include "test/forbidden_calls.h"
#include "test/sanitized.h"
#include "transport/shm_server.h"

namespace jccl::adopted_memory_test {
namespace {

constexpr size_t kBytes = 5'000'000;

uint8_t patternAt(size_t i) { return static_cast<uint8_t>(i * 7 % 251); }

// Returns the sum in KiB of a field of /proc/self/smaps, over the mappings between `begin` and `end`.
size_t smaps(const void* begin, const void* end, const std::string& field) {
  std::ifstream maps("/proc/self/smaps");
  size_t kib = 0;
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx ", &from, &to) == 2) {
      inside = to > reinterpret_cast<uintptr_t>(begin) && from < reinterpret_cast<uintptr_t>(end);
    } else if (inside && line.rfind(field + ":", 0) == 0) {
      kib += std::stoul(line.substr(field.size() + 1));
    }
  }
  return kib;
}

class AdoptedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (test::kSanitized) GTEST_SKIP() << "a sanitizer's allocator gives no memory a mapping of its own";
    ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
    ASSERT_TRUE(ShmRegistry::acquire(&registry_).isOk());
    allocate();
  }
  void TearDown() override { std::free(memory_); }

  void allocate() {
    memory_ = static_cast<uint8_t*>(std::malloc(kBytes));
    for (size_t i = 0; i < kBytes; ++i) memory_[i] = patternAt(i);
  }
  SharedHeap& heap() { return SharedHeap::ofThisProcess(); }
  void adopt() {
    const Status status = heap().adopt(memory_, kBytes, id_);
    ASSERT_TRUE(status.isOk()) << status.message();
  }
  // Maps the memory as a peer does, and returns the peer's address.
  uint8_t* asPeer() {
    SharedRange range;
    if (!registry_->find(memory_, kBytes, &range)) return nullptr;
    const Status mapped =
        ShmSegment::map(UniqueFd(::dup(registry_->offer(range.segment).fd)), range.segmentBytes, &view_);
    EXPECT_TRUE(mapped.isOk()) << mapped.message();
    return view_.address() + range.offset;
  }
  void giveBack(bool expectFreed) {
    bool freed = false;
    const Status status = heap().giveBack(id_, freed);
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(expectFreed, freed);
  }

  // Registers memory, frees it, and registers new memory at the same addresses, in a process of its own. Returns 0, or
  // the number of the step that went wrong.
  int freeAndRegisterAnew() {
    SharedRange range;
    uint64_t first = 0, second = 0;
    bool freed = false;
    if (!ShmRegistry::acquire(&registry_)) return 1;
    if (!heap().adopt(memory_, kBytes, first) || !registry_->find(memory_, kBytes, &range)) return 2;
    std::free(memory_);
    uint8_t* const before = memory_;
    if (registry_->find(before, kBytes, &range)) return 3;
    allocate();
    if (memory_ != before) return 0;  // no known glibc returns another address
    if (registry_->find(memory_, kBytes, &range)) return 4;
    if (!heap().adopt(memory_, kBytes, second)) return 5;
    if (!heap().giveBack(first, freed) || !freed) return 6;
    if (!registry_->find(memory_, kBytes, &range)) return 7;
    if (!heap().giveBack(second, freed) || freed) return 8;
    for (size_t i = 0; i < kBytes; ++i) {
      if (memory_[i] != patternAt(i)) return 9;
    }
    return 0;
  }

  std::shared_ptr<ShmRegistry> registry_;
  uint8_t* memory_ = nullptr;
  uint64_t id_ = 0;
  ShmSegment view_;
};

TEST_F(AdoptedMemoryTest, IsThePeersMemoryWhileItIsRegisteredAndPrivateAfterwards) {
  adopt();
  uint8_t* peers = asPeer();
  ASSERT_NE(nullptr, peers);
  for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(patternAt(i), peers[i]) << i;
  peers[0] = 99;
  peers[kBytes - 1] = 98;
  EXPECT_EQ(99, memory_[0]);
  EXPECT_EQ(98, memory_[kBytes - 1]);
  giveBack(false);
  SharedRange range;
  EXPECT_FALSE(registry_->find(memory_, kBytes, &range));
  EXPECT_EQ(99, memory_[0]);
  EXPECT_EQ(98, memory_[kBytes - 1]);
  for (size_t i = 1; i < kBytes - 1; ++i) ASSERT_EQ(patternAt(i), memory_[i]) << i;
  EXPECT_FALSE(view_.isLive());
  peers[0] = 1;
  EXPECT_EQ(99, memory_[0]) << "a late store";
}

TEST_F(AdoptedMemoryTest, TakesNoMemoryTwiceAndHasHugePagesIfTheKernelGivesThem) {
  adopt();
  ShmSegment probe;
  ASSERT_TRUE(
      ShmSegment::create("probe", 2 * std::max(hugePageBytes(), pageBytes()), ShmBacking::Memfd, &probe).isOk());
  const bool gives = probe.takeHugePages(0, probe.bytes()) > 0;
  const uint8_t* end = memory_ + kBytes;
  EXPECT_LE(smaps(memory_, end, "Rss"), kBytes / 1024 + 64);
  if (gives && kBytes >= 2 * hugePageBytes()) {
    EXPECT_GE(smaps(memory_, end, "ShmemPmdMapped") + smaps(memory_, end, "FilePmdMapped"), hugePageBytes() / 1024);
  }
  giveBack(false);
}

TEST_F(AdoptedMemoryTest, FreedMemoryIsLeftAloneAndNoLongerFound) {
  adopt();
  uint8_t* peers = asPeer();
  std::free(memory_);
  SharedRange range;
  uint8_t* const freed = memory_;
  EXPECT_FALSE(registry_->find(freed, kBytes, &range));
  allocate();  // glibc usually returns the same addresses
  EXPECT_FALSE(registry_->find(memory_, kBytes, &range));
  peers[0] = 7;
  giveBack(true);
  for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(patternAt(i), memory_[i]) << i;
}

TEST_F(AdoptedMemoryTest, NewMemoryAtTheAddressesOfFreedMemoryIsRegisteredAgain) {
  adopt();
  const uint64_t first = id_;
  std::free(memory_);
  allocate();
  adopt();
  bool freed = false;
  ASSERT_TRUE(heap().giveBack(first, freed).isOk());
  EXPECT_TRUE(freed);
  ASSERT_NE(nullptr, asPeer()) << "the end of the first registration is not that of the second";
  giveBack(false);
}

TEST_F(AdoptedMemoryTest, RegisteringMemoryTwiceOrOverlappingIsRefused) {
  adopt();
  uint64_t other = 0;
  for (const size_t offset : {size_t{0}, size_t{1'000'000}, kBytes - 1}) {
    const Status twice = heap().adopt(memory_ + offset, kBytes - offset, other);
    EXPECT_EQ(Code::Invalid, twice.code());
    EXPECT_NE(std::string::npos, twice.message().find("registered already")) << twice.message();
  }
  giveBack(false);
  adopt();
  giveBack(false);
  bool freed = false;
  EXPECT_FALSE(heap().giveBack(id_, freed).isOk()) << "closed before";
}

TEST_F(AdoptedMemoryTest, MemoryThatSharesItsPagesIsRefusedWithTheRemedy) {
  uint64_t id = 0;
  void* small = std::malloc(200'000);
  const Status tooSmall = heap().adopt(small, 200'000, id);
  EXPECT_EQ(Code::Invalid, tooSmall.code());
  EXPECT_NE(std::string::npos, tooSmall.message().find("bytes=200000: expected at least 1048576"))
      << tooSmall.message();
  std::free(small);
  void* aligned = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (const auto& [address, bytes] : {std::pair<void*, size_t>{aligned, kBytes},
                                       {memory_ + 64, kBytes - 64},
                                       {memory_, kBytes / 2},
                                       {memory_, 2 * kBytes}}) {
    const Status refused = heap().adopt(address, bytes, id);
    EXPECT_EQ(Code::Invalid, refused.code()) << bytes;
    EXPECT_NE(std::string::npos, refused.message().find("HostBuffer.allocate")) << refused.message();
    EXPECT_NE(std::string::npos, refused.message().find("MALLOC_MMAP_THRESHOLD_")) << refused.message();
  }
  ::munmap(aligned, kBytes);
}

TEST_F(AdoptedMemoryTest, AlignedAllocationsAreRegistered) {
  for (const size_t alignment : {size_t{32}, size_t{64}, size_t{256}}) {
    void* made = nullptr;
    ASSERT_EQ(0, ::posix_memalign(&made, alignment, kBytes));
    std::memset(made, 3, kBytes);
    uint64_t id = 0;
    const Status status = heap().adopt(made, kBytes, id);
    ASSERT_TRUE(status.isOk()) << alignment << ": " << status.message();
    bool freed = false;
    ASSERT_TRUE(heap().giveBack(id, freed).isOk());
    EXPECT_FALSE(freed);
    std::free(made);
  }
}

TEST_F(AdoptedMemoryTest, IsolatedMemoryIsOrdinaryAndKeepsItsBytes) {
  adopt();
  uint8_t* peers = asPeer();
  ASSERT_TRUE(registry_->isolate(memory_ + 100'000, 1'000'000).isOk());
  peers[500'000] = 255;
  EXPECT_EQ(patternAt(500'000), memory_[500'000]);
  SharedRange range;
  EXPECT_FALSE(registry_->find(memory_, kBytes, &range));
  giveBack(false);
  for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(patternAt(i), memory_[i]) << i;
}

TEST_F(AdoptedMemoryTest, AForkedChildSharesTheMemoryAndEndsWithoutHarm) {
  adopt();
  registry_.reset();
  const pid_t child = ::fork();
  if (child == 0) {
    memory_[1] = 42;
    std::free(memory_);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_EQ(0, status);
  EXPECT_EQ(42, memory_[1]);
  giveBack(false);
  EXPECT_EQ(42, memory_[1]);
  EXPECT_EQ(patternAt(2), memory_[2]);
}

// Registration with an adapter divides the mapping of the memory, too.
TEST_F(AdoptedMemoryTest, MemoryWhoseMappingIsDividedIsFoundAndKeepsItsBytes) {
  adopt();
  const size_t page = pageBytes();
  auto* inside = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(memory_) / page + 2) * page);
  ASSERT_EQ(0, ::madvise(inside, page, MADV_DONTFORK));
  ASSERT_NE(nullptr, asPeer());
  giveBack(false);
  for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(patternAt(i), memory_[i]) << i;
}

TEST_F(AdoptedMemoryTest, FreedMemoryIsLeftAloneWhateverTheKernelAnswers) {
  registry_.reset();
  const std::vector<std::vector<test::ForbiddenCall>> kernels = {
      {}, {test::kNoMappingQuery}, {test::kNoMappingQuery, test::kNoLinkFacts}};
  for (size_t i = 0; i < kernels.size(); ++i) {
    const int step = test::inProcessWithout(kernels[i], [this] { return freeAndRegisterAnew(); });
    if (step == -1) GTEST_SKIP() << "no seccomp here";
    EXPECT_EQ(0, step) << "kernel " << i << "; -2: the process was killed";
  }
}

TEST_F(AdoptedMemoryTest, MemoryIsNotRegisteredIfItsFreeingCouldNotBeDetected) {
  registry_.reset();
  const int step = test::inProcessWithout({{SYS_openat, 0, 0, EACCES}}, [this] {
    uint64_t id = 0;
    const Status refused = heap().adopt(memory_, kBytes, id);
    if (refused.code() != Code::Invalid) return 1;
    return refused.message().find("expected that /proc/self/maps can be read") == std::string::npos ? 2 : 0;
  });
  if (step == -1) GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(0, step) << "-2: the process was killed";
}

TEST_F(AdoptedMemoryTest, APeerThatDiesWithTheMemoryMappedLeavesItAlone) {
  adopt();
  SharedRange range;
  ASSERT_TRUE(registry_->find(memory_, kBytes, &range));
  const int fd = ::dup(registry_->offer(range.segment).fd);
  const pid_t child = ::fork();
  if (child == 0) {
    ShmSegment theirs;
    if (!ShmSegment::map(UniqueFd(fd), range.segmentBytes, &theirs)) ::_exit(1);
    theirs.address()[range.offset + 3] = 33;
    ::kill(::getpid(), SIGKILL);
  }
  ::close(fd);
  int status = 0;
  ASSERT_EQ(child, ::waitpid(child, &status, 0));
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(33, memory_[3]);
  giveBack(false);
  EXPECT_EQ(33, memory_[3]);
}

TEST(HugePages, BackHostBuffersIfTheKernelGivesThem) {
  const size_t huge = hugePageBytes();
  if (huge == 0 || huge > (size_t{4} << 20)) GTEST_SKIP() << "huge_page_bytes=" << huge;
  void* memory = nullptr;
  ASSERT_TRUE(SharedHeap::ofThisProcess().allocate(4 * huge, memory).isOk());
  auto* bytes = static_cast<uint8_t*>(memory);
  EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(bytes) % huge);
  for (size_t i = 0; i < 4 * huge; i += 512) ASSERT_EQ(0, bytes[i]);
  ShmSegment probe;
  ASSERT_TRUE(ShmSegment::create("probe", huge, ShmBacking::Memfd, &probe).isOk());
  if (probe.takeHugePages(0, 1) == huge) {
    const size_t kib =
        smaps(bytes, bytes + 4 * huge, "ShmemPmdMapped") + smaps(bytes, bytes + 4 * huge, "FilePmdMapped");
    EXPECT_GE(kib, 3 * huge / 1024);
  }
  ASSERT_TRUE(SharedHeap::ofThisProcess().free(memory).isOk());
}

TEST(HugePages, AreTakenWithoutALostByte) {
  const size_t huge = std::max(hugePageBytes(), size_t{1} << 21);
  if (huge > (size_t{4} << 20)) GTEST_SKIP() << "huge_page_bytes=" << huge;
  ShmSegment segment;
  ASSERT_TRUE(ShmSegment::create("test", 3 * huge + 4096, ShmBacking::Memfd, &segment).isOk());
  for (size_t i = 0; i < segment.bytes(); ++i) segment.address()[i] = patternAt(i);
  EXPECT_EQ(0u, segment.takeHugePages(3 * huge, 4096)) << "no whole one";
  EXPECT_EQ(0u, segment.takeHugePages(segment.bytes() + 1, 1)) << "outside";
  segment.takeHugePages(huge + 1, 1);
  segment.takeHugePages(0, segment.bytes());
  for (size_t i = 0; i < segment.bytes(); ++i) ASSERT_EQ(patternAt(i), segment.address()[i]) << i;
}

}  // namespace
}  // namespace jccl::adopted_memory_test
