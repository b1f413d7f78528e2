// Tests of the reduction kernels: against a reference implementation, and with chosen values.
#include "primitives/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "reduce_reference.h"

namespace jccl::reduce_test {
namespace {

constexpr size_t kGuardBytes = 192;
constexpr char kGuard = 0x5a;

// A block of memory at a chosen distance from a cache line, between guard zones.
class GuardedBlock {
 public:
  GuardedBlock(size_t bytes, size_t misalignment)
      : bytes_(bytes), storage_(bytes + 2 * kGuardBytes + 64 + misalignment, kGuard) {
    const auto start = reinterpret_cast<uintptr_t>(storage_.data()) + kGuardBytes;
    data_ = storage_.data() + kGuardBytes + (64 - start % 64) % 64 + misalignment;
  }
  GuardedBlock(const GuardedBlock& other, size_t misalignment) : GuardedBlock(other.bytes_, misalignment) {
    std::memcpy(data_, other.data_, bytes_);
  }
  GuardedBlock(GuardedBlock&&) = default;

  char* data() const { return data_; }

  bool guardsHold() const {
    const char* begin = storage_.data();
    const char* end = begin + storage_.size();
    const char* data = data_;
    const auto isGuard = [](char c) { return c == kGuard; };
    return std::all_of(begin, data, isGuard) && std::all_of(data + bytes_, end, isGuard);
  }

 private:
  size_t bytes_;
  std::vector<char> storage_;
  char* data_ = nullptr;
};

// Fills memory with random bits. Changes half of the words so that zeros, infinities, NaNs and subnormals of all types
// are frequent.
void fillRandom(std::mt19937_64& random, char* to, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t word = random();
    switch (random() % 16) {
      case 0:
        word = 0;
        break;
      case 1:
        word = 0x7f80000000008000u;  // infinity of bfloat16 and float32, -0 of float16 and bfloat16
        break;
      case 2:
        word &= 0x83ff83ff83ff83ffu;  // subnormal float16
        break;
      case 3:
        word |= 0x7c007c007c007c00u;  // infinities and NaNs of float16, large bfloat16
        break;
      case 4:
        word |= 0x7f807f807f807f80u;  // infinities and NaNs of bfloat16 and float32
        break;
      case 5:
        word |= 0x7ff0000000000000u;  // infinities and NaNs of float64
        break;
      case 6:
        word &= 0x8383838383838383u;  // subnormals of the 8-bit floats
        break;
      case 7:
        word |= 0x7c7c7c7c7c7c7c7cu;  // infinities and NaNs of the 8-bit floats, and the largest numbers of e4m3
        break;
      default:
        break;
    }
    std::memcpy(to + i, &word, std::min<size_t>(8, bytes - i));
  }
}

struct Call {
  DataType type;
  ReduceOp op;
  Isa isa;
  size_t count;
  int nsrc;
  int ndst;
  uint32_t divisor = 1;
  unsigned streamingMask = 0;
  int inPlace = -1;  // the source that is also destination 0; -1: none

