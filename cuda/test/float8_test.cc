// Tests of 8-bit floats on the device: the conversions against the definition of the formats, and every operation on
// every two numbers against the host's kernels. The emulator narrows numbers by the software of GPUs without FP8
// conversions.
#include <gtest/gtest.h>

#include <vector>

#include "cuda/primitives/elements.h"
#include "primitives/reduce.h"
#include "test/float8_cases.h"

namespace jccl::test::float8_test {
namespace {

using reference::bits;

template <class E>
struct DefinitionOf;
template <>
struct DefinitionOf<device::E4m3> {
  static constexpr Float8Definition format = kE4m3;
};
template <>
struct DefinitionOf<device::E5m2> {
  static constexpr Float8Definition format = kE5m2;
};

template <class E>
class DeviceFloat8Test : public ::testing::Test {
 protected:
  static constexpr Float8Definition format = DefinitionOf<E>::format;
};

using Elements = ::testing::Types<device::E4m3, device::E5m2>;
TYPED_TEST_SUITE(DeviceFloat8Test, Elements);

TYPED_TEST(DeviceFloat8Test, EveryCodeIsTheNumberOfItsDefinition) {
  for (int code = 0; code < 256; ++code) {
    const auto stored = static_cast<uint8_t>(code);
    ASSERT_EQ(bits<uint32_t>(TypeParam::widen(stored)), bits<uint32_t>(this->format.widen(stored))) << "code " << code;
  }
}

TYPED_TEST(DeviceFloat8Test, NumbersRoundAsTheDefinitionSays) {
  std::vector<float> numbers = boundariesOf(this->format);
  for (const float number : extremes()) numbers.push_back(number);
  for (const float number : spreadNumbers()) numbers.push_back(number);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const float other = numbers[(i + 7) % numbers.size()];
    const uint32_t expected = this->format.narrow(numbers[i]) | uint32_t{this->format.narrow(other)} << 8;
    ASSERT_EQ(TypeParam::narrowTwo(numbers[i], other), expected)
        << "of 0x" << std::hex << bits<uint32_t>(numbers[i]) << " and 0x" << bits<uint32_t>(other);
  }
}

TYPED_TEST(DeviceFloat8Test, EveryOperationOnEveryTwoNumbersEqualsTheHosts) {
  constexpr size_t kCount = 65536;
  std::vector<uint8_t> first(kCount), second(kCount), host(kCount), device(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    first[i] = static_cast<uint8_t>(i);
    second[i] = static_cast<uint8_t>(i >> 8);
  }
  const void* sources[] = {first.data(), second.data()};
  void* to = host.data();
  for (int op = 0; op < kReduceOpCount; ++op) {
    const auto operation = static_cast<ReduceOp>(op);
    if (!supports(operation, this->format.type)) continue;
    const device::Reduction reduction = device::reductionOf(this->format.type, operation, 3);
    reduceCopyKernel(this->format.type, operation)(&to, 1, sources, 2, kCount, PostOp{3}, 0);
    for (size_t i = 0; i < kCount; i += 8) {
      uint64_t a = 0, b = 0;
      std::memcpy(&a, &first[i], 8);
      std::memcpy(&b, &second[i], 8);
      device::Accumulator<TypeParam> accumulator;
      accumulator.load(a);
      accumulator.fold(b, reduction);
      if (operation == ReduceOp::Avg) accumulator.divide(reduction);
      const uint64_t result = accumulator.pack();
      std::memcpy(&device[i], &result, 8);
    }
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(device[i], host[i]) << nameOf(operation) << " of codes " << int{first[i]} << " and " << int{second[i]};
    }
  }
}

}  // namespace
}  // namespace jccl::test::float8_test
