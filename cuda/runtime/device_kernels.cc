// Loads and launches the kernels of the library.
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cuda/driver/driver.h"
#include "cuda/kernels/image.h"
#include "cuda/kernels/registry.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/driver_values.h"

namespace jccl::device {
namespace {

using driver::driver;
using driver::statusOf;

// Share of a multiprocessor's memory that serves as shared memory, in percent of the maximum. It is the same for all
// kernels: a multiprocessor changes it only while it runs nothing, so a kernel with another share could wait for one
// that spins. Half is enough for a block of any kernel, even of the 64 KiB of capability 7.5, and leaves the other half
// to the cache.
constexpr int kSharedCarveout = 50;

using Functions = std::vector<driver::Function>;

// The kernels, loaded into the primary context of a device.
struct LoadedKernels {
  std::mutex loading;
  std::atomic<bool> complete{false};
  std::map<std::string, driver::Module> modules;  // by name of the image
  Functions functions;                            // indexed like kernelAt(); null: not for this device
  // True if the kernels get a memory synchronization domain of their own. Then fences of other kernels do not wait for
  // what these kernels write to other GPUs, nor fences of these kernels for writes of others. GPUs of compute
  // capability 9.0 and later have several domains (CUDA C Programming Guide, Memory Synchronization Domains).
  // Everything that these kernels share with others is ordered in system scope, which crosses domains.
  bool remoteDomain = false;
};

LoadedKernels& kernelsOn(int device) {
  // Never destroyed: kernels are launched until the process ends.
  static auto* all = [] {
    int count = 0;
    (void)countDevices(count);
    return new std::deque<LoadedKernels>(static_cast<size_t>(count));
  }();
  return (*all)[device];
}

Status notLoaded(const char* call, driver::Result result, int device, const std::string& kernel) {
  DeviceProperties properties;
  (void)describeDevice(device, properties);
  const std::string facts = "device=" + std::to_string(device) +
                            " capability=" + std::to_string(properties.capability) +
                            (kernel.empty() ? "" : " kernel=" + kernel);
  const Status status = statusOf(call, result, facts);
  const bool noCode = result == driver::Result::NoBinaryForGpu || result == driver::Result::UnsupportedPtxVersion ||
                      result == driver::Result::InvalidImage;
  if (!noCode) return status;
  return {status.code(), status.message() +
                             ": this build has no code for the GPU, expected some that its driver can load; use a "
                             "build with JCCL_CUDA_ARCHITECTURES=all, or a newer driver"};
}

// Loads the function at once. With lazy loading, the default, a function is loaded when it is first needed, which may
// wait until all kernels have ended (CUDA C Programming Guide, Lazy Loading).
driver::Result loadNow(driver::Function function) {
  if (driver().functionLoad != nullptr) return driver().functionLoad(function);
  int registers = 0;
  return driver().functionAttribute(&registers, driver::FunctionAttribute::Registers, function);
}

Status loadOne(driver::Module module, int device, const std::string& name, driver::Function& function) {
  const char* call = "cuModuleGetFunction";
  driver::Result result = driver().moduleFunction(&function, module, name.c_str());
  if (result == driver::Result::Success) {
    call = "cuFuncLoad";
    result = loadNow(function);
  }
  if (result == driver::Result::Success) {
    call = "cuFuncSetAttribute";
    result =
        driver().setFunctionAttribute(function, driver::FunctionAttribute::PreferredSharedCarveout, kSharedCarveout);
  }
  return result == driver::Result::Success ? Status::ok() : notLoaded(call, result, device, name);
}

// The caller holds kernels.loading.
Status loadAll(int device, LoadedKernels& kernels) {
  DeviceProperties properties;
  if (Status status = describeDevice(device, properties); !status) return status;
  kernels.remoteDomain = properties.syncDomains > 1;
  kernels.functions.resize(static_cast<size_t>(kernelCount()));
  for (int i = 0; i < kernelCount(); ++i) {
    const KernelEntry& kernel = kernelAt(i);
    if (properties.capability < kernel.capability) continue;
    if (kernel.capability != 0 && imageOf(kernel.image) == nullptr) continue;
    driver::Module& module = kernels.modules[kernel.image];
    if (module == nullptr) {
      driver::Module loaded = nullptr;
      const driver::Result result =
          driver().moduleLoad(&loaded, compilesKernels() ? ptxOf(kernel.image) : imageOf(kernel.image));
      // The PTX of kernels that not all GPUs have may be too new for the driver. Operations then use other kernels.
      if (result == driver::Result::UnsupportedPtxVersion && kernel.capability != 0) continue;
      if (result != driver::Result::Success) return notLoaded("cuModuleLoadData", result, device, kernel.name);
      module = loaded;
    }
    if (Status status = loadOne(module, device, kernel.name, kernels.functions[i]); !status) return status;
  }
  return Status::ok();
}

// Returns the kernels of a device, which is the current one, and loads them first if necessary.
Status kernelsOf(int device, const LoadedKernels*& here) {
  LoadedKernels& kernels = kernelsOn(device);
  if (!kernels.complete.load(std::memory_order_acquire)) {
    const std::lock_guard lock(kernels.loading);
    if (!kernels.complete.load(std::memory_order_relaxed)) {
      if (Status status = loadAll(device, kernels); !status) return status;
      kernels.complete.store(true, std::memory_order_release);
    }
  }
  here = &kernels;
  return Status::ok();
}

Status functionsHere(const Functions*& functions) {
  int device = 0;
  if (Status status = currentDevice(device); !status) return status;
  const LoadedKernels* kernels = nullptr;
  if (Status status = kernelsOf(device, kernels); !status) return status;
  functions = &kernels->functions;
  return Status::ok();
}

}  // namespace

Status loadKernels() {
  const Functions* functions = nullptr;
  return functionsHere(functions);
}

Status hasKernel(const KernelEntry& kernel) {
  const Functions* functions = nullptr;
  if (Status status = functionsHere(functions); !status) return status;
  if ((*functions)[numberOf(kernel)] != nullptr) return Status::ok();
  const std::string capability = std::to_string(kernel.capability / 10) + "." + std::to_string(kernel.capability % 10);
  return Status::transport(imageOf(kernel.image) == nullptr
                               ? "this build has no kernels for compute capability " + capability +
                                     " or later; build with JCCL_CUDA_ARCHITECTURES=all"
                               : "its compute capability is below " + capability +
                                     ", or its driver is too old to compile the kernels");
}

Status residentBlocks(int threads, int& blocks) {
  blocks = 0;
  const Functions* functions = nullptr;
  if (Status status = functionsHere(functions); !status) return status;
  for (int i = 0; i < kernelCount(); ++i) {
    if ((*functions)[i] == nullptr) continue;
    int found = 0;
    const driver::Result result = driver().residentBlocks(&found, (*functions)[i], threads, 0);
    if (result != driver::Result::Success) {
      return statusOf("cuOccupancyMaxActiveBlocksPerMultiprocessor", result, "kernel=" + kernelAt(i).name);
    }
    blocks = i == 0 || found < blocks ? found : blocks;
  }
  return Status::ok();
}

Status launchKernel(int device, const KernelEntry& kernel, const void* descriptor, int blocks, int threads,
                    Stream stream) {
  const LoadedKernels* kernels = nullptr;
  if (Status status = kernelsOf(device, kernels); !status) return status;
  driver::LaunchAttribute domain{driver::kSyncDomain, 0, {}};
  domain.value.syncDomain = driver::kRemoteDomain;
  const driver::LaunchConfig config{
      static_cast<unsigned>(blocks),  1, 1, static_cast<unsigned>(threads), 1, 1, 0, streamOf(stream), &domain,
      kernels->remoteDomain ? 1u : 0u};
  void* arguments[] = {const_cast<void*>(descriptor)};
  const driver::Result result = driver().launch(&config, kernels->functions[numberOf(kernel)], arguments, nullptr);
  if (result == driver::Result::Success) return Status::ok();
  return statusOf(
      "cuLaunchKernelEx", result,
      "kernel=" + kernel.name + " blocks=" + std::to_string(blocks) + " threads=" + std::to_string(threads));
}

}  // namespace jccl::device
