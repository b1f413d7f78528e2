// The operations on a GPU that the runtime needs, implemented over NVIDIA's driver (cuda/driver) with the library's
// types and messages. Tests run the same code over an emulated driver, whose kernels run on the CPU (cuda/test/device).
//
// Threads: any thread may call any function. All functions except those that say otherwise work on the current device:
// their caller holds a DeviceGuard whose status is Ok.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "cuda/runtime/device_context.h"

namespace jccl::device {

using Stream = void*;  // a CUstream or cudaStream_t; null: the default stream of the device
using Event = void*;
using Graph = void*;  // a CUgraphExec
struct KernelEntry;

// Lets another process open memory of this process: the handle of the allocation, and the offset of the memory in it.
struct MemoryHandle {
  uint8_t bytes[64] = {};
  uint64_t offset = 0;
};

// Allocates memory of the current device, at least 512-byte aligned and not initialised. Freeing waits for all work on
// the device, so DeviceHeap caches memory instead.
Status allocate(size_t bytes, void*& memory);
Status release(void* memory);
// Allocates host memory that devices use under the same address; zeroed.
Status allocatePinned(size_t bytes, void*& memory);
Status releasePinned(void* memory);

// Registers host memory that another library allocated, in whole pages. Kernels of all devices then use it under the
// same address until it is unregistered. A page must not be registered twice at the same time.
Status registerHost(void* memory, size_t bytes);
Status unregisterHost(void* memory);

// Exports memory of cuMemAlloc, as from allocate(), as a legacy handle of CUDA IPC. Other memory has no such handles.
Status exportMemory(void* memory, MemoryHandle& handle);
// Opens memory of another process. The driver refuses it in the process that exported the memory.
Status openMemory(const MemoryHandle& handle, void*& memory);
Status closeMemory(void* memory);

// Device memory behind a file descriptor, from the driver's virtual memory management. Another process can map it even
// if the driver refuses the legacy handles of exportMemory(). The memory lives until every process has unmapped it.
struct DescriptorMemory {
  void* address = nullptr;
  // A multiple of the driver's allocation granularity.
  size_t bytes = 0;
  uint64_t allocation = 0;  // the driver's handle; 0 if another process allocated the memory
};
// Returns an error with the reason if the current device does not support DescriptorMemory.
Status hasDescriptorMemory();
// Allocates at least `bytes` on the current device, not initialised. Only this device can use the memory.
Status allocateForDescriptors(size_t bytes, DescriptorMemory& memory);
// Allocates at least `bytes` of the current device like allocate(), but by virtual memory management: allocating waits
// for no kernel, and only this device can use the memory. The memory cannot be exported. Returns an error with the
// reason if the device does not support this.
Status allocateMapped(size_t bytes, DescriptorMemory& memory);
// Returns true if network adapters can use memory of allocateMapped() on the current device.
bool servesAdapters();
// Lets another device of this process, which can reach the memory's device, use the memory.
Status letUse(const DescriptorMemory& memory, int device);
// Creates a new descriptor, which the caller closes, for memory that this process allocated.
Status exportDescriptor(const DescriptorMemory& memory, int& descriptor);
// Creates a new descriptor for exportable memory that the application allocated. `memory` is any address in it.
Status exportMappedDescriptor(void* memory, int& descriptor);
// Maps the memory of another process for the current device. `bytes` is the size that its owner reports. The caller
// keeps the descriptor.
Status importDescriptor(int descriptor, size_t bytes, DescriptorMemory& memory);
// Unmaps the memory. No kernel of this process may use it any more.
Status unmapMemory(DescriptorMemory& memory);

// Creates a dma-buf, by which drivers of other devices reach memory of allocate(). `memory` and `bytes` must describe
// whole pages of the host. The caller closes the descriptor. The error says why the driver creates none.
Status exportDmabuf(void* memory, size_t bytes, int& descriptor);

// Creates a stream. Unless it is `blocking`, it does not wait for the default stream, nor the default stream for it.
Status createStream(Stream& stream, bool blocking = false);
Status destroyStream(Stream stream);
// Identifies a stream. While a stream is captured, the driver answers only queries for its context; any other query
// invalidates the capture.
struct StreamName {
  // Unique among the streams that exist at a time; a later stream may get the handle of a destroyed one.
  uint64_t handle = 0;
  // Unique for the life of the process; 0: not known, because the stream is captured.
  uint64_t id = 0;
};
// Names a stream of any context.
Status nameStream(Stream stream, bool capturing, StreamName& name);
struct StreamFacts {
  StreamName name;
  // True if the stream and the default stream wait for each other; false if the driver does not tell.
  bool blocking = false;
  // True for the default stream itself, but not for the default stream of a thread (CU_STREAM_PER_THREAD).
  bool isDefault = false;
};
// Returns Invalid if the stream is not in the current device's primary context. A destroyed stream must not be passed:
// the driver's behaviour is then undefined.
Status describeStream(Stream stream, const StreamName& name, StreamFacts& facts);
Status synchronize(Stream stream);
// Sets `capturing` to true if work that is put on the stream is recorded for a graph instead of executed.
Status isCapturing(Stream stream, bool& capturing);
// The threads for which a capture forbids unsafe calls, such as allocating: all threads, only the thread that began the
// capture, or none. Unless the mode is Relaxed, the thread that began a capture must also end it.
enum class CaptureMode : uint8_t { Global, ThreadLocal, Relaxed };
// Records the work that is put on the stream until endCapture(). launchGraph() puts all recorded work on a stream, any
// number of times.
Status beginCapture(Stream stream, CaptureMode mode = CaptureMode::ThreadLocal);
Status endCapture(Stream stream, Graph& graph);
Status launchGraph(Graph graph, Stream stream);
Status destroyGraph(Graph graph);
// Copies between any two of device, pinned and pageable memory, in stream order.
Status copyAsync(void* to, const void* from, size_t bytes, Stream stream);
Status fillAsync(void* memory, int byte, size_t bytes, Stream stream);

// Creates an event, which records no time.
Status createEvent(Event& event);
Status destroyEvent(Event event);
Status recordEvent(Event event, Stream stream);
Status queryEvent(Event event, bool& done);
// Later work of the stream waits for the most recent record of the event.
Status waitEvent(Stream stream, Event event);
// Counterparts of recordEvent and waitEvent for a captured stream. They act at each replay of the graph: the graph
// records the event for work outside the graph, or waits for a record made outside.
Status recordEventFromGraph(Event event, Stream stream);
Status waitEventInGraph(Stream stream, Event event);

// Streams and the host signal each other by words in pinned memory, which count up and may wrap. writeWord sets the
// word to `value` when all earlier work of the stream is done. waitWord holds later work of the stream until the word
// has reached `value`; nothing runs on the device meanwhile.
Status writeWord(Stream stream, uint32_t* word, uint32_t value);
Status waitWord(Stream stream, const uint32_t* word, uint32_t value);
inline bool hasComeTo(uint32_t word, uint32_t value) { return static_cast<int32_t>(word - value) >= 0; }

// Loads every kernel on the current device. Loading one later could wait for a kernel that spins.
Status loadKernels();
// Returns true if the driver is older than the compiled kernels, so that loadKernels() makes it compile their PTX. The
// driver keeps the result in a cache of its own.
bool compilesKernels();
// Returns an error with the reason if this build does not have the kernel for the current device. Only kernels with a
// lowest capability may be missing.
Status hasKernel(const KernelEntry& kernel);
// Computes, for each kernel, how many blocks can be resident on a multiprocessor at once; sets `blocks` to the minimum.
Status residentBlocks(int threads, int& blocks);
// Launches a kernel on `device`, the current one. `descriptor` is the kernel's only argument; the driver copies it.
Status launchKernel(int device, const KernelEntry& kernel, const void* descriptor, int blocks, int threads,
                    Stream stream);

}  // namespace jccl::device
