// The device interface over the CUDA runtime, which is linked statically: only NVIDIA's driver has to be there.
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <cstring>
#include <string>

#include "cuda/kernels/registry.h"
#include "cuda/runtime/device_api.h"

namespace jccl::device {
namespace {

Code codeOf(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return Code::Ok;
    case cudaErrorMemoryAllocation:
      return Code::NoMemory;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidDevice:
    case cudaErrorInvalidResourceHandle:
      return Code::Invalid;
    default:
      return Code::System;
  }
}

// An error that was returned is forgotten: the application's next cudaGetLastError() must not find it.
Status statusOf(const char* call, cudaError_t error, const std::string& facts = {}) {
  if (error == cudaSuccess) return Status::ok();
  (void)cudaGetLastError();
  return {codeOf(error), std::string(call) + ": " + (facts.empty() ? "" : facts + ", ") + cudaGetErrorName(error) +
                             " (" + cudaGetErrorString(error) + ")"};
}

std::string bytesFact(size_t bytes) { return "bytes=" + std::to_string(bytes); }

cudaStream_t streamOf(Stream stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t eventOf(Event event) { return static_cast<cudaEvent_t>(event); }

// A call that only the driver has, which is resolved once.
template <class Function>
Status driverCall(const char* name, unsigned version, Function& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
  if (error != cudaSuccess) return statusOf("cudaGetDriverEntryPointByVersion", error, std::string("call=") + name);
  if (result != cudaDriverEntryPointSuccess || found == nullptr) {
    return {Code::System, std::string("NVIDIA's driver has no ") + name + "; use a newer one"};
  }
  function = reinterpret_cast<Function>(found);
  return Status::ok();
}

Status statusOfDriver(const char* call, CUresult result) {
  if (result == CUDA_SUCCESS) return Status::ok();
  return {result == CUDA_ERROR_INVALID_VALUE ? Code::Invalid : Code::System,
          std::string(call) + ": CUresult=" + std::to_string(static_cast<int>(result))};
}

CUdeviceptr addressOf(const uint32_t* word) { return reinterpret_cast<CUdeviceptr>(word); }

template <class Descriptor>
Status launchEntry(const KernelEntry& kernel, const Descriptor& descriptor, int blocks, int threads, Stream stream) {
  void* arguments[] = {const_cast<Descriptor*>(&descriptor)};
  return statusOf("cudaLaunchKernel",
                  cudaLaunchKernel(kernel.function, dim3(static_cast<unsigned>(blocks)),
                                   dim3(static_cast<unsigned>(threads)), arguments, 0, streamOf(stream)),
                  std::string("kernel=") + kernel.family + " blocks=" + std::to_string(blocks) +
                      " threads=" + std::to_string(threads));
}

}  // namespace

Status countDevices(int& count) { return statusOf("cudaGetDeviceCount", cudaGetDeviceCount(&count)); }

Status describeDevice(int ordinal, DeviceProperties& properties) {
  cudaDeviceProp found{};
  const cudaError_t error = cudaGetDeviceProperties(&found, ordinal);
  if (error != cudaSuccess) return statusOf("cudaGetDeviceProperties", error, "device=" + std::to_string(ordinal));
  properties.name = found.name;
  properties.capability = 10 * found.major + found.minor;
  properties.multiprocessors = found.multiProcessorCount;
  properties.memoryBytes = found.totalGlobalMem;
  properties.pciDomain = found.pciDomainID;
  properties.pciBus = found.pciBusID;
  properties.pciDevice = found.pciDeviceID;
  static_assert(sizeof properties.uuid == sizeof found.uuid.bytes);
  std::memcpy(properties.uuid, found.uuid.bytes, sizeof properties.uuid);
  int mps = 0;
  // A driver that does not know the attribute reports no server.
  const bool known =
      statusOf("cudaDeviceGetAttribute", cudaDeviceGetAttribute(&mps, cudaDevAttrMpsEnabled, ordinal)).isOk();
  properties.servedByMps = known && mps != 0;
  return Status::ok();
}

Status currentDevice(int& ordinal) { return statusOf("cudaGetDevice", cudaGetDevice(&ordinal)); }

Status useDevice(int ordinal) {
  return statusOf("cudaSetDevice", cudaSetDevice(ordinal), "device=" + std::to_string(ordinal));
}

Status reachDevice(int other, bool& reaches) {
  int device = 0;
  if (Status status = currentDevice(device); !status) return status;
  reaches = device == other;  // which cudaDeviceCanAccessPeer denies
  if (reaches) return Status::ok();
  int can = 0;
  const std::string pair = "device=" + std::to_string(device) + " peer=" + std::to_string(other);
  if (Status status = statusOf("cudaDeviceCanAccessPeer", cudaDeviceCanAccessPeer(&can, device, other), pair);
      !status || can == 0) {
    return status;
  }
  const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
  if (error == cudaErrorPeerAccessAlreadyEnabled) {
    (void)cudaGetLastError();
  } else if (error != cudaSuccess) {
    return statusOf("cudaDeviceEnablePeerAccess", error, pair);
  }
  reaches = true;
  return Status::ok();
}

Status allocate(size_t bytes, void*& memory) {
  return statusOf("cudaMalloc", cudaMalloc(&memory, bytes), bytesFact(bytes));
}

Status release(void* memory) { return statusOf("cudaFree", cudaFree(memory)); }

Status allocatePinned(size_t bytes, void*& memory) {
  const cudaError_t error = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
  if (error == cudaSuccess) std::memset(memory, 0, bytes);
  return statusOf("cudaHostAlloc", error, bytesFact(bytes));
}

Status releasePinned(void* memory) { return statusOf("cudaFreeHost", cudaFreeHost(memory)); }

Status registerHost(void* memory, size_t bytes) {
  cudaError_t error = cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
  if (error != cudaSuccess) return statusOf("cudaHostRegister", error, bytesFact(bytes));
  void* mapped = nullptr;
  error = cudaHostGetDevicePointer(&mapped, memory, 0);
  if (error == cudaSuccess && mapped == memory) return Status::ok();
  (void)cudaHostUnregister(memory);
  if (error != cudaSuccess) return statusOf("cudaHostGetDevicePointer", error);
  return Status::transport(
      "this device uses memory of the host under another address than the host does; use host buffers");
}

Status unregisterHost(void* memory) { return statusOf("cudaHostUnregister", cudaHostUnregister(memory)); }

Status exportMemory(void* memory, MemoryHandle& handle) {
  static_assert(sizeof(cudaIpcMemHandle_t) == sizeof handle.bytes);
  // The handle names the whole allocation. The runtime has no call for its begin, but memory of DeviceHeap is one.
  handle.offset = 0;
  return statusOf("cudaIpcGetMemHandle",
                  cudaIpcGetMemHandle(reinterpret_cast<cudaIpcMemHandle_t*>(handle.bytes), memory));
}

Status openMemory(const MemoryHandle& handle, void*& memory) {
  cudaIpcMemHandle_t own;
  std::memcpy(&own, handle.bytes, sizeof own);
  void* base = nullptr;
  const cudaError_t error = cudaIpcOpenMemHandle(&base, own, cudaIpcMemLazyEnablePeerAccess);
  memory = static_cast<uint8_t*>(base) + handle.offset;
  return statusOf("cudaIpcOpenMemHandle", error);
}

Status closeMemory(void* memory) { return statusOf("cudaIpcCloseMemHandle", cudaIpcCloseMemHandle(memory)); }

Status createStream(Stream& stream) {
  cudaStream_t created = nullptr;
  const cudaError_t error = cudaStreamCreateWithFlags(&created, cudaStreamNonBlocking);
  stream = created;
  return statusOf("cudaStreamCreateWithFlags", error);
}

Status destroyStream(Stream stream) { return statusOf("cudaStreamDestroy", cudaStreamDestroy(streamOf(stream))); }

Status streamId(Stream stream, uint64_t& id) {
#if CUDART_VERSION >= 12000
  unsigned long long found = 0;  // NOLINT(google-runtime-int): as the runtime has it
  const cudaError_t error = cudaStreamGetId(streamOf(stream), &found);
  id = found;
  return statusOf("cudaStreamGetId", error);
#else
  id = reinterpret_cast<uintptr_t>(stream);
  return Status::ok();
#endif
}

Status synchronize(Stream stream) { return statusOf("cudaStreamSynchronize", cudaStreamSynchronize(streamOf(stream))); }

Status isCapturing(Stream stream, bool& capturing) {
  cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(streamOf(stream), &found);
  capturing = found != cudaStreamCaptureStatusNone;
  if (found == cudaStreamCaptureStatusInvalidated) {
    return {Code::Invalid, "stream capture was invalidated by an earlier call; end it with cudaStreamEndCapture"};
  }
  return statusOf("cudaStreamIsCapturing", error);
}

Status beginCapture(Stream stream) {
  return statusOf("cudaStreamBeginCapture", cudaStreamBeginCapture(streamOf(stream), cudaStreamCaptureModeThreadLocal));
}

Status endCapture(Stream stream, Graph& graph) {
  cudaGraph_t captured = nullptr;
  if (const cudaError_t error = cudaStreamEndCapture(streamOf(stream), &captured); error != cudaSuccess) {
    return statusOf("cudaStreamEndCapture", error);
  }
  cudaGraphExec_t ready = nullptr;
  const cudaError_t error = cudaGraphInstantiateWithFlags(&ready, captured, 0);
  (void)cudaGraphDestroy(captured);
  graph = ready;
  return statusOf("cudaGraphInstantiateWithFlags", error);
}

Status launchGraph(Graph graph, Stream stream) {
  return statusOf("cudaGraphLaunch", cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), streamOf(stream)));
}

