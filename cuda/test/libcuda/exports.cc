// libcuda.so.1 of the emulated driver: the entry points by which libraries find a driver's functions. A function with
// several forms is found in the form of the requested CUDA version. A call of a form that JCCL does not declare ends
// the process.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda/test/device/emulated_driver.h"

namespace {

using jccl::driver::Result;

constexpr int kFound = 0, kNotFound = 1, kVersionNotSufficient = 2;  // CUdriverProcAddressQueryResult
constexpr uint64_t kPerThreadStream = 2;

// CUDA versions that introduced other forms of functions that JCCL uses. Source: cudaTypedefs.h of CUDA 13.0.
struct OtherForm {
  const char* name;
  int version;
};
constexpr OtherForm kOtherForms[] = {
    {"cuDeviceTotalMem", 2000},
    {"cuDeviceGetUuid", 9020},
    {"cuCtxPushCurrent", 2000},
    {"cuCtxPopCurrent", 2000},
    {"cuCtxGetDevice", 13000},
    {"cuMemAlloc", 2000},
    {"cuMemFree", 2000},
    {"cuMemHostRegister", 4000},
    {"cuMemHostGetDevicePointer", 2020},
    {"cuIpcOpenMemHandle", 4010},
    {"cuStreamDestroy", 2000},
    {"cuStreamGetCtx", 12050},
    {"cuStreamWriteValue32", 8000},
    {"cuStreamWaitValue32", 8000},
    {"cuStreamBeginCapture", 10000},
    {"cuEventDestroy", 2000},
};

[[noreturn]] void callOfAnotherForm() {
  std::fputs("libcuda.so.1 (emulated): a function was called in a form of another version of CUDA\n", stderr);
  std::abort();
}

int versionOf(const char* name) {
#define JCCL_COMPARE_NAME(member, known, version, need, parameters) \
  if (std::strcmp(known, name) == 0) return version;
  JCCL_DRIVER_CALLS(JCCL_COMPARE_NAME)
#undef JCCL_COMPARE_NAME
  return 0;
}

}  // namespace

#define JCCL_EXPORT extern "C" __attribute__((visibility("default")))

JCCL_EXPORT Result cuInit(unsigned flags) { return jccl::emulator::calls::init(flags); }

JCCL_EXPORT Result cuDriverGetVersion(int* version) { return jccl::emulator::calls::driverVersion(version); }

JCCL_EXPORT Result cuGetProcAddress_v2(const char* name, void** function, int version, uint64_t flags, int* status) {
  if (name == nullptr || function == nullptr || (flags & ~uint64_t{3}) != 0) return Result::InvalidValue;
  *function = jccl::emulator::findCall(name, version);
  int newest = *function == nullptr ? 0 : versionOf(name);
  bool known = versionOf(name) != 0 && versionOf(name) <= jccl::emulator::EmulatedDriver::ofThisProcess().version();
  for (const OtherForm& other : kOtherForms) {
    if (std::strcmp(other.name, name) != 0) continue;
    known = true;
    if (other.version > version || other.version < newest) continue;
    if (other.version > jccl::emulator::EmulatedDriver::ofThisProcess().version()) continue;
    newest = other.version;
    *function = reinterpret_cast<void*>(&callOfAnotherForm);
  }
  // By this flag each thread has its own default stream, so that work for the default stream would go to another
  // stream.
  if ((flags & kPerThreadStream) != 0 && *function != nullptr) *function = reinterpret_cast<void*>(&callOfAnotherForm);
  if (status != nullptr) *status = *function != nullptr ? kFound : known ? kVersionNotSufficient : kNotFound;
  return Result::Success;
}
