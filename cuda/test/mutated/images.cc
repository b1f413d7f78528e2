// The images with mutated kernels; those of other files are the library's.
#include "cuda/kernels/images.cc"  // NOLINT
