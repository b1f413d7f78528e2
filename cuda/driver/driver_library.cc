// Opens the driver that NVIDIA installed on the host.
#include <dlfcn.h>

#include "cuda/driver/driver.h"

namespace jccl::driver {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

using GetAddress = Result (*)(const char* name, void** function, int version, uint64_t flags, int* why);
GetAddress getAddress = nullptr;

void* addressOf(const char* name, int version) {
  void* function = nullptr;
  int why = 0;
  return getAddress(name, &function, version, kLegacyStream, &why) == Result::Success ? function : nullptr;
}

}  // namespace

Status openDriver(FindFunction& find) {
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);  // stays open: a driver is not unloaded
  if (library == nullptr) {
    const char* text = ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one per thread
    return {Code::System, std::string(kLibrary) + " cannot be loaded: " + (text == nullptr ? "unknown" : text) +
                              "; install NVIDIA's driver, or use host buffers"};
  }
  getAddress = reinterpret_cast<GetAddress>(::dlsym(library, "cuGetProcAddress_v2"));
  if (getAddress == nullptr) {
    int version = 0;
    using GetVersion = Result (*)(int*);
    const auto getVersion = reinterpret_cast<GetVersion>(::dlsym(library, "cuDriverGetVersion"));
    if (getVersion != nullptr) (void)getVersion(&version);
    return {Code::System, std::string(kLibrary) + " is of NVIDIA's driver for CUDA " + describeVersion(version) +
                              ", expected one for CUDA " + describeVersion(12000) + " or later: install a newer one"};
  }
  find = addressOf;
  return Status::ok();
}

}  // namespace jccl::driver
