// The device interface over the emulator. In the environment: JCCL_EMULATED_GPUS, how many devices there are, 2 by default;
// JCCL_EMULATED_MPS, 1 where an MPS server is simulated.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "cuda/runtime/device_api.h"
#include "cuda/test/device/emulated_gpu.h"
#include "cuda/test/device/emulated_memory.h"
#include "cuda/test/emulated_kernels.h"

namespace jccl::device {
namespace {

using emulator::EmulatedGpu;

constexpr int kMultiprocessors = 6;
constexpr int kCapability = 90;
constexpr int kFirstBus = 0x11;  // as in descriptions of hosts that tests use
constexpr size_t kMemoryBytes = size_t{4} << 30;
constexpr size_t kAlignment = 4096;

thread_local int current = 0;

EmulatedGpu& gpu() { return EmulatedGpu::ofThisProcess(); }

EmulatedGpu::Stream* streamOf(Stream stream) {
  return stream == nullptr ? gpu().defaultStream(current) : static_cast<EmulatedGpu::Stream*>(stream);
}

Status take(size_t bytes, int byte, void*& memory) {
  memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  if (memory == nullptr) return {Code::NoMemory, "bytes=" + std::to_string(bytes) + ": no memory"};
  std::memset(memory, byte, bytes);
  return Status::ok();
}

}  // namespace

Status countDevices(int& count) {
  const char* asked = std::getenv("JCCL_EMULATED_GPUS");
  count = asked == nullptr ? 2 : std::atoi(asked);
  return Status::ok();
}

Status describeDevice(int ordinal, DeviceProperties& properties) {
  properties.name = "Emulated GPU";
  properties.capability = kCapability;
  properties.multiprocessors = kMultiprocessors;
  properties.memoryBytes = kMemoryBytes;
  std::memset(properties.uuid, 0, sizeof properties.uuid);
  properties.uuid[0] = static_cast<uint8_t>(ordinal + 1);
  properties.pciBus = kFirstBus + ordinal;
  const char* mps = std::getenv("JCCL_EMULATED_MPS");
  properties.servedByMps = mps != nullptr && std::atoi(mps) == 1;
  return Status::ok();
}

Status currentDevice(int& ordinal) {
  ordinal = current;
  return Status::ok();
}

Status useDevice(int ordinal) {
  current = ordinal;
  return Status::ok();
}

Status reachDevice(int, bool& reaches) {
  reaches = true;
  return Status::ok();
}

// No thread has written it: what is not initialised shows.
Status allocate(size_t bytes, void*& memory) {
  return emulator::sharingHas("handles") ? emulator::allocateShared(bytes, memory) : take(bytes, 0xa5, memory);
}

Status release(void* memory) {
  if (!emulator::releaseShared(memory)) std::free(memory);
  return Status::ok();
}

Status allocatePinned(size_t bytes, void*& memory) { return take(bytes, 0, memory); }
Status releasePinned(void* memory) { return release(memory); }

Status registerHost(void* memory, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(memory) % kAlignment == 0 && bytes % kAlignment == 0) return Status::ok();
  return Status::invalid("bytes=" + std::to_string(bytes) + ": not whole pages");
}
Status unregisterHost(void*) { return Status::ok(); }

Status exportMemory(void* memory, MemoryHandle& handle) { return emulator::exportShared(memory, handle); }
Status openMemory(const MemoryHandle& handle, void*& memory) {
  if (emulator::sharingHas("no-open")) return Status::transport("the emulated driver refuses to open handles");
  return emulator::openShared(handle, memory);
}
Status closeMemory(void* memory) { return emulator::closeShared(memory); }

// One of a kind that no adapter's driver takes: then the address has to do.
Status exportDmabuf(void*, size_t bytes, int& descriptor) {
  descriptor = ::memfd_create("jccl-emulated-dmabuf", MFD_CLOEXEC);
  return descriptor < 0 ? Status::system("memfd_create", "bytes=" + std::to_string(bytes)) : Status::ok();
}

Status createStream(Stream& stream) {
  stream = gpu().createStream();
  return Status::ok();
}

Status streamId(Stream stream, uint64_t& id) { return gpu().idOf(streamOf(stream), id); }

Status destroyStream(Stream stream) {
  gpu().destroyStream(streamOf(stream));
  return Status::ok();
}

Status synchronize(Stream stream) { return gpu().synchronize(streamOf(stream)); }

Status isCapturing(Stream stream, bool& capturing) {
  capturing = gpu().isCapturing(streamOf(stream));
  return Status::ok();
}

Status beginCapture(Stream stream) {
  gpu().beginCapture(streamOf(stream));
  return Status::ok();
}

Status endCapture(Stream stream, Graph& graph) {
  graph = new int(gpu().endCapture(streamOf(stream)));
  return Status::ok();
}

Status launchGraph(Graph graph, Stream stream) { return gpu().replay(*static_cast<int*>(graph), streamOf(stream)); }

Status destroyGraph(Graph graph) {
  delete static_cast<int*>(graph);
  return Status::ok();
}

Status copyAsync(void* to, const void* from, size_t bytes, Stream stream) {
  return gpu().enqueue(streamOf(stream), [=] { std::memcpy(to, from, bytes); });
}

Status fillAsync(void* memory, int byte, size_t bytes, Stream stream) {
  return gpu().enqueue(streamOf(stream), [=] { std::memset(memory, byte, bytes); });
}

Status createEvent(Event& event) {
  event = gpu().createEvent();
  return Status::ok();
}

Status destroyEvent(Event event) {
  gpu().destroyEvent(static_cast<EmulatedGpu::Event*>(event));
  return Status::ok();
}

Status recordEvent(Event event, Stream stream) {
  return gpu().record(static_cast<EmulatedGpu::Event*>(event), streamOf(stream));
}

Status queryEvent(Event event, bool& done) { return gpu().query(static_cast<EmulatedGpu::Event*>(event), done); }

Status waitEvent(Stream stream, Event event) {
  return gpu().wait(streamOf(stream), static_cast<EmulatedGpu::Event*>(event));
}

Status writeWord(Stream stream, uint32_t* word, uint32_t value) {
  return gpu().enqueue(streamOf(stream), [=] { __atomic_store_n(word, value, __ATOMIC_RELEASE); });
}

Status waitWord(Stream stream, const uint32_t* word, uint32_t value) {
  return gpu().hold(streamOf(stream), [=] { return hasComeTo(__atomic_load_n(word, __ATOMIC_ACQUIRE), value); });
}

Status loadKernels() { return Status::ok(); }

Status residentBlocks(int threads, int& blocks) {
  blocks = threads <= 256 ? 2 : 1;
  return Status::ok();
}

Status launchKernel(const Launch& launch, int threads, Stream stream) {
  return gpu().launch(
      streamOf(stream), launch.blocks, static_cast<unsigned>(threads), [launch] { test::collectiveKernel(launch); },
      "rank " + std::to_string(launch.rank));
}

Status launchKernel(const InPlaceLaunch& launch, int threads, Stream stream) {
  return gpu().launch(
      streamOf(stream), launch.blocks, static_cast<unsigned>(threads), [launch] { test::inPlaceKernel(launch); },
      "rank " + std::to_string(launch.rank) + " in place");
}

Status launchKernel(const ExchangeLaunch& launch, int threads, Stream stream) {
  return gpu().launch(
      streamOf(stream), static_cast<unsigned>(launch.channelCount), static_cast<unsigned>(threads),
      [launch] { test::exchangeKernel(launch); }, "rank " + std::to_string(launch.rank) + " exchange");
}

}  // namespace jccl::device
