// libcuda.so.1 of a driver before CUDA 12.0: what it exports of what the library looks for.
#define JCCL_EXPORT extern "C" __attribute__((visibility("default")))

JCCL_EXPORT int cuInit(unsigned) { return 0; }

JCCL_EXPORT int cuDriverGetVersion(int* version) {
  *version = 11040;
  return 0;
}