  std::string describe() const {
    return std::string(nameOf(isa)) + " " + nameOf(type) + " " + nameOf(op) + " count=" + std::to_string(count) +
           " nsrc=" + std::to_string(nsrc) + " ndst=" + std::to_string(ndst) + " divisor=" + std::to_string(divisor) +
           " streaming=" + std::to_string(streamingMask) + " inPlace=" + std::to_string(inPlace);
  }
};

// Runs a call on random input at random misalignments. Expects the results of the reference, unchanged sources, and no
// store outside the destinations.
void expectCallMatchesReference(const Call& call, std::mt19937_64& random, size_t misalignmentStep = 1) {
  const size_t bytes = call.count * sizeOf(call.type);
  const auto misalignment = [&] { return random() % 65 / misalignmentStep * misalignmentStep; };
  std::vector<GuardedBlock> sources;
  std::vector<GuardedBlock> originals;
  std::vector<GuardedBlock> destinations;
  for (int s = 0; s < call.nsrc; ++s) {
    sources.emplace_back(bytes, misalignment());
    fillRandom(random, sources.back().data(), bytes);
    originals.emplace_back(sources.back(), 0);
  }
  for (int d = 0; d < call.ndst; ++d) {
    destinations.emplace_back(bytes, misalignment());
  }
  std::vector<const void*> sourcePointers;
  std::vector<const char*> originalPointers;
  std::vector<void*> destinationPointers;
  for (int s = 0; s < call.nsrc; ++s) {
    sourcePointers.push_back(sources[s].data());
    originalPointers.push_back(originals[s].data());
  }
  for (int d = 0; d < call.ndst; ++d) {
    const bool inPlace = d == 0 && call.inPlace >= 0;
    destinationPointers.push_back(inPlace ? sources[call.inPlace].data() : destinations[d].data());
  }
  std::vector<char> expected(bytes);
  reference::reduce(call.type, call.op, originalPointers, call.count, call.divisor, expected.data());

  const ReduceCopyFn kernel = reduceCopyKernel(call.type, call.op, call.isa);
  ASSERT_NE(kernel, nullptr);
  kernel(destinationPointers.data(), call.ndst, sourcePointers.data(), call.nsrc, call.count, PostOp{call.divisor},
         call.streamingMask);

  for (int d = 0; d < call.ndst; ++d) {
    const char* result = static_cast<const char*>(destinationPointers[d]);
    if (bytes != 0 && std::memcmp(result, expected.data(), bytes) != 0) {
      const size_t at = std::mismatch(expected.begin(), expected.end(), result).first - expected.begin();
      FAIL() << call.describe() << ": destination " << d << " differs at element " << at / sizeOf(call.type);
    }
  }
  for (int s = 0; s < call.nsrc; ++s) {
    ASSERT_TRUE(sources[s].guardsHold()) << call.describe() << ": written outside source " << s;
    if (s != call.inPlace && bytes != 0) {
      ASSERT_EQ(std::memcmp(sources[s].data(), originals[s].data(), bytes), 0)
          << call.describe() << ": source " << s << " changed";
    }
  }
  for (int d = 0; d < call.ndst; ++d) {
    ASSERT_TRUE(destinations[d].guardsHold()) << call.describe() << ": written outside destination " << d;
  }
}

class ReduceKernelTest : public testing::TestWithParam<std::tuple<Isa, DataType>> {
 protected:
  void SetUp() override {
    if (!isaSupported(isa)) GTEST_SKIP() << "this processor has no " << nameOf(isa);
  }
  const Isa isa = std::get<0>(GetParam());
  const DataType type = std::get<1>(GetParam());
  // Returns the reductions that the type supports.
  std::vector<ReduceOp> operations() const {
    std::vector<ReduceOp> all;
    for (int op = 0; op < kReduceOpCount; ++op) {
      if (supports(static_cast<ReduceOp>(op), type)) all.push_back(static_cast<ReduceOp>(op));
    }
    return all;
  }
  std::mt19937_64 random{static_cast<uint64_t>(type) * 8 + static_cast<uint64_t>(isa)};
};

TEST_P(ReduceKernelTest, EverySmallCountMatchesTheReferenceForEveryShape) {
  constexpr std::pair<int, int> shapes[] = {{1, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 2}, {2, 3}, {3, 1}, {4, 2}, {8, 5}};
  for (const ReduceOp op : operations()) {
    for (size_t count = 0; count <= 300; ++count) {
      for (const auto& [nsrc, ndst] : shapes) {
        const auto divisor = static_cast<uint32_t>(1 + random() % 9);
        ASSERT_NO_FATAL_FAILURE(expectCallMatchesReference({type, op, isa, count, nsrc, ndst, divisor}, random));
      }
    }
  }
}

TEST_P(ReduceKernelTest, LargeCountsMatchTheReferenceWhateverIsStreamed) {
  constexpr std::pair<int, int> shapes[] = {{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}, {2, 4}, {5, 1}};
  for (const ReduceOp op : operations()) {
    for (const auto& [nsrc, ndst] : shapes) {
      for (unsigned mask = 0; mask < (1u << ndst); ++mask) {
        // Kernels that skip whole elements reach an aligned address only from a multiple of the element size. Tests
        // buffers that begin at such multiples, and others.
        for (const size_t step : {size_t{1}, sizeOf(type), size_t{64}}) {
          const size_t count = 1024 + random() % 4096;
          ASSERT_NO_FATAL_FAILURE(
              expectCallMatchesReference({type, op, isa, count, nsrc, ndst, 3, mask}, random, step));
        }
      }
    }
  }
}

TEST_P(ReduceKernelTest, ADestinationMayBeAnyOfTheSources) {
  for (const ReduceOp op : operations()) {
    for (int nsrc = 1; nsrc <= 4; ++nsrc) {
      for (int inPlace = 0; inPlace < nsrc; ++inPlace) {
        for (const int ndst : {1, 2, 3}) {
          for (const size_t count : {1, 7, 100, 2500}) {
            const auto mask = static_cast<unsigned>(random() % 8);
            ASSERT_NO_FATAL_FAILURE(
                expectCallMatchesReference({type, op, isa, count, nsrc, ndst, 2, mask, inPlace}, random));
          }
        }
      }
    }
  }
}

TEST_P(ReduceKernelTest, NoDestinationIsNoWork) {
  for (const ReduceOp op : operations()) {
    for (const int nsrc : {1, 2, 3}) {
      ASSERT_NO_FATAL_FAILURE(expectCallMatchesReference({type, op, isa, 1000, nsrc, 0}, random));
    }
  }
}

TEST_P(ReduceKernelTest, MoreDestinationsThanTheMaskHasBitsAreAllWritten) {
  for (const ReduceOp op : operations()) {
    ASSERT_NO_FATAL_FAILURE(expectCallMatchesReference({type, op, isa, 777, 1, 40, 1, ~0u}, random));
    ASSERT_NO_FATAL_FAILURE(expectCallMatchesReference({type, op, isa, 777, 3, 40, 7, ~0u}, random));
  }
}

// Of zeros with different signs, that of the later source must be the result, at every place in a register and in the
// remainder.
TEST_P(ReduceKernelTest, BetweenZerosOfDifferentSignMinimumAndMaximumTakeTheLaterSource) {
  const size_t bytes = sizeOf(type);
  if (isInteger(type)) return;  // integers have one zero
  const auto fillZeros = [&](char* to, size_t count) {
    std::memset(to, 0, count * bytes);
    for (size_t i = 0; i < count; ++i) to[(i + 1) * bytes - 1] = random() % 2 == 0 ? 0 : '\x80';
  };
  for (const ReduceOp op : {ReduceOp::Min, ReduceOp::Max}) {
    for (const size_t nsrc : {2u, 3u}) {
      for (size_t count = 1; count <= 3000; count += count < 300 ? 1 : 450) {
        std::vector<GuardedBlock> sources;
        std::vector<const void*> pointers;
        for (size_t s = 0; s < nsrc; ++s) {
          sources.emplace_back(count * bytes, random() % 65);
          fillZeros(sources.back().data(), count);
          pointers.push_back(sources.back().data());
        }
        GuardedBlock result(count * bytes, random() % 65);
        void* to = result.data();
        reduceCopyKernel(type, op, isa)(&to, 1, pointers.data(), static_cast<int>(nsrc), count, PostOp{}, 1);
        ASSERT_EQ(std::memcmp(to, pointers.back(), count * bytes), 0)
            << nameOf(isa) << " " << nameOf(type) << " " << nameOf(op) << " count=" << count << " nsrc=" << nsrc;
      }
    }
  }
}

TEST_P(ReduceKernelTest, AveragesDivideByAnyNumberOfRanks) {
  for (const uint32_t divisor :
       {2u, 3u, 8u, 10u, 127u, 128u, 129u, 255u, 256u, 1000u, 65536u, 0x7fffffffu, 0x80000000u, ~0u}) {
    for (const auto& [nsrc, ndst] : {std::pair{1, 1}, std::pair{2, 1}, std::pair{3, 2}}) {
      ASSERT_NO_FATAL_FAILURE(expectCallMatchesReference({type, ReduceOp::Avg, isa, 500, nsrc, ndst, divisor}, random));
    }
  }
}

std::string kernelName(const testing::TestParamInfo<std::tuple<Isa, DataType>>& info) {
  return std::string(nameOf(std::get<0>(info.param))) + "_" + nameOf(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(AllKernels, ReduceKernelTest,
                         testing::Combine(testing::Values(Isa::Portable, Isa::Avx2, Isa::Avx512),
                                          testing::Values(DataType::Int8, DataType::Uint8, DataType::Int32,
                                                          DataType::Uint32, DataType::Int64, DataType::Uint64,
                                                          DataType::Float16, DataType::Bfloat16, DataType::Float32,
                                                          DataType::Float64, DataType::Float8E4m3, DataType::Float8E5m2,
                                                          DataType::Int16, DataType::Uint16)),
                         kernelName);

// ---- Chosen values. The expected results are constants, not computed by the reference.

class ReduceValueTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!isaSupported(GetParam())) GTEST_SKIP() << "this processor has no " << nameOf(GetParam());
  }