Status destroyGraph(Graph graph) {
  return statusOf("cudaGraphExecDestroy", cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph)));
}

Status copyAsync(void* to, const void* from, size_t bytes, Stream stream) {
  return statusOf("cudaMemcpyAsync", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, streamOf(stream)),
                  bytesFact(bytes));
}

Status fillAsync(void* memory, int byte, size_t bytes, Stream stream) {
  return statusOf("cudaMemsetAsync", cudaMemsetAsync(memory, byte, bytes, streamOf(stream)), bytesFact(bytes));
}

Status createEvent(Event& event) {
  cudaEvent_t created = nullptr;
  const cudaError_t error = cudaEventCreateWithFlags(&created, cudaEventDisableTiming);
  event = created;
  return statusOf("cudaEventCreateWithFlags", error);
}

Status destroyEvent(Event event) { return statusOf("cudaEventDestroy", cudaEventDestroy(eventOf(event))); }

Status recordEvent(Event event, Stream stream) {
  return statusOf("cudaEventRecord", cudaEventRecord(eventOf(event), streamOf(stream)));
}

Status queryEvent(Event event, bool& done) {
  const cudaError_t error = cudaEventQuery(eventOf(event));
  done = error == cudaSuccess;
  if (error == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return Status::ok();
  }
  return statusOf("cudaEventQuery", error);
}

