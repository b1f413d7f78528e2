// Whether the tests run under a sanitizer, where everything takes ten times as long: repetitions and sizes are smaller there.
#pragma once

namespace jccl::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

}  // namespace jccl::test
