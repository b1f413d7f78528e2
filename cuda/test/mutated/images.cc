// Images of the library with mutated kernels: the collective kernels are mutated, the other images are the real ones.
#include "cuda/kernels/images.cc"  // NOLINT