  // Reduces one value per source: as a single element, and as 65 equal elements, which fill registers and leave a
  // remainder.
  template <class S>
  S fold(DataType type, ReduceOp op, std::vector<S> values, uint32_t divisor = 1) {
    S results[2];
    for (const size_t count : {size_t{1}, size_t{65}}) {
      std::vector<std::vector<S>> sources;
      std::vector<const void*> pointers;
      for (const S value : values) sources.emplace_back(count, value);
      for (const auto& source : sources) pointers.push_back(source.data());
      std::vector<S> out(count);
      void* to = out.data();
      reduceCopyKernel(type, op, GetParam())(&to, 1, pointers.data(), static_cast<int>(pointers.size()), count,
                                             PostOp{divisor}, 0);
      for (const S& each : out) EXPECT_EQ(std::memcmp(&each, &out[0], sizeof each), 0);
      results[count == 1 ? 0 : 1] = out[0];
    }
    EXPECT_EQ(std::memcmp(&results[0], &results[1], sizeof(S)), 0);
    return results[0];
  }
};

INSTANTIATE_TEST_SUITE_P(AllIsas, ReduceValueTest, testing::Values(Isa::Portable, Isa::Avx2, Isa::Avx512),
                         [](const auto& info) { return std::string(nameOf(info.param)); });

