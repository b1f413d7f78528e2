// kSanitized: true if the tests run under a sanitizer, which makes everything ten times slower. Tests then use fewer
// repetitions and smaller sizes.
#pragma once

namespace jccl::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace jccl::test
