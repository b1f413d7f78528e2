#include <cstdlib>

#include "cuda/test/emulator/thread.h"

namespace jccl::emulator {

// Never called: a machine with weak memory is refused.
void weakLoad(const void*, void*, size_t) { std::abort(); }
void weakStore(void*, const void*, size_t) { std::abort(); }
void weakFence() { std::abort(); }

}  // namespace jccl::emulator
