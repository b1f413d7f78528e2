// Identifies the build of this library: a digest of the native sources, which the build writes. The file build-id in
// the jar contains the same id, so that the classes recognise a library of another build.
#pragma once

namespace jccl {

// Returns 32 hexadecimal digits.
const char* buildId();

}  // namespace jccl
