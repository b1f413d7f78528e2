// Identifies the build of this library: a digest of its sources, which the build writes. The jar's classes hold the
// same id.
#pragma once

namespace jccl {

// Returns 32 hexadecimal digits.
const char* buildId();

}  // namespace jccl
