// The JVM unmaps a library when it has collected the class loader that loaded it.
#pragma once

namespace jccl {

// Keeps the library that has this function mapped until the process ends: for threads of ours that foreign code holds for
// ever, and for foreign code that keeps addresses of our functions.
void keepMapped();

}  // namespace jccl