Status waitEvent(Stream stream, Event event) {
  return statusOf("cudaStreamWaitEvent", cudaStreamWaitEvent(streamOf(stream), eventOf(event), 0));
}

Status writeWord(Stream stream, uint32_t* word, uint32_t value) {
  static PFN_cuStreamWriteValue32_v11070 write = nullptr;
  static const Status found = driverCall("cuStreamWriteValue32", 11070, write);
  if (!found) return found;
  return statusOfDriver("cuStreamWriteValue32",
                        write(streamOf(stream), addressOf(word), value, CU_STREAM_WRITE_VALUE_DEFAULT));
}

Status waitWord(Stream stream, const uint32_t* word, uint32_t value) {
  static PFN_cuStreamWaitValue32_v11070 wait = nullptr;
  static const Status found = driverCall("cuStreamWaitValue32", 11070, wait);
  if (!found) return found;
  return statusOfDriver("cuStreamWaitValue32",
                        wait(streamOf(stream), addressOf(word), value, CU_STREAM_WAIT_VALUE_GEQ));
}

Status loadKernels() {
  for (int i = 0; i < kKernelCount; ++i) {
    cudaFuncAttributes attributes{};
    const KernelEntry& kernel = kernelAt(i);
    const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel.function);
    if (error != cudaSuccess) {
      return statusOf("cudaFuncGetAttributes", error, "kernel=" + std::to_string(i) + " family=" + kernel.family);
    }
  }
  return Status::ok();
}

Status residentBlocks(int threads, int& blocks) {
  blocks = 0;
  for (int i = 0; i < kKernelCount; ++i) {
    int found = 0;
    const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&found, kernelAt(i).function, threads, 0);
    if (error != cudaSuccess) return statusOf("cudaOccupancyMaxActiveBlocksPerMultiprocessor", error);
    blocks = i == 0 || found < blocks ? found : blocks;
  }
  return Status::ok();
}

Status launchKernel(const Launch& launch, int threads, Stream stream) {
  return launchEntry(collectiveKernel(launch.choice.protocol, launch.code.collective, launch.code.type), launch,
                     static_cast<int>(launch.blocks), threads, stream);
}

Status launchKernel(const InPlaceLaunch& launch, int threads, Stream stream) {
  return launchEntry(inPlaceKernel(launch.code.collective, launch.code.type), launch, static_cast<int>(launch.blocks),
                     threads, stream);
}

Status launchKernel(const ExchangeLaunch& launch, int threads, Stream stream) {
  return launchEntry(exchangeKernel(), launch, launch.channelCount, threads, stream);
}

}  // namespace jccl::device
