// Prevents the JVM from unmapping this library, which it does once it has collected the class loader that loaded the
// library.
#pragma once

namespace jccl {

// Keeps this library mapped until the process ends. Needed if foreign code holds one of our threads for ever, or stores
// addresses of our functions.
void keepMapped();

}  // namespace jccl
