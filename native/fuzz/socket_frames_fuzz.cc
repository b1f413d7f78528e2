#include "fuzz/socket_frames.h"

// libFuzzer's entry.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  jccl::fuzz::socketFrames(data, size);
  return 0;
}