TEST_P(ReduceValueTest, Float16RoundsOnceAndToNearestEven) {
  using V = std::vector<uint16_t>;
  const auto sum = [&](V values) { return fold<uint16_t>(DataType::Float16, ReduceOp::Sum, values); };
  EXPECT_EQ(sum({0x3c00, 0x3c00}), 0x4000);          // 1 + 1
  EXPECT_EQ(sum({0x6800, 0x3c00}), 0x6800);          // 2048 + 1: a tie, to even
  EXPECT_EQ(sum({0x6801, 0x3c00}), 0x6802);          // 2050 + 1: a tie, to even
  EXPECT_EQ(sum({0x6800, 0x3c00, 0x3c00}), 0x6801);  // 2048 + 1 + 1 = 2050, lost if it were rounded twice
  EXPECT_EQ(sum({0x7bff, 0x4b80}), 0x7bff);          // 65504 + 15 stays below the tie
  EXPECT_EQ(sum({0x7bff, 0x4c00}), 0x7c00);          // 65504 + 16 = 65520: infinity
  EXPECT_EQ(sum({0x0001, 0x0001}), 0x0002);          // subnormals
  EXPECT_EQ(sum({0x03ff, 0x0001}), 0x0400);          // into the normals
  EXPECT_EQ(sum({0x8000, 0x8000}), 0x8000);          // -0
  EXPECT_EQ(sum({0x7c00, 0xfc00}), 0xfe00);          // inf - inf
  EXPECT_EQ(sum({0x7d01, 0x3c00}), 0x7f01);          // a NaN is kept and becomes quiet
  EXPECT_EQ(fold<uint16_t>(DataType::Float16, ReduceOp::Avg, V{0x0001, 0x0000}, 2), 0x0000);  // a tie, to even
  EXPECT_EQ(fold<uint16_t>(DataType::Float16, ReduceOp::Avg, V{0x0003, 0x0000}, 2), 0x0002);
  EXPECT_EQ(fold<uint16_t>(DataType::Float16, ReduceOp::Avg, V{0x7bff, 0x7bff}, 2),
            0x7bff);  // the sum may exceed 65504
}

