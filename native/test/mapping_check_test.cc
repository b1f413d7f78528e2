// Tests of MappingCheck, which finds out if a file is still mapped at its addresses, on old and new kernels.
#include "transport/mapping_check.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/page.h"
#include "test/forbidden_calls.h"

namespace jccl::mapping_check_test {
namespace {

using Answer = MappingCheck::Answer;

struct Without {
  const char* name;
  std::vector<test::ForbiddenCall> calls;
  bool tellsFilesApart;  // isMapped() notices if another file is mapped at exactly the same addresses
};
std::ostream& operator<<(std::ostream& out, const Without& without) { return out << without.name; }

class MappingCheckTest : public ::testing::TestWithParam<Without> {
 protected:
  // Runs `body` in a process that exits with the number of the line that went wrong, which must be below 254.
  static void run(const std::function<int()>& body) {
    const int line = test::inProcessWithout(GetParam().calls, body);
    if (line == -1) GTEST_SKIP() << "no seccomp here";
    EXPECT_EQ(0, line) << "the number of the line; -2: the process was killed";
  }
};

#define REQUIRE(condition) \
  if (!(condition)) return __LINE__

class Mapping {
 public:
  explicit Mapping(size_t bytes, void* at = nullptr) : bytes_(bytes), fd_(::memfd_create("test", MFD_CLOEXEC)) {
    if (::ftruncate(fd_.get(), static_cast<off_t>(2 * bytes)) != 0) return;
    address_ =
        static_cast<uint8_t*>(::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (at == nullptr ? 0 : MAP_FIXED),
                                     fd_.get(), static_cast<off_t>(bytes)));
  }
  uint8_t* address() const { return address_; }
  // Maps the beginning of the file over the page at `place`. The original mapping does not include the beginning.
  bool mapBeginningAt(size_t place) const {
    return ::mmap(address_ + place, pageBytes(), PROT_READ, MAP_SHARED | MAP_FIXED, fd_.get(), 0) != MAP_FAILED;
  }
  MappingCheck check() const { return {fd_.get(), static_cast<off_t>(bytes_), address_, bytes_}; }

 private:
  size_t bytes_;
  UniqueFd fd_;
  uint8_t* address_ = nullptr;
};

const size_t kBytes = 16 * pageBytes();

TEST_P(MappingCheckTest, RecognisesItsMappingUntilItIsUnmapped) {
  run([] {
    const Mapping mapping(kBytes);
    const MappingCheck check = mapping.check();
    REQUIRE(check.isMapped() && check.lookUp() == Answer::Yes);
    REQUIRE(::munmap(mapping.address() + kBytes / 2, pageBytes()) == 0);
    REQUIRE(!check.isMapped() && check.lookUp() == Answer::No);
    return 0;
  });
}

TEST_P(MappingCheckTest, AnonymousMemoryAtTheSameAddressesIsDetected) {
  run([] {
    const Mapping mapping(kBytes);
    const MappingCheck check = mapping.check();
    REQUIRE(::mmap(mapping.address(), kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
    REQUIRE(!check.isMapped() && check.lookUp() == Answer::No);
    return 0;
  });
}

TEST_P(MappingCheckTest, AnotherFileAtTheSameAddressesIsDetected) {
  run([] {
    const Mapping mapping(kBytes);
    const MappingCheck check = mapping.check();
    const Mapping other(kBytes, mapping.address());
    REQUIRE(check.isMapped() != GetParam().tellsFilesApart);
    REQUIRE(check.lookUp() == Answer::No);
    REQUIRE(other.check().isMapped());
    return 0;
  });
}

TEST_P(MappingCheckTest, AnotherPartOfTheFileIsDetected) {
  run([] {
    const Mapping mapping(kBytes);
    const MappingCheck check = mapping.check();
    REQUIRE(mapping.mapBeginningAt(4 * pageBytes()));
    REQUIRE(!check.isMapped() && check.lookUp() == Answer::No);
    return 0;
  });
}

// mlock divides a mapping, and so does the registration of memory with adapters.
TEST_P(MappingCheckTest, RecognisesADividedMapping) {
  run([] {
    const Mapping mapping(kBytes);
    const MappingCheck check = mapping.check();
    REQUIRE(::madvise(mapping.address() + pageBytes(), pageBytes(), MADV_DONTFORK) == 0);
    REQUIRE(::mprotect(mapping.address() + 4 * pageBytes(), pageBytes(), PROT_READ) == 0);
    REQUIRE(check.isMapped() && check.lookUp() == Answer::Yes);
    return 0;
  });
}

TEST_P(MappingCheckTest, WithoutAFileNothingIsMapped) {
  run([] {
    REQUIRE(!MappingCheck().isMapped() && MappingCheck().lookUp() == Answer::Unknown);
    const MappingCheck closed(-1, 0, &kBytes, sizeof kBytes);
    REQUIRE(!closed.isMapped() && closed.lookUp() == Answer::Unknown);
    return 0;
  });
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, MappingCheckTest,
    ::testing::Values(Without{"AsItIs", {}, true}, Without{"WithoutQuery", {test::kNoMappingQuery}, false},
                      Without{"WithTheListAlone", {test::kNoMappingQuery, test::kNoLinkFacts}, true}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace jccl::mapping_check_test
