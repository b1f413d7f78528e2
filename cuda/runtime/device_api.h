// What the runtime needs of a GPU and its driver. Implemented twice: over the CUDA runtime (device_api_cuda.cc, in
// libjccl_cuda.so), and over the emulator (cuda/test/device, in the library of the tests), where kernels run on the CPU and
// device memory is the process's own. All above it is the same code for both.
//
// Threads: all functions may be called by any thread. The current device is that of the calling
// thread; DeviceGuard sets it and puts back what the application had.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "cuda/kernels/launch.h"

namespace jccl::device {

using Stream = void*;  // a cudaStream_t; null is the device's default stream
using Event = void*;
using Graph = void*;  // a cudaGraphExec_t

struct DeviceProperties {
  std::string name;
  int capability = 0;  // compute capability times ten
  int multiprocessors = 0;
  size_t memoryBytes = 0;
  uint8_t uuid[16] = {};  // the same device has the same in every process
  int pciDomain = 0, pciBus = 0, pciDevice = 0;
  bool servedByMps = false;  // kernels of several processes run on it together, by an MPS server
};

// What another process needs to open memory of this one: the allocation's handle, and where in it the memory begins.
struct MemoryHandle {
  uint8_t bytes[64] = {};
  uint64_t offset = 0;
};

Status countDevices(int& count);
Status describeDevice(int ordinal, DeviceProperties& properties);
Status currentDevice(int& ordinal);
Status useDevice(int ordinal);
// Whether kernels of the current device can use memory of another device of this process; switches it on.
Status reachDevice(int other, bool& reaches);

// Memory of the current device, not initialised; at least 512-byte aligned. Freeing waits for all work on the device, so
// DeviceHeap caches it.
Status allocate(size_t bytes, void*& memory);
Status release(void* memory);
// Memory of the host that devices use under the same address; zeroed.
Status allocatePinned(size_t bytes, void*& memory);
Status releasePinned(void* memory);

// Memory of the host that another library allocated, in whole pages: kernels of all devices use it under the same address
// until it is unregistered. Not twice at the same time.
Status registerHost(void* memory, size_t bytes);
Status unregisterHost(void* memory);

// By CUDA IPC's legacy handles, which know the memory of allocate() only.
Status exportMemory(void* memory, MemoryHandle& handle);
// Not in the process that exported it.
Status openMemory(const MemoryHandle& handle, void*& memory);
Status closeMemory(void* memory);

// Device memory behind a file descriptor, which another process maps where the legacy handles of exportMemory() are refused:
// the driver's virtual memory management. The memory lives until every process has unmapped it.
struct DescriptorMemory {
  void* address = nullptr;
  size_t bytes = 0;         // whole units of the driver's
  uint64_t allocation = 0;  // the driver's handle; 0 in memory that another process made
};
// Whether the current device has such memory; why not.
Status hasDescriptorMemory();
// Of the current device, at least so many bytes, not initialised; all devices of this process that reach the device use it.
Status allocateForDescriptors(size_t bytes, DescriptorMemory& memory);
// A new descriptor, which the caller closes; only of memory that this process made.
Status exportDescriptor(const DescriptorMemory& memory, int& descriptor);
// Maps memory of `bytes`, as its maker has them, for the current device. The descriptor stays the caller's.
Status importDescriptor(int descriptor, size_t bytes, DescriptorMemory& memory);
// No kernel of this process uses it any more.
Status unmapMemory(DescriptorMemory& memory);

// A dma-buf of memory of allocate(), whole pages of the host, by which the drivers of other devices reach it. The caller
// closes it. Why there is none.
Status exportDmabuf(void* memory, size_t bytes, int& descriptor);

// Streams that do not synchronise with the default stream.
Status createStream(Stream& stream);
Status destroyStream(Stream stream);
// Identifies a stream for the life of the process: the handle of one that was destroyed may come again.
Status streamId(Stream stream, uint64_t& id);
Status synchronize(Stream stream);
// Whether what is put on the stream is recorded for a graph instead of run.
Status isCapturing(Stream stream, bool& capturing);
// Records what this thread puts on the stream, until it ends; a graph puts all of it on a stream any number of times.
Status beginCapture(Stream stream);
Status endCapture(Stream stream, Graph& graph);
Status launchGraph(Graph graph, Stream stream);
Status destroyGraph(Graph graph);
// Between any two of device, pinned and pageable memory, in stream order.
Status copyAsync(void* to, const void* from, size_t bytes, Stream stream);
Status fillAsync(void* memory, int byte, size_t bytes, Stream stream);

// Events without times.
Status createEvent(Event& event);
Status destroyEvent(Event event);
Status recordEvent(Event event, Stream stream);
Status queryEvent(Event event, bool& done);
// The stream's later work waits for the event as it was recorded last.
Status waitEvent(Stream stream, Event event);

// Words in pinned memory between streams and the host, which count up and may wrap. The first: the word becomes `value` when
// all before it on the stream is done. The second: the stream's later work waits until the word has come to `value`; nothing
// runs on the device for that.
Status writeWord(Stream stream, uint32_t* word, uint32_t value);
Status waitWord(Stream stream, const uint32_t* word, uint32_t value);
inline bool hasComeTo(uint32_t word, uint32_t value) { return static_cast<int32_t>(word - value) >= 0; }

// Loads every kernel on the current device: doing so later could wait for one that spins.
Status loadKernels();
// The fewest blocks of any kernel that are resident on a multiprocessor at once.
Status residentBlocks(int threads, int& blocks);
Status launchKernel(const Launch& launch, int threads, Stream stream);
Status launchKernel(const InPlaceLaunch& launch, int threads, Stream stream);
Status launchKernel(const ExchangeLaunch& launch, int threads, Stream stream);

// The device of the calling thread while it works for a communicator.
class DeviceGuard {
 public:
  explicit DeviceGuard(int ordinal) {
    status_ = currentDevice(before_);
    if (status_ && before_ != ordinal) {
      status_ = useDevice(ordinal);
      changed_ = status_.isOk();
    }
  }
  ~DeviceGuard() {
    if (changed_) (void)useDevice(before_);
  }
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

  const Status& status() const { return status_; }

 private:
  Status status_;
  int before_ = 0;
  bool changed_ = false;
};

}  // namespace jccl::device
