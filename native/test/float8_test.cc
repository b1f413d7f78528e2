// Tests of the conversions of 8-bit floats: each instruction set against the definition of the formats, with all codes,
// and with the float32 numbers at and next to each boundary between two codes.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "primitives/reduce.h"
#include "test/float8_cases.h"
#include "test/float8_vectors.h"

namespace jccl::test::float8_test {
namespace {

using reference::bits;

class Float8Test : public testing::TestWithParam<std::tuple<Isa, DataType>> {
 protected:
  void SetUp() override {
    if (!isaSupported(isa)) GTEST_SKIP() << "this processor has no " << nameOf(isa);
  }

  void expectNarrowed(std::vector<float> numbers) const {
    numbers.resize((numbers.size() + 15) / 16 * 16, 0.0f);
    std::vector<uint8_t> codes(numbers.size());
    vectors().narrow(numbers.data(), codes.data(), numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(codes[i], format.narrow(numbers[i])) << "of 0x" << std::hex << bits<uint32_t>(numbers[i]);
    }
  }
  const Float8Vectors& vectors() const {
#if defined(__x86_64__)
    const Float8VectorsOfIsa* const sets[] = {&kFloat8Portable, &kFloat8Avx2, &kFloat8Avx512};
#else
    const Float8VectorsOfIsa* const sets[] = {&kFloat8Portable};
#endif
    const Float8VectorsOfIsa& set = *sets[static_cast<int>(isa)];
    return format.type == DataType::Float8E4m3 ? set.e4m3 : set.e5m2;
  }

  const Isa isa = std::get<0>(GetParam());
  const Float8Definition& format = std::get<1>(GetParam()) == DataType::Float8E4m3 ? kE4m3 : kE5m2;
};

INSTANTIATE_TEST_SUITE_P(All, Float8Test,
                         testing::Combine(testing::Values(Isa::Portable, Isa::Avx2, Isa::Avx512),
                                          testing::Values(DataType::Float8E4m3, DataType::Float8E5m2)),
                         [](const auto& info) {
                           return std::string(nameOf(std::get<0>(info.param))) + "_" + nameOf(std::get<1>(info.param));
                         });

TEST_P(Float8Test, EveryCodeHasItsDefinedValueAndComesBack) {
  std::vector<uint8_t> codes(256);
  for (int i = 0; i < 256; ++i) codes[i] = static_cast<uint8_t>(i);
  std::vector<float> numbers(256);
  vectors().widen(codes.data(), numbers.data(), 256);
  std::vector<uint8_t> again(256);
  vectors().narrow(numbers.data(), again.data(), 256);
  for (int i = 0; i < 256; ++i) {
    ASSERT_EQ(bits<uint32_t>(numbers[i]), bits<uint32_t>(format.widen(codes[i]))) << "code " << i;
    // Narrowing saturates infinities and makes NaNs quiet.
    const int expected = std::isinf(numbers[i]) ? i - 1 : std::isnan(numbers[i]) ? i | 2 : i;
    ASSERT_EQ(again[i], expected) << "code " << i;
  }
}

TEST_P(Float8Test, EveryBoundaryBetweenTwoCodesRoundsToNearestEven) { expectNarrowed(boundariesOf(format)); }

TEST_P(Float8Test, NumbersAllOverFloat32RoundToNearestEven) { expectNarrowed(spreadNumbers()); }

TEST_P(Float8Test, ExtremesSaturateAndNansStay) { expectNarrowed(extremes()); }

TEST(Float8DefinitionTest, ChosenCodesHaveTheValuesOfTheSpecification) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(reference::fromE4m3(0x7e), 448.0f);
  EXPECT_EQ(reference::fromE4m3(0x38), 1.0f);
  EXPECT_EQ(reference::fromE4m3(0x08), 0x1p-6f);
  EXPECT_EQ(reference::fromE4m3(0x01), 0x1p-9f);
  EXPECT_TRUE(std::isnan(reference::fromE4m3(0xff)));
  EXPECT_EQ(reference::fromE5m2(0x7b), 57344.0f);
  EXPECT_EQ(reference::fromE5m2(0x3c), 1.0f);
  EXPECT_EQ(reference::fromE5m2(0x04), 0x1p-14f);
  EXPECT_EQ(reference::fromE5m2(0x01), 0x1p-16f);
  EXPECT_EQ(reference::fromE5m2(0xfc), -infinity);
  EXPECT_TRUE(std::isnan(reference::fromE5m2(0x7d)));
}

TEST(Float8DefinitionTest, ChosenNumbersRoundAndSaturate) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(reference::toE4m3(464.0f), 0x7e);
  EXPECT_EQ(reference::toE4m3(-465.0f), 0xfe);
  EXPECT_EQ(reference::toE4m3(infinity), 0x7e);
  EXPECT_EQ(reference::toE4m3(bits<float>(0xffc00000u)), 0xff);
  EXPECT_EQ(reference::toE4m3(17.0f), 0x58);     // between 16 and 18
  EXPECT_EQ(reference::toE4m3(19.0f), 0x5a);     // between 18 and 20
  EXPECT_EQ(reference::toE4m3(0x1p-10f), 0x00);  // half of the smallest
  EXPECT_EQ(reference::toE4m3(0x1.8p-9f), 0x02);
  EXPECT_EQ(reference::toE5m2(61440.0f), 0x7b);
  EXPECT_EQ(reference::toE5m2(-infinity), 0xfb);
  EXPECT_EQ(reference::toE5m2(bits<float>(0x7fa00000u)), 0x7f);
  EXPECT_EQ(reference::toE5m2(0x1.8p-16f), 0x02);
}

}  // namespace
}  // namespace jccl::test::float8_test