TEST_P(ReduceValueTest, Bfloat16RoundsOnceAndToNearestEven) {
  using V = std::vector<uint16_t>;
  const auto sum = [&](V values) { return fold<uint16_t>(DataType::Bfloat16, ReduceOp::Sum, values); };
  EXPECT_EQ(sum({0x3f80, 0x3f80}), 0x4000);          // 1 + 1
  EXPECT_EQ(sum({0x4380, 0x3f80}), 0x4380);          // 256 + 1: a tie, to even
  EXPECT_EQ(sum({0x4381, 0x3f80}), 0x4382);          // 258 + 1: a tie, to even
  EXPECT_EQ(sum({0x4380, 0x3f80, 0x3f80}), 0x4381);  // 256 + 1 + 1
  EXPECT_EQ(sum({0x7f7f, 0x7f7f}), 0x7f80);          // overflow
  EXPECT_EQ(sum({0x0001, 0x0001}), 0x0002);          // subnormals are not flushed
  EXPECT_EQ(sum({0x7f81, 0x3f80}), 0x7fc1);          // a NaN never rounds up to an infinity
  EXPECT_EQ(fold<uint16_t>(DataType::Bfloat16, ReduceOp::Avg, V{0x4000, 0x4040}, 2), 0x4020);  // 2.5
}

