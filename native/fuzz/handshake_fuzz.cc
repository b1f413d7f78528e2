#include "fuzz/handshake.h"

// libFuzzer's entry.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  jccl::fuzz::handshake(data, size);
  return 0;
}
