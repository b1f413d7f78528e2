// What the runtime needs of a GPU: NVIDIA's driver (cuda/driver), with the library's types and messages. Tests run the same
// code over a driver of their own, whose kernels run on the CPU (cuda/test/device).
//
// Threads: all functions may be called by any thread. Those that work on the current device, which are all but those that say
// otherwise, are called while the thread holds a DeviceGuard whose status is Ok.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "cuda/kernels/launch.h"
#include "cuda/runtime/device_context.h"

namespace jccl::device {

using Stream = void*;  // a CUstream or cudaStream_t; null is the device's default stream
using Event = void*;
using Graph = void*;  // a CUgraphExec

// What another process needs to open memory of this one: the allocation's handle, and where in it the memory begins.
struct MemoryHandle {
  uint8_t bytes[64] = {};
  uint64_t offset = 0;
};

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
// The same of memory that the application has made so that it can be exported, by an address in it.
Status exportMappedDescriptor(void* memory, int& descriptor);
// Maps memory of `bytes`, as its maker has them, for the current device. The descriptor stays the caller's.
Status importDescriptor(int descriptor, size_t bytes, DescriptorMemory& memory);
// No kernel of this process uses it any more.
Status unmapMemory(DescriptorMemory& memory);

// A dma-buf of memory of allocate(), whole pages of the host, by which the drivers of other devices reach it. The caller
// closes it. Why there is none.
Status exportDmabuf(void* memory, size_t bytes, int& descriptor);

// One that does not wait for the default stream, nor the default stream for it, unless it is `blocking`.
Status createStream(Stream& stream, bool blocking = false);
Status destroyStream(Stream stream);
// While a stream is captured, drivers answer to no question about it but for its context: each other one ends the capture.
struct StreamName {
  uint64_t handle = 0;  // of those that live at a time; one that was destroyed may come again
  uint64_t id = 0;      // for the life of the process; 0: not known, the stream is captured
};
// Of any context's.
Status nameStream(Stream stream, bool capturing, StreamName& name);
struct StreamFacts {
  StreamName name;
  bool blocking =
      false;  // it waits for the default stream, and the default stream for it; false where that is not known
  bool isDefault = false;  // the default stream itself; that of a thread (CU_STREAM_PER_THREAD) is not
};
// Invalid where the stream is not of the current device's primary context. A handle of a stream that was destroyed is undefined
// behaviour in the driver.
Status describeStream(Stream stream, const StreamName& name, StreamFacts& facts);
Status synchronize(Stream stream);
// Whether what is put on the stream is recorded for a graph instead of run.
Status isCapturing(Stream stream, bool& capturing);
// Whose calls a capture forbids that could break it, such as to allocate: those of all threads, of the thread that has begun
// it, or nobody's. All but the last are ended by the thread that has begun them.
enum class CaptureMode : uint8_t { Global, ThreadLocal, Relaxed };
// Records what is put on the stream, until it ends; a graph puts all of it on a stream any number of times.
Status beginCapture(Stream stream, CaptureMode mode = CaptureMode::ThreadLocal);
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
// The same while the stream is captured, at each replay of the graph: it records the event for what is outside the graph, or
// waits for what was recorded outside.
Status recordEventFromGraph(Event event, Stream stream);
Status waitEventInGraph(Stream stream, Event event);

// Words in pinned memory between streams and the host, which count up and may wrap. The first: the word becomes `value` when
// all before it on the stream is done. The second: the stream's later work waits until the word has come to `value`; nothing
// runs on the device for that.
Status writeWord(Stream stream, uint32_t* word, uint32_t value);
Status waitWord(Stream stream, const uint32_t* word, uint32_t value);
inline bool hasComeTo(uint32_t word, uint32_t value) { return static_cast<int32_t>(word - value) >= 0; }

// Loads every kernel on the current device: doing so later could wait for one that spins.
Status loadKernels();
// Whether this build has kernels for multicast objects that run on the current device; why not.
Status hasNvlsKernels();
// The fewest blocks of any kernel that are resident on a multiprocessor at once.
Status residentBlocks(int threads, int& blocks);
Status launchKernel(const Launch& launch, int threads, Stream stream);
Status launchKernel(const InPlaceLaunch& launch, int threads, Stream stream);
Status launchKernel(const NvlsLaunch& launch, int threads, Stream stream);
Status launchKernel(const ExchangeLaunch& launch, int threads, Stream stream);

}  // namespace jccl::device
