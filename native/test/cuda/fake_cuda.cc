// A fake CUDA driver library with two GPUs. Contains only the functions by which devices are found. The environment
// variable FAKE_CUDA changes it: with `none` no device exists; with `broken` the second GPU cannot be used.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;
constexpr int kInvalidDevice = 101;
constexpr int kMajor = 75;
constexpr int kMinor = 76;

bool simulates(const char* part) {
  const char* mode = std::getenv("FAKE_CUDA");
  return mode != nullptr && std::strcmp(mode, part) == 0;
}

}  // namespace

extern "C" {

#define JCCL_EXPORT __attribute__((visibility("default")))

JCCL_EXPORT int cuInit(unsigned) { return simulates("none") ? kNoDevice : kSuccess; }

JCCL_EXPORT int cuDeviceGetCount(int* count) {
  *count = 2;
  return kSuccess;
}

JCCL_EXPORT int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return kSuccess;
}

JCCL_EXPORT int cuDeviceGetName(char* name, int length, int device) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU %d", device);
  return kSuccess;
}

JCCL_EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  *bytes = (std::size_t{141} + static_cast<std::size_t>(device)) << 30;
  return kSuccess;
}

JCCL_EXPORT int cuDeviceGetPCIBusId(char* text, int length, int device) {
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0", 0x1b + device);
  return simulates("broken") && device == 1 ? kInvalidDevice : kSuccess;
}

JCCL_EXPORT int cuDeviceGetUuid(unsigned char* bytes, int device) {
  for (int i = 0; i < 16; ++i) {
    bytes[i] = static_cast<unsigned char>(i * 17 + device);
  }
  return kSuccess;
}

JCCL_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == kMajor ? 9 : attribute == kMinor ? device : 0;
  return kSuccess;
}
}
