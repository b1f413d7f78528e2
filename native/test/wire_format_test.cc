// Properties of the formats between hosts: bounds of the error, special values, and equal bits everywhere.
#include "primitives/wire_format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace jccl::test::wire_format_test {
namespace {

constexpr WireFormat kFormats[] = {WireFormat::Bfloat16, WireFormat::Float16, WireFormat::Float8Block,
                                   WireFormat::Int8Block};
constexpr Isa kIsas[] = {Isa::Portable, Isa::Avx2, Isa::Avx512};
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// What a format, with its rounding, does to elements.
struct Rounding {
  WireFormat format;
  bool stochastic;
  Isa isa = Isa::Portable;
  uint64_t key = 7;

  template <class T>
  std::vector<uint8_t> narrow(const std::vector<T>& from, size_t position = 0) const {
    const DataType type = sizeof(T) == 8 ? DataType::Float64 : DataType::Float32;
    const size_t bytes = wireBytes(format, position, from.size());
    std::vector<uint8_t> to(bytes + 1, 0xa5);
    wireCodec(format, stochastic, type, isa).narrow(from.data(), to.data(), position, from.size(), key);
    EXPECT_EQ(0xa5, to.back()) << "wrote past the end";
    to.pop_back();
    return to;
  }

  template <class T>
  std::vector<T> widen(const std::vector<uint8_t>& from, size_t count, size_t position = 0) const {
    const DataType type = sizeof(T) == 8 ? DataType::Float64 : DataType::Float32;
    std::vector<T> to(count + 1, T{42});
    wireCodec(format, stochastic, type, isa).widen(from.data(), to.data(), position, count);
    EXPECT_EQ(T{42}, to.back()) << "wrote past the end";
    to.pop_back();
    return to;
  }

  template <class T>
  std::vector<T> operator()(const std::vector<T>& from, size_t position = 0) const {
    return widen<T>(narrow(from, position), from.size(), position);
  }
};

std::vector<Rounding> allRoundings() {
  std::vector<Rounding> all;
  for (const WireFormat format : kFormats) {
    for (const bool stochastic : {false, true}) all.push_back({format, stochastic});
  }
  return all;
}

template <class T>
bool sameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// The bound that io.jccl.WireFormat.errorBound documents for float32.
double bound(const Rounding& rounding, double value, double largest) {
  const double magnitude = std::abs(value);
  double nearest = 0;
  if (rounding.format == WireFormat::Bfloat16) nearest = std::max(magnitude * 0x1p-8, 0x1p-134);
  if (rounding.format == WireFormat::Float16) nearest = std::max(magnitude * 0x1p-11, 0x1p-25);
  if (rounding.format == WireFormat::Float8Block) {
    nearest = std::max({magnitude * 0x1p-4, largest * 0x1p-17, 0x1p-127});
  }
  if (rounding.format == WireFormat::Int8Block) nearest = std::max(largest / 250, 0x1p-127);
  return rounding.stochastic ? 2 * nearest : nearest;
}

double largestOf(const std::vector<float>& values, size_t position, size_t index) {
  const size_t block = (position + index) / kWireBlock;
  double largest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if ((position + i) / kWireBlock == block && std::isfinite(values[i])) {
      largest = std::max<double>(largest, std::abs(values[i]));
    }
  }
  return largest;
}

// Elements of magnitudes up to `scale`; `spread` powers of two lie between the largest and the smallest.
std::vector<float> randomValues(size_t count, float scale, int spread, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> unit(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) {
    value = unit(random) * scale * std::ldexp(1.0f, -static_cast<int>(random() % (spread + 1)));
  }
  return values;
}

void expectWithinBounds(const Rounding& rounding, const std::vector<float>& values, size_t position = 0) {
  const std::vector<float> rounded = rounding(values, position);
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = std::abs(static_cast<double>(rounded[i]) - values[i]);
    ASSERT_LE(error, bound(rounding, values[i], largestOf(values, position, i)))
        << "format=" << static_cast<int>(rounding.format) << " stochastic=" << rounding.stochastic << " i=" << i
        << " value=" << values[i] << " rounded=" << rounded[i];
  }
}

TEST(WireFormat, ErrorsStayWithinTheDocumentedBounds) {
  for (const Rounding& rounding : allRoundings()) {
    const bool isHalf = rounding.format == WireFormat::Float16;
    for (unsigned seed = 0; seed < 20; ++seed) {
      for (const float scale : {1.0f, 3e-5f, 6e4f, isHalf ? 1e-6f : 1e30f, isHalf ? 1e-20f : 1e-30f}) {
        expectWithinBounds(rounding, randomValues(300, scale, 24, seed), seed * 37);
      }
    }
  }
}