TEST_P(ReduceValueTest, E4m3RoundsOnceAndSaturates) {
  using V = std::vector<uint8_t>;
  const auto sum = [&](V values) { return fold<uint8_t>(DataType::Float8E4m3, ReduceOp::Sum, values); };
  EXPECT_EQ(sum({0x38, 0x38}), 0x40);        // 1 + 1
  EXPECT_EQ(sum({0x58, 0x38}), 0x58);        // 16 + 1: a tie, to even
  EXPECT_EQ(sum({0x59, 0x38}), 0x5a);        // 18 + 1: a tie, to even
  EXPECT_EQ(sum({0x58, 0x38, 0x38}), 0x59);  // 16 + 1 + 1 = 18, lost if it were rounded twice
  EXPECT_EQ(sum({0x7e, 0x58}), 0x7e);        // 448 + 16 = 464, a tie with 480, which the format lacks
  EXPECT_EQ(sum({0x7e, 0x7e}), 0x7e);        // 896 saturates: it is no NaN
  EXPECT_EQ(sum({0xfe, 0xfe}), 0xfe);        // -896 saturates, too
  EXPECT_EQ(sum({0x7e, 0x7e, 0xfe}), 0x7e);  // intermediate sums do not saturate: 448 + 448 - 448
  EXPECT_EQ(sum({0x01, 0x01}), 0x02);        // subnormals
  EXPECT_EQ(sum({0x07, 0x01}), 0x08);        // into the normals
  EXPECT_EQ(sum({0x80, 0x80}), 0x80);        // -0
  EXPECT_EQ(sum({0x7f, 0x38}), 0x7f);        // a NaN is kept with its sign
  EXPECT_EQ(sum({0x38, 0xff}), 0xff);
  EXPECT_EQ(fold<uint8_t>(DataType::Float8E4m3, ReduceOp::Prod, V{0x7e, 0xfe}), 0xfe);
  EXPECT_EQ(fold<uint8_t>(DataType::Float8E4m3, ReduceOp::Min, V{0x38, 0xb8}), 0xb8);
  EXPECT_EQ(fold<uint8_t>(DataType::Float8E4m3, ReduceOp::Max, V{0x38, 0xff}), 0xff);
  EXPECT_EQ(fold<uint8_t>(DataType::Float8E4m3, ReduceOp::Avg, V{0x01, 0x00}, 2), 0x00);  // a tie, to even
  EXPECT_EQ(fold<uint8_t>(DataType::Float8E4m3, ReduceOp::Avg, V{0x03, 0x00}, 2), 0x02);
  EXPECT_EQ(fold<uint8_t>(DataType::Float8E4m3, ReduceOp::Avg, V{0x7e, 0x7e}, 2), 0x7e);  // the sum may exceed 448
}

TEST_P(ReduceValueTest, E5m2RoundsOnceAndSaturates) {
  using V = std::vector<uint8_t>;
  const auto sum = [&](V values) { return fold<uint8_t>(DataType::Float8E5m2, ReduceOp::Sum, values); };
  EXPECT_EQ(sum({0x3c, 0x3c}), 0x40);        // 1 + 1
  EXPECT_EQ(sum({0x48, 0x3c}), 0x48);        // 8 + 1: a tie, to even
  EXPECT_EQ(sum({0x49, 0x3c}), 0x4a);        // 10 + 1: a tie, to even
  EXPECT_EQ(sum({0x48, 0x3c, 0x3c}), 0x49);  // 8 + 1 + 1 = 10, lost if it were rounded twice
  EXPECT_EQ(sum({0x7b, 0x7b}), 0x7b);        // 114688 saturates: it is no infinity
  EXPECT_EQ(sum({0xfc, 0x3c}), 0xfb);        // infinities saturate, too
  EXPECT_EQ(sum({0x01, 0x01}), 0x02);        // subnormals
  EXPECT_EQ(sum({0x03, 0x01}), 0x04);        // into the normals
  EXPECT_EQ(sum({0x7c, 0xfc}), 0xfe);        // inf - inf
  EXPECT_EQ(sum({0x7d, 0x3c}), 0x7f);        // a NaN is kept and becomes quiet
  EXPECT_EQ(sum({0x3c, 0xfe}), 0xfe);
  EXPECT_EQ(fold<uint8_t>(DataType::Float8E5m2, ReduceOp::Prod, V{0x7b, 0xbc}), 0xfb);
  EXPECT_EQ(fold<uint8_t>(DataType::Float8E5m2, ReduceOp::Min, V{0xfc, 0x3c}), 0xfb);
  EXPECT_EQ(fold<uint8_t>(DataType::Float8E5m2, ReduceOp::Max, V{0x3c, 0xbc}), 0x3c);
  EXPECT_EQ(fold<uint8_t>(DataType::Float8E5m2, ReduceOp::Avg, V{0x40, 0x42}, 2), 0x41);  // 2.5
}

