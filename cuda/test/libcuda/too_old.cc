// libcuda.so.1 of a driver older than CUDA 12.0. Of the functions that JCCL looks for, such a driver has only these.
#define JCCL_EXPORT extern "C" __attribute__((visibility("default")))

JCCL_EXPORT int cuInit(unsigned) { return 0; }

JCCL_EXPORT int cuDriverGetVersion(int* version) {
  *version = 11040;
  return 0;
}
