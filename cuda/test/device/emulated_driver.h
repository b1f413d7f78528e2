// NVIDIA's driver API for emulated GPUs, with the rules of the strictest real driver. Variables of the environment:
//
//   JCCL_EMULATED_GPUS     number of devices, 2 by default
//   JCCL_EMULATED_CONTAINER  the host's GPUs that the process's container has, such as "1" or "2,0", in the order of its
//                          devices; memory of other GPUs cannot be opened
//   JCCL_EMULATED_FAULTS   see peer_faults.h
//   JCCL_EMULATED_CHIP     the devices' chip, a name of chips.h
//   JCCL_EMULATED_DRIVER   525, 550 or 580, the default: later calls are missing
//   JCCL_EMULATED_KERNELS  see emulated_images.cc
//   JCCL_EMULATED_MPS      1 to simulate an MPS server
//   JCCL_EMULATED_SHARING  see gpu_memory.h
//
// Each device has its primary context; makeContext() creates others, as cuCtxCreate does. Streams, events, functions
// and memory belong to a context. These calls wait for all kernels: to allocate, free or register memory, to load a
// module, and the first call that loads a function lazily.
#pragma once

#include <algorithm>
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
  bool active = true;       // a primary context is inactive until it is retained
  Stream legacy = nullptr;  // the context's legacy default stream
};

struct ModuleOpaque {
  Context context;
  std::string image;  // the name that the image contains
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
  bool captured = false;  // the event was last recorded in a capture
  emulator::EmulatedGpu::Stream* capturedOn = nullptr;
  uint64_t capture = 0;  // id of the capture
  uint64_t puts = 0;     // number of items on the stream when the event was recorded
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
  int devices() const { return static_cast<int>(gpus_.size()); }
  // Returns the number on the host of the GPU that is this process's device.
  int numberOnHost(int device) const { return gpus_.at(static_cast<size_t>(device)); }
  bool hasGpu(int numberOnHost) const { return std::find(gpus_.begin(), gpus_.end(), numberOnHost) != gpus_.end(); }
  const Chip& chip() const { return chip_; }

  driver::Context primaryOf(int device);
  bool isActive(int device);
  // Like cuCtxCreate: the context is current on this thread until popContext(). Returns null if there are 16 contexts.
  driver::Context makeContext(int device);
  // Like cuCtxDestroy, for a context that is current on this thread and no longer in use.
  void destroyContext(driver::Context context);
  static driver::Context current();
  static void push(driver::Context context);
  static driver::Context pop();
  driver::Context numbered(int number);
  // Returns the bits of all contexts of a device, as in the access map.
  uint16_t contextsOf(int device);

  // given() records a handle that the application gets, and takeBack() deletes a handle. Recorded handles stay
  // reachable, because an application may never destroy them.
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

  // Returns the stream of a handle; the handle of the default stream stands for that of the current context. On an
  // error, returns null and sets `result`.
  EmulatedGpu::Stream* streamOf(driver::Stream handle, Result& result);

  // Sets whether devices can access pageable memory (HMM or ATS), that is, all memory of the process, including memory
  // that the driver does not know. True by default.
  void setPageable(bool pageable) { pageable_ = pageable; }
  bool isPageable() const { return pageable_; }
  // Sets whether streams can wait for words in memory. True by default.
  void setStreamWaits(bool waits) { streamWaits_ = waits; }
  bool hasStreamWaits() const { return streamWaits_; }
  // Number of queries of pointer attributes so far.
  void countQuestion() { ++questions_; }
  uint64_t questions() const { return questions_; }
  // Number of kernels launched so far in the remote synchronization domain, or in the default one.
  void countLaunch(bool remote) { ++launches_[remote ? 1 : 0]; }
  uint64_t launches(bool remote) const { return launches_[remote ? 1 : 0]; }
  // Number of bytes that copies on streams have been asked to copy so far. Replays of graphs are not counted.
  void countCopied(size_t bytes) { copied_ += bytes; }
  uint64_t copied() const { return copied_; }

  KernelNeeds needsOf(const device::KernelEntry& kernel) const;
  // Converts the status of an EmulatedGpu call to a result. A failure of the GPU takes precedence.
  static Result resultOf(const Status& status);
  // Potentially unsafe calls (see cuThreadExchangeStreamCaptureMode) call this first.
  static Result unsafe();
  // Calls that wait for kernels call this first. `contexts` has a bit for each context whose device is waited for.
  static Result waits(uint16_t contexts, const char* call);
  static constexpr uint16_t kAllContexts = 0xffff;

 private:
  EmulatedDriver();

  std::mutex mutex_;
  std::atomic<bool> initialised_{false};
  std::atomic<bool> pageable_{true};
  std::atomic<bool> streamWaits_{true};
  std::atomic<uint64_t> questions_{0};
  std::atomic<uint64_t> launches_[2] = {};
  std::atomic<uint64_t> copied_{0};
  int version_ = 0;
  std::vector<int> gpus_;  // by device: the GPU's number on the host
  Chip chip_;
  std::vector<std::unique_ptr<driver::ContextOpaque>> contexts_;  // by number; primary contexts first, by device
  std::vector<std::pair<std::string, KernelNeeds>> needs_;
  std::set<const void*> handles_;
};

// Returns an error if captures forbid to put work on the stream. Such an attempt can invalidate captures.
Result usable(EmulatedGpu::Stream* stream);

// Allocates from a context's pool, like cudaMallocAsync: only the context's device can access the memory.
Status allocateFromPool(driver::Context context, size_t bytes, void*& memory);
// Allocates like cuMemAllocManaged.
Status allocateManaged(driver::Context context, size_t bytes, void*& memory);

// Returns the driver's function for a CUDA version, or null if the driver or that version lacks it.
void* findCall(const char* name, int version);

// The driver's functions, under their names in driver_api.h.
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