TEST_P(ReduceValueTest, EveryFloat16AndBfloat16SurvivesTheConversionThroughFloat32) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  const std::vector<uint16_t> negativeZero(65536, 0x8000);
  for (const DataType type : {DataType::Float16, DataType::Bfloat16}) {
    const int infinity = type == DataType::Float16 ? 0x7c00 : 0x7f80;
    const int quiet = type == DataType::Float16 ? 0x200 : 0x40;
    const void* sources[] = {all.data(), negativeZero.data()};
    std::vector<uint16_t> out(65536);
    void* to = out.data();
    reduceCopyKernel(type, ReduceOp::Sum, GetParam())(&to, 1, sources, 2, out.size(), PostOp{}, 0);
    for (int i = 0; i < 65536; ++i) {
      const bool isNan = (i & 0x7fff) > infinity;
      ASSERT_EQ(out[i], isNan ? i | quiet : i) << nameOf(type);
    }
  }
}

TEST_P(ReduceValueTest, MinimumAndMaximumPropagateNan) {
  const float nan = reference::bits<float>(0x7fc00123u);
  const float otherNan = reference::bits<float>(0xffc00456u);
  const auto word = [](float f) { return reference::bits<uint32_t>(f); };
  for (const ReduceOp op : {ReduceOp::Min, ReduceOp::Max}) {
    EXPECT_EQ(word(fold<float>(DataType::Float32, op, {nan, 1.0f})), word(nan));
    EXPECT_EQ(word(fold<float>(DataType::Float32, op, {1.0f, nan})), word(nan));
    EXPECT_EQ(word(fold<float>(DataType::Float32, op, {nan, otherNan})), word(nan));
    EXPECT_EQ(word(fold<float>(DataType::Float32, op, {1.0f, nan, 2.0f, otherNan})), word(nan));
    EXPECT_EQ(word(fold<float>(DataType::Float32, op, {0.0f, -0.0f})), word(-0.0f));
    EXPECT_EQ(word(fold<float>(DataType::Float32, op, {-0.0f, 0.0f})), word(0.0f));
  }
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(fold<float>(DataType::Float32, ReduceOp::Min, {1.0f, -infinity, 3.0f}), -infinity);
  EXPECT_EQ(fold<float>(DataType::Float32, ReduceOp::Max, {1.0f, infinity, 3.0f}), infinity);
}

TEST_P(ReduceValueTest, TheFirstNanOfASumOrProductIsKept) {
  const double first = reference::bits<double>(uint64_t{0x7ff8000000000111});
  const double second = reference::bits<double>(uint64_t{0xfff8000000000222});
  for (const ReduceOp op : {ReduceOp::Sum, ReduceOp::Prod}) {
    EXPECT_EQ(reference::bits<uint64_t>(fold<double>(DataType::Float64, op, {first, second})), 0x7ff8000000000111u);
    EXPECT_EQ(reference::bits<uint64_t>(fold<double>(DataType::Float64, op, {second, first})), 0xfff8000000000222u);
  }
}