TEST(WireFormat, ErrorsOfTheLargestAndTheSmallestNumbersStayWithinTheBounds) {
  const float largest = std::numeric_limits<float>::max();
  const float subnormal = std::numeric_limits<float>::denorm_min();
  for (const Rounding& rounding : allRoundings()) {
    std::vector<std::vector<float>> cases = {
        {subnormal, -subnormal, 7 * subnormal, 0, -0.0f, 0x1p-127f, 0x1p-126f, -0x1.8p-126f},
        {448, 447, 449, 416, 240, 224, 225, 1, -448, 0x1p-9f},
        {127, 126.5f, 63.5f, 64, 0.5f, -127, -0.5f},
        {0x1p-117f * 448, 0x1p-118f, 0x1p-119f * 127, -0x1p-126f},
    };
    if (rounding.format != WireFormat::Bfloat16 && rounding.format != WireFormat::Float16) {
      cases.push_back({largest, -largest, largest / 2, largest / 254, 1, 0});
      cases.push_back({largest / 1.01f, largest / 1.1f, -largest / 1.07f, 0x1.dp127f, 0x1.ep127f, 0x1.fp127f});
    }
    for (const auto& values : cases) expectWithinBounds(rounding, values);
  }
}

TEST(WireFormat, OneHugeElementCostsOnlyItsBlockTheSmallOnes) {
  std::vector<float> values(2 * kWireBlock, 1.0f);
  values[5] = 1e30f;
  for (const WireFormat format : {WireFormat::Float8Block, WireFormat::Int8Block}) {
    const std::vector<float> rounded = Rounding{format, false}(values);
    EXPECT_NEAR(1e30f, rounded[5], 1e30 / 16);
    EXPECT_EQ(0, rounded[6]);
    for (size_t i = kWireBlock; i < values.size(); ++i) EXPECT_NEAR(1, rounded[i], 1e-4) << "i=" << i;
  }
}

TEST(WireFormat, BlocksOfZerosStayZero) {
  for (const Rounding& rounding : allRoundings()) {
    for (const float value : rounding(std::vector<float>(3 * kWireBlock + 5))) EXPECT_EQ(0, value);
  }
}

TEST(WireFormat, InfinitiesAndNansPassAndLeaveOthersWithinTheBounds) {
  for (const Rounding& rounding : allRoundings()) {
    std::vector<float> values = randomValues(2 * kWireBlock + 40, 100, 3, 9);
    values[3] = kInfinity;
    values[4] = -kInfinity;
    values[5] = kNan;
    values[kWireBlock + 1] = -kNan;
    values[2 * kWireBlock + 39] = -kInfinity;
    const std::vector<float> rounded = rounding(values);
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(values[i])) {
        EXPECT_TRUE(std::isnan(rounded[i])) << "i=" << i;
      } else if (std::isinf(values[i])) {
        EXPECT_EQ(values[i], rounded[i]) << "i=" << i;
      } else {
        EXPECT_LE(std::abs(rounded[i] - values[i]), bound(rounding, values[i], largestOf(values, 0, i))) << "i=" << i;
      }
    }
  }
}

TEST(WireFormat, BlocksOfOnlyInfinitiesAndNansPass) {
  for (const Rounding& rounding : allRoundings()) {
    const std::vector<float> rounded = rounding(std::vector<float>{kInfinity, kNan, -kInfinity});
    EXPECT_EQ(kInfinity, rounded[0]);
    EXPECT_TRUE(std::isnan(rounded[1]));
    EXPECT_EQ(-kInfinity, rounded[2]);
  }
}

TEST(WireFormat, NarrowingTwiceChangesNothing) {
  for (const Rounding& rounding : allRoundings()) {
    for (unsigned seed = 0; seed < 200; ++seed) {
      const float scale = std::ldexp(1.0f, static_cast<int>(seed * 7 % 240) - 125);
      std::vector<float> values = randomValues(kWireBlock + seed, scale, static_cast<int>(seed % 30), seed);
      if (seed % 5 == 0) values[seed / 2] = kInfinity;
      if (seed % 7 == 0) values[seed / 3] = kNan;
      const std::vector<float> once = rounding(values, seed);
      Rounding again = rounding;
      again.key = seed;  // other random numbers must not matter
      ASSERT_TRUE(sameBits(once, again(once, seed))) << "format=" << static_cast<int>(rounding.format)
                                                     << " stochastic=" << rounding.stochastic << " seed=" << seed;
    }
  }
}

