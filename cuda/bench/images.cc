// Images of the benchmark: those of the library, the kernels with stamps, and small kernels of its own.
#include "cuda/kernels/images.cc"  // NOLINT
