// Calls of the emulated driver for devices, contexts, modules and launches.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "cuda/test/device/emulated_driver.h"
#include "cuda/test/device/gpu_memory.h"
#include "cuda/test/device/image_reader.h"
#include "cuda/test/device/stream_captures.h"
#include "cuda/test/emulated_kernels.h"

namespace jccl::emulator::calls {
namespace {

constexpr int kFirstBus = 0x11;  // PCI bus of the host's GPU 0, as in the tests' descriptions of hosts
constexpr size_t kMemoryBytes = size_t{4} << 30;

EmulatedDriver& self() { return EmulatedDriver::ofThisProcess(); }
EmulatedGpu& gpu() { return EmulatedGpu::ofThisProcess(); }

bool isDevice(Device device) { return device >= 0 && device < self().devices(); }

int carveoutOf(Function function, int threads) {
  const Chip& chip = self().chip();
  return function->carveout >= 0 ? carveoutBytes(chip, function->carveout)
                                 : carveoutFor(chip, self().needsOf(*function->kernel), threads);
}

int residentOf(Function function, int threads) {
  return emulator::residentBlocks(self().chip(), self().needsOf(*function->kernel), threads,
                                  carveoutOf(function, threads));
}

// Loading allocates memory of the context, so it waits for all devices that use such memory.
uint16_t usersOf(Context context) { return GpuMemory::ofThisProcess().usersOfContext(context->number); }

// Loads a function when the first call needs it: the driver loads lazily.
Result load(Function function, const char* call) {
  if (function->loaded) return Result::Success;
  const Result result = EmulatedDriver::waits(usersOf(function->context), call);
  function->loaded = result == Result::Success;
  return result;
}

// Names a launch for reports. The launch structures of exchanges, meetings and probes begin with the rank, the others
// with the same members.
std::string nameOf(const device::KernelEntry& entry, const void* argument) {
  const std::string_view family = entry.family;
  const bool first = family == "exchange" || family == "meet" || family == "probe";
  static_assert(offsetof(device::ExchangeLaunch, rank) == 0 && offsetof(device::MeetLaunch, rank) == 0 &&
                offsetof(device::ProbeLaunch, rank) == 0);
  const int rank = first ? *static_cast<const int32_t*>(argument) : static_cast<const device::Launch*>(argument)->rank;
  return "rank " + std::to_string(rank) + " " + entry.name;
}

}  // namespace

Result init(unsigned flags) {
  if (flags != 0) return Result::InvalidValue;
  self().initialise();
  return Result::Success;
}

Result driverVersion(int* version) {
  *version = self().version();
  return Result::Success;
}

Result errorName(Result error, const char** name) {
  struct Named {
    Result result;
    const char* name;
  };
  static constexpr Named kNames[] = {
      {Result::Success, "CUDA_SUCCESS"},
      {Result::InvalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {Result::OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {Result::InvalidDevice, "CUDA_ERROR_INVALID_DEVICE"},
      {Result::InvalidImage, "CUDA_ERROR_INVALID_IMAGE"},
      {Result::InvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
      {Result::InvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
      {Result::NotFound, "CUDA_ERROR_NOT_FOUND"},
      {Result::NotReady, "CUDA_ERROR_NOT_READY"},
      {Result::IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {Result::LaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
      {Result::PeerAccessAlreadyEnabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED"},
      {Result::HostMemoryAlreadyRegistered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED"},
      {Result::HostMemoryNotRegistered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED"},
      {Result::LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
      {Result::NotSupported, "CUDA_ERROR_NOT_SUPPORTED"},
      {Result::StreamCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {Result::StreamCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
      {Result::StreamCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
      {Result::StreamCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
      {Result::CapturedEvent, "CUDA_ERROR_CAPTURED_EVENT"},
      {Result::StreamCaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
  };
  for (const Named& known : kNames) {
    if (known.result != error) continue;
    *name = known.name;
    return Result::Success;
  }
  *name = nullptr;
  return Result::InvalidValue;
}

// Returns the cause of the GPU's failure as the text of any error.
Result errorText(Result error, const char** text) {
  thread_local std::string why;
  why = error == Result::Success ? "no error" : gpu().whyFailed();
  *text = why.empty() ? nullptr : why.c_str();
  return why.empty() ? Result::InvalidValue : Result::Success;
}

Result deviceCount(int* count) {
  if (!self().isInitialised()) return Result::NotInitialized;
  *count = self().devices();
  return Result::Success;
}

Result deviceGet(Device* device, int ordinal) {
  if (!isDevice(ordinal)) return Result::InvalidDevice;
  *device = ordinal;
  return Result::Success;
}

Result deviceName(char* name, int length, Device device) {
  if (!isDevice(device)) return Result::InvalidDevice;
  std::snprintf(name, static_cast<size_t>(length), "%s", self().chip().name);
  return Result::Success;
}

Result deviceAttribute(int* value, DeviceAttribute attribute, Device device) {
  if (!isDevice(device)) return Result::InvalidDevice;
  const Chip& chip = self().chip();
  const char* mps = std::getenv("JCCL_EMULATED_MPS");
  switch (attribute) {
    case DeviceAttribute::MultiprocessorCount:
      *value = chip.multiprocessors;
      break;
    case DeviceAttribute::PciBusId:
      *value = kFirstBus + self().numberOnHost(device);
      break;
    case DeviceAttribute::PciDeviceId:
    case DeviceAttribute::PciDomainId:
      *value = 0;
      break;
    case DeviceAttribute::MaxThreadsPerMultiprocessor:
      *value = chip.threads;
      break;
    case DeviceAttribute::CapabilityMajor:
      *value = chip.capability / 10;
      break;
    case DeviceAttribute::CapabilityMinor:
      *value = chip.capability % 10;
      break;
    case DeviceAttribute::MaxSharedMemoryPerMultiprocessor:
      *value = chip.sharedBytes;
      break;
    case DeviceAttribute::MaxRegistersPerMultiprocessor:
      *value = chip.registers;
      break;
    case DeviceAttribute::MaxBlocksPerMultiprocessor:
      *value = chip.blocks;
      break;
    case DeviceAttribute::PageableMemoryAccess:
      *value = self().isPageable() ? 1 : 0;
      break;
    case DeviceAttribute::VirtualMemoryManagement:
      *value = 1;
      break;
    case DeviceAttribute::DescriptorHandles:
      *value = sharingHas("descriptors") ? 1 : 0;
      break;
    case DeviceAttribute::DirectRdmaOfVirtualMemory:
    case DeviceAttribute::DmaBuf:
      *value = 1;
      break;
    case DeviceAttribute::SyncDomainCount:
      *value = chip.capability >= 90 ? 4 : 1;
      break;
    case DeviceAttribute::Multicast:
      if (self().version() < 12010) return Result::InvalidValue;  // older drivers do not know the attribute
      *value = chip.capability >= 90 && !sharingHas("no-multicast") ? 1 : 0;
      break;
    case DeviceAttribute::MpsEnabled:
      if (self().version() < 12030) return Result::InvalidValue;  // older drivers do not know the attribute
      *value = mps != nullptr && std::atoi(mps) == 1 ? 1 : 0;
      break;
  }
  return Result::Success;
}

Result deviceMemory(size_t* bytes, Device device) {
  if (!isDevice(device)) return Result::InvalidDevice;
  *bytes = kMemoryBytes;
  return Result::Success;
}

Result deviceUuid(Uuid* uuid, Device device) {
  if (!isDevice(device)) return Result::InvalidDevice;
  std::memset(uuid, 0, sizeof *uuid);
  uuid->bytes[0] = static_cast<unsigned char>(self().numberOnHost(device) + 1);
  return Result::Success;
}

Result deviceCanAccessPeer(int* can, Device device, Device peer) {
  if (!isDevice(device) || !isDevice(peer)) return Result::InvalidDevice;
  *can = device != peer ? 1 : 0;
  return Result::Success;
}

Result primaryContext(Context* context, Device device) {
  if (!isDevice(device)) return Result::InvalidDevice;
  *context = self().primaryOf(device);
  return Result::Success;
}

Result primaryContextState(Device device, unsigned* flags, int* active) {
  if (!isDevice(device)) return Result::InvalidDevice;
  *flags = 0;
  *active = self().isActive(device) ? 1 : 0;
  return Result::Success;
}

Result currentContext(Context* context) {
  *context = EmulatedDriver::current();
  return Result::Success;
}

Result pushContext(Context context) {
  if (context == nullptr) return Result::InvalidContext;
  EmulatedDriver::push(context);
  return Result::Success;
}

Result popContext(Context* context) {
  *context = EmulatedDriver::pop();
  return *context == nullptr ? Result::InvalidContext : Result::Success;
}

Result contextDevice(Device* device) {
  if (EmulatedDriver::current() == nullptr) return Result::InvalidContext;
  *device = EmulatedDriver::current()->device;
  return Result::Success;
}

Result enablePeerAccess(Context peer, unsigned flags) {
  const Context own = EmulatedDriver::current();
  if (own == nullptr || peer == nullptr || flags != 0) return Result::InvalidContext;
  if (own == peer) return Result::InvalidDevice;
  GpuMemory& memory = GpuMemory::ofThisProcess();
  if ((memory.usersOfContext(peer->number) >> own->number & 1) != 0) return Result::PeerAccessAlreadyEnabled;
  // All memory of the peer is mapped.
  const uint16_t users = static_cast<uint16_t>(memory.usersOfContext(peer->number) | 1u << own->number);
  if (const Result result = EmulatedDriver::waits(users, "cuCtxEnablePeerAccess"); result != Result::Success) {
    return result;
  }
  return memory.enablePeer(own->number, peer->number) ? Result::Success : Result::PeerAccessAlreadyEnabled;
}

Result moduleLoad(Module* module, const void* image) {
  const Context context = EmulatedDriver::current();
  if (context == nullptr) return Result::InvalidContext;
  std::string name;
  bool compiles = false;
  if (const Result result = readImage(image, self().chip().capability, self().version(), name, compiles);
      result != Result::Success) {
    return result;
  }
  // Milliseconds that the driver takes to compile the PTX of an image.
  if (const char* millis = std::getenv("JCCL_EMULATED_JIT_MILLIS"); compiles && millis != nullptr) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(millis)));
  }
  if (const Result result = EmulatedDriver::waits(usersOf(context), "cuModuleLoadData"); result != Result::Success) {
    return result;
  }
  *module = self().given(new driver::ModuleOpaque{context, name});
  return Result::Success;
}

Result moduleFunction(Function* function, Module module, const char* name) {
  for (int i = 0; i < device::kernelCount(); ++i) {
    const device::KernelEntry& kernel = device::kernelAt(i);
    if (kernel.name != name || kernel.image != module->image) continue;
    *function = self().given(new driver::FunctionOpaque{module->context, &kernel});
    return Result::Success;
  }
  return Result::NotFound;
}

Result functionLoad(Function function) { return load(function, "cuFuncLoad"); }

Result functionAttribute(int* value, FunctionAttribute attribute, Function function) {
  if (const Result result = load(function, "cuFuncGetAttribute"); result != Result::Success) return result;
  const KernelNeeds needs = self().needsOf(*function->kernel);
  switch (attribute) {
    case FunctionAttribute::MaxThreadsPerBlock:
      *value = 1024;
      break;
    case FunctionAttribute::SharedBytes:
      *value = needs.sharedBytes;
      break;
    case FunctionAttribute::LocalBytes:
      *value = 0;
      break;
    case FunctionAttribute::Registers:
      *value = needs.registers;
      break;
    case FunctionAttribute::PtxVersion:
    case FunctionAttribute::BinaryVersion:
      *value = self().chip().capability;
      break;
    case FunctionAttribute::PreferredSharedCarveout:
      *value = function->carveout;
      break;
  }
  return Result::Success;
}

Result setFunctionAttribute(Function function, FunctionAttribute attribute, int value) {
  if (attribute != FunctionAttribute::PreferredSharedCarveout || value < -1 || value > 100) return Result::InvalidValue;
  function->carveout = value;
  return Result::Success;
}

Result residentBlocks(int* blocks, Function function, int threads, size_t) {
  *blocks = residentOf(function, threads);
  return Result::Success;
}

Result launch(const LaunchConfig* config, Function function, void** arguments, void**) {
  Result result = Result::Success;
  EmulatedGpu::Stream* stream = self().streamOf(config->stream, result);
  if (stream == nullptr) return result;
  const unsigned gridX = config->gridX, blockX = config->blockX;
  if (config->gridY * config->gridZ * config->blockY * config->blockZ != 1 || gridX == 0 || blockX == 0) {
    return Result::InvalidValue;
  }
  const bool remote = config->attributeCount != 0;
  for (unsigned i = 0; i < config->attributeCount; ++i) {
    // Possibly stricter than a real driver: refuses the remote domain if the GPU has only one domain.
    const LaunchAttribute& attribute = config->attributes[i];
    if (attribute.id != driver::kSyncDomain || attribute.value.syncDomain != driver::kRemoteDomain ||
        self().chip().capability < 90) {
      return Result::InvalidValue;
    }
  }
  uint64_t id = 0;
  EmulatedGpu::StreamTraits traits;
  if (!gpu().describe(stream, id, traits) || traits.context != function->context->number) return Result::InvalidHandle;
  if (result = usable(stream); result != Result::Success) return result;
  if (result = load(function, "cuLaunchKernelEx, which loads the kernel first,"); result != Result::Success)
    return result;
  const int resident = residentOf(function, static_cast<int>(blockX));
  if (resident == 0) return Result::LaunchOutOfResources;
  const auto bodyOf = test::EmulatedFamily::find(function->kernel->family);
  std::function<void()> body = bodyOf == nullptr ? nullptr : bodyOf(*function->kernel, arguments[0]);
  if (body == nullptr) return Result::InvalidValue;
  self().countLaunch(remote);
  const EmulatedGpu::Footprint footprint{static_cast<double>(gridX) / resident,
                                         carveoutOf(function, static_cast<int>(blockX)),
                                         static_cast<uint16_t>(1u << function->context->number)};
  return EmulatedDriver::resultOf(
      gpu().launch(stream, gridX, blockX, footprint, std::move(body), nameOf(*function->kernel, arguments[0])));
}

}  // namespace jccl::emulator::calls