TEST(WireFormat, EveryInstructionSetComputesTheSameBits) {
  for (Rounding rounding : allRoundings()) {
    for (unsigned seed = 0; seed < 100; ++seed) {
      std::mt19937 random(seed);
      std::vector<float> values(5 * kWireBlock + seed);
      for (float& value : values) {
        const auto bits = static_cast<uint32_t>(random());
        value = seed % 2 == 0 ? std::bit_cast<float>(bits) : static_cast<float>(static_cast<int32_t>(bits)) * 1e-9f;
      }
      rounding.isa = Isa::Portable;
      const std::vector<uint8_t> expected = rounding.narrow(values, seed);
      const std::vector<float> widened = rounding.widen<float>(expected, values.size(), seed);
      for (const Isa isa : kIsas) {
        if (!isaSupported(isa)) continue;
        rounding.isa = isa;
        ASSERT_TRUE(sameBits(expected, rounding.narrow(values, seed)))
            << nameOf(isa) << " format=" << static_cast<int>(rounding.format) << " seed=" << seed;
        ASSERT_TRUE(sameBits(widened, rounding.widen<float>(expected, values.size(), seed))) << nameOf(isa);
      }
    }
  }
}

TEST(WireFormat, DoublesAreRoundedLikeTheirFloats) {
  const std::vector<float> values = randomValues(3 * kWireBlock + 7, 5, 12, 3);
  const std::vector<double> doubles(values.begin(), values.end());
  for (const Rounding& rounding : allRoundings()) {
    EXPECT_TRUE(sameBits(rounding.narrow(values), rounding.narrow(doubles)));
    const std::vector<float> rounded = rounding(values);
    EXPECT_TRUE(sameBits(std::vector<double>(rounded.begin(), rounded.end()), rounding(doubles)));
  }
}

TEST(WireFormat, ChunksOfWholeBlocksAreRoundedLikeTheWholeBuffer) {
  const std::vector<float> values = randomValues(4 * kWireBlock, 2, 9, 4);
  for (const Rounding& rounding : allRoundings()) {
    std::vector<float> parts;
    for (size_t at = 0; at < values.size(); at += kWireBlock) {
      const std::vector<float> part(values.begin() + static_cast<long>(at),
                                    values.begin() + static_cast<long>(at + kWireBlock));
      const std::vector<float> rounded = rounding(part, at);
      parts.insert(parts.end(), rounded.begin(), rounded.end());
    }
    EXPECT_TRUE(sameBits(rounding(values), parts));
  }
}

TEST(WireFormat, StochasticRoundingHasNoBias) {
  for (const WireFormat format : kFormats) {
    std::vector<float> values = randomValues(kWireBlock, 1, 6, 5);
    values[0] = 1;
    values[1] = format == WireFormat::Float16 ? 0x1.234567p-16f : 0.3f;  // the first becomes subnormal
    std::vector<double> sums(values.size());
    constexpr int kRounds = 4000;
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<float> rounded = Rounding{format, true, bestIsa(), static_cast<uint64_t>(round)}(values);
      for (size_t i = 0; i < values.size(); ++i) sums[i] += rounded[i];
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const double step = bound({format, true}, values[i], 1);
      // The error of one rounding has a standard deviation of at most half a step: six of the mean's are allowed.
      EXPECT_NEAR(values[i], sums[i] / kRounds, 6 * step / 2 / std::sqrt(kRounds)) << "i=" << i;
    }
  }
}

TEST(WireFormat, RoundingToNearestIsNotStochastic) {
  for (const WireFormat format : kFormats) {
    const std::vector<float> values = randomValues(kWireBlock, 1, 6, 6);
    const Rounding one{format, false, Isa::Portable, 1}, other{format, false, Isa::Portable, 2};
    EXPECT_TRUE(sameBits(one(values), other(values)));
    const Rounding random{format, true, Isa::Portable, 1}, otherRandom{format, true, Isa::Portable, 2};
    EXPECT_TRUE(sameBits(random(values), random(values)));
    EXPECT_FALSE(sameBits(random(values), otherRandom(values)));
  }
}

TEST(WireFormat, WideningAcceptsAllBits) {
  std::mt19937 random(1);
  for (const Rounding& rounding : allRoundings()) {
    for (int round = 0; round < 200; ++round) {
      std::vector<uint8_t> bytes(wireBytes(rounding.format, 3, 300));
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
      EXPECT_EQ(300u, rounding.widen<float>(bytes, 300, 3).size());
    }
  }
}

TEST(WireFormat, OtherTypesHaveNoCodec) {
  EXPECT_EQ(nullptr, wireCodec(WireFormat::Bfloat16, false, DataType::Int32).narrow);
  EXPECT_EQ(nullptr, wireCodec(WireFormat::Exact, false, DataType::Float32).narrow);
  EXPECT_EQ(nullptr, wireCodec(static_cast<WireFormat>(5), false, DataType::Float32).narrow);
}

}  // namespace
}  // namespace jccl::test::wire_format_test
