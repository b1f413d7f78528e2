// Which build this library is: a digest of its sources, written by the build. The classes in the jar have the same.
#pragma once

namespace jccl {

// 32 hexadecimal digits.
const char* buildId();

}  // namespace jccl
