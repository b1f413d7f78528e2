// NVIDIA's driver over emulated GPUs, with the rules of a real one where it is strictest. In the environment:
//
//   JCCL_EMULATED_GPUS     how many devices there are, 2 by default
//   JCCL_EMULATED_CHIP     which of chips.h they are
//   JCCL_EMULATED_DRIVER   525, 550 or 580, the default: calls that came later are missing
//   JCCL_EMULATED_KERNELS  see emulated_images.cc
//   JCCL_EMULATED_MPS      1 where an MPS server is simulated
//   JCCL_EMULATED_SHARING  see gpu_memory.h
//
// Contexts: each device has its primary one; others are made by makeContext(), as cuCtxCreate does. Streams, events, functions
// and memory belong to one. Calls that wait for all kernels: allocating, freeing and registering, loading a module or, where
// that is done lazily, a function.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "cuda/driver/driver_api.h"
#include "cuda/kernels/registry.h"
#include "cuda/test/device/chips.h"
#include "cuda/test/device/emulated_gpu.h"

namespace jccl::driver {

struct ContextOpaque {
  int number = 0;
  int device = 0;
  bool primary = true;
  bool active = true;       // of a primary one: whether anybody has retained it
  Stream legacy = nullptr;  // its default stream
};

struct ModuleOpaque {
  Context context;
  device::KernelImage image;
};

struct FunctionOpaque {
  Context context = nullptr;
  const device::KernelEntry* kernel = nullptr;
  bool loaded = false;
  int carveout = -1;  // in percent; -1: no preference
};

struct EventOpaque {
  emulator::EmulatedGpu::Event* event = nullptr;
  Context context = nullptr;
  bool captured = false;  // recorded last in a capture
  emulator::EmulatedGpu::Stream* capturedOn = nullptr;
  uint64_t capture = 0;  // the number of that, and how much the stream had
  uint64_t puts = 0;
};

struct GraphOpaque {
  int number = 0;
  Context context = nullptr;
};

}  // namespace jccl::driver

namespace jccl::emulator {

using driver::Result;

class EmulatedDriver {
 public:
  static EmulatedDriver& ofThisProcess();

  void initialise() { initialised_ = true; }
  bool isInitialised() const { return initialised_; }
  int version() const { return version_; }
  int devices() const { return devices_; }
  const Chip& chip() const { return chip_; }

  driver::Context primaryOf(int device);
  bool isActive(int device);
  // As cuCtxCreate: current on this thread until popContext().
  driver::Context makeContext(int device);
  // As cuCtxDestroy: it is current on this thread, and nothing of it is used any more.
  void destroyContext(driver::Context context);
  static driver::Context current();
  static void push(driver::Context context);
  static driver::Context pop();
  driver::Context numbered(int number);
  // The bits of all contexts of a device, as users of memory.
  uint16_t contextsOf(int device);

  // What the application has been given and not destroyed, which ends with the process.
  template <class Opaque>
  Opaque* given(Opaque* handle) {
    const std::lock_guard lock(mutex_);
    handles_.insert(handle);
    return handle;
  }
  template <class Opaque>
  void takeBack(Opaque* handle) {
    {
      const std::lock_guard lock(mutex_);
      handles_.erase(handle);
    }
    delete handle;
  }

  // The stream of a handle, in the current context where it names the default one; null with an error.
  EmulatedGpu::Stream* streamOf(driver::Stream handle, Result& result);

  // Whether devices access any memory of the process, as they do with HMM or ATS: what the driver has not given or registered, it
  // does not know. They do until this says otherwise.
  void setPageable(bool pageable) { pageable_ = pageable; }
  bool isPageable() const { return pageable_; }
  // What it was asked of addresses.
  void countQuestion() { ++questions_; }
  uint64_t questions() const { return questions_; }
  // Kernels that it launched, in the domain of remote memory or the default one.
  void countLaunch(bool remote) { ++launches_[remote ? 1 : 0]; }
  uint64_t launches(bool remote) const { return launches_[remote ? 1 : 0]; }

  KernelNeeds needsOf(const device::KernelEntry& kernel) const;
  // Whatever failed in the GPU, as a call reports it.
  static Result resultOf(const Status& status);
  // The first thing that potentially unsafe calls do.
  static Result unsafe();
  // The first that those do which wait for the kernels of a device; all below 0.
  static Result waits(int device, const char* call);

 private:
  EmulatedDriver();

  std::mutex mutex_;
  std::atomic<bool> initialised_{false};
  std::atomic<bool> pageable_{true};
  std::atomic<uint64_t> questions_{0};
  std::atomic<uint64_t> launches_[2] = {};
  int version_ = 0;
  int devices_ = 2;
  Chip chip_;
  std::vector<std::unique_ptr<driver::ContextOpaque>> contexts_;  // by number; those of devices first, by ordinal
  std::vector<std::pair<std::string, KernelNeeds>> needs_;
  std::set<const void*> handles_;
};

// Whether a stream takes more, as to captures.
Result usable(EmulatedGpu::Stream* stream);

// Memory that a context takes from a pool (cudaMallocAsync): accessible from its device only.
Status allocateFromPool(driver::Context context, size_t bytes, void*& memory);
// As cuMemAllocManaged.
Status allocateManaged(driver::Context context, size_t bytes, void*& memory);

// The function that a driver of this level has for a version of CUDA; null where it has none.
void* findCall(const char* name, int version);

// The driver's functions, by the names that driver_api.h gives them.
namespace calls {
#define JCCL_DECLARE_CALL(member, name, version, need, parameters) Result member parameters;
using driver::Address;
using driver::Allocation;
using driver::AllocationProperties;
using driver::CaptureMode;
using driver::CaptureStatus;
using driver::Context;
using driver::Device;
using driver::DeviceAttribute;
using driver::Event;
using driver::ExecutableGraph;
using driver::Function;
using driver::FunctionAttribute;
using driver::Graph;
using driver::IpcHandle;
using driver::LaunchAttribute;
using driver::LaunchConfig;
using driver::MemoryAccess;
using driver::Module;
using driver::MulticastProperties;
using driver::PointerAttribute;
using driver::Stream;
using driver::Uuid;
JCCL_DRIVER_CALLS(JCCL_DECLARE_CALL)
#undef JCCL_DECLARE_CALL
}  // namespace calls

}  // namespace jccl::emulator