TEST_P(ReduceValueTest, IntegersWrapAndAveragesTruncateTowardsZero) {
  EXPECT_EQ(fold<int8_t>(DataType::Int8, ReduceOp::Sum, {127, 1}), -128);
  EXPECT_EQ(fold<uint8_t>(DataType::Uint8, ReduceOp::Prod, {200, 200}), 64);
  EXPECT_EQ(fold<int16_t>(DataType::Int16, ReduceOp::Sum, {32767, 1}), -32768);
  EXPECT_EQ(fold<uint16_t>(DataType::Uint16, ReduceOp::Prod, {60000, 60000}), 41984);
  EXPECT_EQ(fold<int16_t>(DataType::Int16, ReduceOp::Avg, {-3, -4}, 2), -3);
  EXPECT_EQ(fold<int16_t>(DataType::Int16, ReduceOp::Min, {-1, 1}), -1);
  EXPECT_EQ(fold<uint16_t>(DataType::Uint16, ReduceOp::Max, {65535, 1}), 65535);
  EXPECT_EQ(fold<uint16_t>(DataType::Uint16, ReduceOp::Avg, {65535, 0}, 7), 9362);
  EXPECT_EQ(fold<int32_t>(DataType::Int32, ReduceOp::Prod, {0x10001, 0x10001}), 0x20001);
  EXPECT_EQ(fold<int64_t>(DataType::Int64, ReduceOp::Sum, {INT64_MAX, 1}), INT64_MIN);
  EXPECT_EQ(fold<int8_t>(DataType::Int8, ReduceOp::Avg, {100, 100}, 2), -28);   // 200 wraps to -56
  EXPECT_EQ(fold<uint8_t>(DataType::Uint8, ReduceOp::Avg, {200, 100}, 2), 22);  // 300 wraps to 44
  EXPECT_EQ(fold<int64_t>(DataType::Int64, ReduceOp::Avg, {INT64_MAX, 1}, 2), INT64_MIN / 2);
  EXPECT_EQ(fold<int32_t>(DataType::Int32, ReduceOp::Avg, {-3, -4}, 2), -3);
  EXPECT_EQ(fold<int64_t>(DataType::Int64, ReduceOp::Avg, {-3, -4}, 2), -3);
  EXPECT_EQ(fold<int64_t>(DataType::Int64, ReduceOp::Avg, {-3, -4, -1}, 3), -2);
  EXPECT_EQ(fold<int32_t>(DataType::Int32, ReduceOp::Avg, {INT32_MIN, 0}, 3), INT32_MIN / 3);
  EXPECT_EQ(fold<uint32_t>(DataType::Uint32, ReduceOp::Avg, {UINT32_MAX - 1, 1}, 1), UINT32_MAX);
  EXPECT_EQ(fold<uint64_t>(DataType::Uint64, ReduceOp::Avg, {UINT64_MAX, 0}, 2), UINT64_MAX / 2);
  EXPECT_EQ(fold<uint64_t>(DataType::Uint64, ReduceOp::Avg, {UINT64_MAX, 0}, 3), UINT64_MAX / 3);
  EXPECT_EQ(fold<uint64_t>(DataType::Uint64, ReduceOp::Min, {UINT64_MAX, 1}), 1u);
  EXPECT_EQ(fold<int64_t>(DataType::Int64, ReduceOp::Min, {-1, 1}), -1);
  EXPECT_EQ(fold<uint8_t>(DataType::Uint8, ReduceOp::Max, {255, 1}), 255);
}

TEST(ReduceDispatchTest, NumbersOutsideTheEnumerationsHaveNoKernel) {
  EXPECT_EQ(reduceCopyKernel(static_cast<DataType>(kDataTypeCount), ReduceOp::Sum), nullptr);
  EXPECT_EQ(reduceCopyKernel(DataType::Int8, static_cast<ReduceOp>(kReduceOpCount)), nullptr);
  EXPECT_EQ(reduceCopyKernel(DataType::Float32, ReduceOp::Xor), nullptr);
  EXPECT_EQ(reduceCopyKernel(DataType::Int8, ReduceOp::Sum, static_cast<Isa>(kIsaCount)), nullptr);
  EXPECT_EQ(sizeOf(static_cast<DataType>(kDataTypeCount)), 0u);
}

TEST(ReduceDispatchTest, TheWidestSupportedInstructionSetIsUsed) {
  EXPECT_TRUE(isaSupported(Isa::Portable));
  EXPECT_TRUE(isaSupported(bestIsa()));
  for (int wider = static_cast<int>(bestIsa()) + 1; wider < kIsaCount; ++wider) {
    EXPECT_FALSE(isaSupported(static_cast<Isa>(wider)));
  }
  EXPECT_EQ(reduceCopyKernel(DataType::Float32, ReduceOp::Sum),
            reduceCopyKernel(DataType::Float32, ReduceOp::Sum, bestIsa()));
  EXPECT_EQ(nameOf(Isa::Avx2), std::string("avx2"));
}

}  // namespace
}  // namespace jccl::reduce_test
