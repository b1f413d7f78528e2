// Streams, captures and events.
#include <cstdint>
#include <string>

#include "cuda/driver/driver.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/driver_values.h"

namespace jccl::device {
namespace {

using driver::driver;
using driver::statusOf;

const auto kLegacyHandle = reinterpret_cast<Stream>(uintptr_t{1});     // CU_STREAM_LEGACY
const auto kPerThreadHandle = reinterpret_cast<Stream>(uintptr_t{2});  // CU_STREAM_PER_THREAD

bool isDefault(Stream stream) { return stream == nullptr || stream == kLegacyHandle; }

// Returns one number for both handles of the default stream. CU_STREAM_PER_THREAD means a different stream in each
// thread, so it has a different number in each.
uint64_t handleOf(Stream stream) {
  thread_local const uint16_t ofThisThread = 0;
  if (stream == kPerThreadHandle) return reinterpret_cast<uintptr_t>(&ofThisThread) + 1;
  return reinterpret_cast<uintptr_t>(isDefault(stream) ? kLegacyHandle : stream);
}

driver::ExecutableGraph graphOf(Graph graph) { return static_cast<driver::ExecutableGraph>(graph); }

static_assert(static_cast<int>(CaptureMode::Global) == static_cast<int>(driver::CaptureMode::Global));
static_assert(static_cast<int>(CaptureMode::ThreadLocal) == static_cast<int>(driver::CaptureMode::ThreadLocal));
static_assert(static_cast<int>(CaptureMode::Relaxed) == static_cast<int>(driver::CaptureMode::Relaxed));

// Checks that the stream belongs to the current device's primary context, which contains the library's kernels.
Status checkContext(Stream stream) {
  int device = 0;
  driver::Context primary = nullptr, context = nullptr;
  Status status = currentDevice(device);
  if (status) status = primaryContext(device, primary);
  if (status) status = statusOf("cuStreamGetCtx", driver().streamContext(streamOf(stream), &context));
  if (!status || context == primary) return status;
  int count = 0;
  if (status = countDevices(count); !status) return status;
  for (int other = 0; other < count; ++other) {
    if (other == device || !isPrimaryContext(context, other)) continue;
    return Status::invalid("the stream is one of device=" + std::to_string(other) +
                           ", expected one of device=" + std::to_string(device) + "; call cudaSetDevice(" +
                           std::to_string(device) + ") before cudaStreamCreate");
  }
  return Status::invalid("the stream was made in a context of cuCtxCreate, expected the primary context of device=" +
                         std::to_string(device) +
                         "; create it there (cuDevicePrimaryCtxRetain and cuCtxSetCurrent, or cudaStreamCreate)");
}

}  // namespace

Status createStream(Stream& stream, bool blocking) {
  driver::Stream created = nullptr;
  const unsigned flags = blocking ? 0 : driver::kStreamNonBlocking;
  Status status = statusOf("cuStreamCreate", driver().streamCreate(&created, flags));
  if (status) stream = created;
  return status;
}

Status destroyStream(Stream stream) { return statusOf("cuStreamDestroy", driver().streamDestroy(streamOf(stream))); }

Status nameStream(Stream stream, bool capturing, StreamName& name) {
  name = {handleOf(stream), 0};
  if (capturing) return Status::ok();
  unsigned long long id = 0;  // NOLINT(google-runtime-int): as the driver has it
  Status status = statusOf("cuStreamGetId", driver().streamId(streamOf(stream), &id));
  name.id = id;
  return status;
}

Status describeStream(Stream stream, const StreamName& name, StreamFacts& facts) {
  facts = {name, false, isDefault(stream)};
  Status status = checkContext(stream);
  if (!status || name.id == 0) return status;
  unsigned flags = 0;
  status = statusOf("cuStreamGetFlags", driver().streamFlags(streamOf(stream), &flags));
  if (status) facts.blocking = (flags & driver::kStreamNonBlocking) == 0;
  return status;
}

Status synchronize(Stream stream) {
  return statusOf("cuStreamSynchronize", driver().streamSynchronize(streamOf(stream)));
}

Status isCapturing(Stream stream, bool& capturing) {
  driver::CaptureStatus found = driver::CaptureStatus::None;
  const driver::Result result = driver().streamIsCapturing(streamOf(stream), &found);
  capturing = found != driver::CaptureStatus::None;
  if (found == driver::CaptureStatus::Invalidated) {
    return Status::invalid("stream capture was invalidated by an earlier call; end it with cudaStreamEndCapture");
  }
  return statusOf("cuStreamIsCapturing", result);
}

Status beginCapture(Stream stream, CaptureMode mode) {
  return statusOf("cuStreamBeginCapture",
                  driver().streamBeginCapture(streamOf(stream), static_cast<driver::CaptureMode>(mode)));
}

Status endCapture(Stream stream, Graph& graph) {
  driver::Graph captured = nullptr;
  Status status = statusOf("cuStreamEndCapture", driver().streamEndCapture(streamOf(stream), &captured));
  if (!status) return status;
  driver::ExecutableGraph ready = nullptr;
  status = statusOf("cuGraphInstantiateWithFlags", driver().graphInstantiate(&ready, captured, 0));
  (void)driver().graphDestroy(captured);
  if (status) graph = ready;
  return status;
}

Status launchGraph(Graph graph, Stream stream) {
  return statusOf("cuGraphLaunch", driver().graphLaunch(graphOf(graph), streamOf(stream)));
}

Status destroyGraph(Graph graph) { return statusOf("cuGraphExecDestroy", driver().executableDestroy(graphOf(graph))); }

Status copyAsync(void* to, const void* from, size_t bytes, Stream stream) {
  if (bytes == 0) return Status::ok();  // a driver may refuse the addresses of an empty copy
  const driver::Result result = driver().copyAsync(addressOf(to), addressOf(from), bytes, streamOf(stream));
  return result == driver::Result::Success ? Status::ok() : statusOf("cuMemcpyAsync", result, bytesFact(bytes));
}

Status fillAsync(void* memory, int byte, size_t bytes, Stream stream) {
  if (bytes == 0) return Status::ok();
  const auto value = static_cast<unsigned char>(byte);
  const driver::Result result = driver().fillAsync(addressOf(memory), value, bytes, streamOf(stream));
  return result == driver::Result::Success ? Status::ok() : statusOf("cuMemsetD8Async", result, bytesFact(bytes));
}

Status createEvent(Event& event) {
  driver::Event created = nullptr;
  Status status = statusOf("cuEventCreate", driver().eventCreate(&created, driver::kEventDisableTiming));
  if (status) event = created;
  return status;
}

Status destroyEvent(Event event) { return statusOf("cuEventDestroy", driver().eventDestroy(eventOf(event))); }

Status recordEvent(Event event, Stream stream) {
  return statusOf("cuEventRecord", driver().eventRecord(eventOf(event), streamOf(stream)));
}

Status queryEvent(Event event, bool& done) {
  const driver::Result result = driver().eventQuery(eventOf(event));
  done = result == driver::Result::Success;
  return result == driver::Result::NotReady ? Status::ok() : statusOf("cuEventQuery", result);
}

Status waitEvent(Stream stream, Event event) {
  return statusOf("cuStreamWaitEvent", driver().streamWaitEvent(streamOf(stream), eventOf(event), 0));
}

Status recordEventFromGraph(Event event, Stream stream) {
  return statusOf("cuEventRecordWithFlags",
                  driver().eventRecordWithFlags(eventOf(event), streamOf(stream), driver::kEventExternal));
}

Status waitEventInGraph(Stream stream, Event event) {
  return statusOf("cuStreamWaitEvent",
                  driver().streamWaitEvent(streamOf(stream), eventOf(event), driver::kEventExternal));
}

Status writeWord(Stream stream, uint32_t* word, uint32_t value) {
  if (driver().streamWriteValue == nullptr) return driver::missing("cuStreamWriteValue32");
  return statusOf("cuStreamWriteValue32", driver().streamWriteValue(streamOf(stream), addressOf(word), value, 0));
}

Status waitWord(Stream stream, const uint32_t* word, uint32_t value) {
  if (driver().streamWaitValue == nullptr) return driver::missing("cuStreamWaitValue32");
  return statusOf("cuStreamWaitValue32",
                  driver().streamWaitValue(streamOf(stream), addressOf(word), value, driver::kWaitUntilGreaterOrEqual));
}

}  // namespace jccl::device
