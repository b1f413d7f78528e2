// Calls of the emulated driver for streams, events and graphs.
#include <cstring>

#include "cuda/driver/driver.h"
#include "cuda/test/device/emulated_driver.h"
#include "cuda/test/device/gpu_memory.h"
#include "cuda/test/device/stream_captures.h"

namespace jccl::emulator {

Result usable(EmulatedGpu::Stream* stream) {
  StreamCaptures& captures = StreamCaptures::ofThisProcess();
  if (captures.statusOf(stream) == driver::CaptureStatus::Invalidated) return Result::StreamCaptureInvalidated;
  uint64_t id = 0;
  EmulatedGpu::StreamTraits traits;
  if (!EmulatedGpu::ofThisProcess().describe(stream, id, traits)) return Result::InvalidHandle;
  // Work on the legacy default stream waits for all blocking streams of its context. If one of them is being captured,
  // the driver refuses the work and invalidates the capture.
  if (!traits.isDefault) return Result::Success;
  bool implicit = false;
  captures.invalidateIf([&](const void* captured) {
    EmulatedGpu::StreamTraits other;
    auto* candidate = static_cast<EmulatedGpu::Stream*>(const_cast<void*>(captured));
    if (!EmulatedGpu::ofThisProcess().describe(candidate, id, other)) return false;
    const bool hit = other.blocking && other.context == traits.context;
    implicit = implicit || hit;
    return hit;
  });
  return implicit ? Result::StreamCaptureImplicit : Result::Success;
}

namespace calls {
namespace {

EmulatedGpu& gpu() { return EmulatedGpu::ofThisProcess(); }
StreamCaptures& captures() { return StreamCaptures::ofThisProcess(); }

// Calls `body` with the stream if the stream accepts work.
template <class Body>
Result onStream(Stream handle, Body&& body) {
  Result result = Result::Success;
  EmulatedGpu::Stream* stream = EmulatedDriver::ofThisProcess().streamOf(handle, result);
  if (stream == nullptr) return result;
  result = usable(stream);
  if (result != Result::Success) return result;
  captures().put(stream);
  return body(stream);
}

Result traitsOf(Stream handle, uint64_t& id, EmulatedGpu::StreamTraits& traits) {
  Result result = Result::Success;
  EmulatedGpu::Stream* stream = EmulatedDriver::ofThisProcess().streamOf(handle, result);
  if (stream == nullptr) return result;
  return gpu().describe(stream, id, traits) ? Result::Success : Result::InvalidHandle;
}

// Like traitsOf, for queries that a driver refuses on a captured stream in any mode: such a query invalidates the
// capture.
Result unlessCaptured(Stream handle, uint64_t& id, EmulatedGpu::StreamTraits& traits) {
  Result result = Result::Success;
  EmulatedGpu::Stream* stream = EmulatedDriver::ofThisProcess().streamOf(handle, result);
  if (stream != nullptr && captures().statusOf(stream) != CaptureStatus::None) {
    captures().invalidate(stream);
    return Result::StreamCaptureUnsupported;
  }
  return traitsOf(handle, id, traits);
}

void* pointerOf(Address address) { return reinterpret_cast<void*>(static_cast<uintptr_t>(address)); }

// Returns true if there is memory at the address. Memory of a device must be mapped.
bool isMemory(Address address) {
  GpuMemory::Facts facts;
  if (GpuMemory::ofThisProcess().find(pointerOf(address), facts)) return facts.users != 0;
  return address != 0 && !GpuMemory::ofThisProcess().isAmongItsAddresses(pointerOf(address));
}

}  // namespace

Result streamCreate(Stream* stream, unsigned flags) {
  const Context context = EmulatedDriver::current();
  if (context == nullptr) return Result::InvalidContext;
  const bool blocking = (flags & driver::kStreamNonBlocking) == 0;
  *stream = reinterpret_cast<Stream>(gpu().createStream({context->device, context->number, blocking, false}));
  return Result::Success;
}

Result streamDestroy(Stream handle) {
  if (handle == nullptr) return Result::InvalidHandle;
  gpu().destroyStream(reinterpret_cast<EmulatedGpu::Stream*>(handle));
  return Result::Success;
}

Result streamId(Stream handle, unsigned long long* id) {
  uint64_t number = 0;
  EmulatedGpu::StreamTraits traits;
  const Result result = unlessCaptured(handle, number, traits);
  *id = number;
  return result;
}

Result streamContext(Stream handle, Context* context) {
  uint64_t number = 0;
  EmulatedGpu::StreamTraits traits;
  const Result result = traitsOf(handle, number, traits);
  if (result == Result::Success) *context = EmulatedDriver::ofThisProcess().numbered(traits.context);
  return result;
}

Result streamFlags(Stream handle, unsigned* flags) {
  uint64_t number = 0;
  EmulatedGpu::StreamTraits traits;
  const Result result = unlessCaptured(handle, number, traits);
  *flags = traits.blocking || traits.isDefault ? 0 : driver::kStreamNonBlocking;
  return result;
}

Result streamSynchronize(Stream handle) {
  if (const Result result = EmulatedDriver::unsafe(); result != Result::Success) return result;
  Result result = Result::Success;
  EmulatedGpu::Stream* stream = EmulatedDriver::ofThisProcess().streamOf(handle, result);
  if (stream == nullptr) return result;
  if (captures().statusOf(stream) != CaptureStatus::None) {
    captures().invalidate(stream);
    return Result::StreamCaptureUnsupported;
  }
  return EmulatedDriver::resultOf(gpu().synchronize(stream));
}

// A wait for an event of a running capture makes the stream join that capture. A captured stream cannot wait for an
// event outside captures (isolation) or of another capture (merge).
Result streamWaitEvent(Stream handle, Event event, unsigned flags) {
  return onStream(handle, [&](EmulatedGpu::Stream* stream) {
    const bool capturing = captures().statusOf(stream) != CaptureStatus::None;
    if (flags == driver::kEventExternal) {
      if (!capturing) return Result::InvalidValue;
      return EmulatedDriver::resultOf(gpu().waitInGraph(stream, event->event));
    }
    const bool alive = event->captured && captures().idOf(event->capturedOn) == event->capture;
    if (alive && capturing && captures().idOf(stream) != event->capture) {
      captures().invalidate(stream);
      captures().invalidate(event->capturedOn);
      return StreamCaptures::kMerge;
    }
    if (!alive && (capturing || event->captured) && gpu().wasRecorded(event->event)) {
      captures().invalidate(stream);
      return Result::StreamCaptureIsolation;
    }
    if (alive) {
      if (!capturing) {
        const void* origin = captures().join(stream, event->capture);
        gpu().joinCapture(stream, static_cast<EmulatedGpu::Stream*>(const_cast<void*>(origin)));
      }
      captures().waitFor(event->capturedOn, event->puts);
    }
    return EmulatedDriver::resultOf(gpu().wait(stream, event->event));
  });
}

Result streamWriteValue(Stream handle, Address address, uint32_t value, unsigned) {
  auto* word = static_cast<uint32_t*>(pointerOf(address));
  return onStream(handle, [&](EmulatedGpu::Stream* stream) {
    return EmulatedDriver::resultOf(gpu().enqueue(stream, [=] { __atomic_store_n(word, value, __ATOMIC_RELEASE); }));
  });
}

Result streamWaitValue(Stream handle, Address address, uint32_t value, unsigned flags) {
  if (flags != driver::kWaitUntilGreaterOrEqual) return Result::InvalidValue;
  if (!EmulatedDriver::ofThisProcess().hasStreamWaits()) return Result::NotSupported;
  const auto* word = static_cast<const uint32_t*>(pointerOf(address));
  return onStream(handle, [&](EmulatedGpu::Stream* stream) {
    return EmulatedDriver::resultOf(
        gpu().hold(stream, [=] { return static_cast<int32_t>(__atomic_load_n(word, __ATOMIC_ACQUIRE) - value) >= 0; }));
  });
}

Result copyAsync(Address to, Address from, size_t bytes, Stream handle) {
  if (bytes != 0 && (!isMemory(to) || !isMemory(from))) return Result::InvalidValue;
  EmulatedDriver::ofThisProcess().countCopied(bytes);
  return onStream(handle, [&](EmulatedGpu::Stream* stream) {
    return EmulatedDriver::resultOf(gpu().enqueue(stream, [=] { std::memcpy(pointerOf(to), pointerOf(from), bytes); }));
  });
}

Result fillAsync(Address to, unsigned char byte, size_t bytes, Stream handle) {
  if (bytes != 0 && !isMemory(to)) return Result::InvalidValue;
  return onStream(handle, [&](EmulatedGpu::Stream* stream) {
    return EmulatedDriver::resultOf(gpu().enqueue(stream, [=] { std::memset(pointerOf(to), byte, bytes); }));
  });
}

Result streamIsCapturing(Stream handle, CaptureStatus* status) {
  Result result = Result::Success;
  EmulatedGpu::Stream* stream = EmulatedDriver::ofThisProcess().streamOf(handle, result);
  if (stream == nullptr) return result;
  *status = captures().statusOf(stream);
  return *status == CaptureStatus::None ? usable(stream) : Result::Success;
}

Result streamBeginCapture(Stream handle, CaptureMode mode) {
  if (handle == nullptr) return Result::StreamCaptureUnsupported;
  return onStream(handle, [&](EmulatedGpu::Stream* stream) {
    const Result result = captures().begin(stream, mode);
    if (result == Result::Success) gpu().beginCapture(stream);
    return result;
  });
}

Result streamEndCapture(Stream handle, Graph* graph) {
  Result result = Result::Success;
  EmulatedGpu::Stream* stream = EmulatedDriver::ofThisProcess().streamOf(handle, result);
  if (stream == nullptr) return result;
  result = captures().end(stream);
  if (result == Result::InvalidValue || result == Result::StreamCaptureWrongThread ||
      result == Result::StreamCaptureUnmatched) {
    return result;
  }
  const int number = gpu().endCapture(stream);
  uint64_t id = 0;
  EmulatedGpu::StreamTraits traits;
  (void)gpu().describe(stream, id, traits);
  *graph = nullptr;
  if (result != Result::Success) return result;
  EmulatedDriver& self = EmulatedDriver::ofThisProcess();
  *graph = self.given(new driver::GraphOpaque{number, self.numbered(traits.context)});
  return Result::Success;
}

Result exchangeCaptureMode(CaptureMode* mode) {
  *mode = StreamCaptures::exchangeMode(*mode);
  return Result::Success;
}

Result graphInstantiate(ExecutableGraph* executable, Graph graph, unsigned long long) {
  *executable =
      reinterpret_cast<ExecutableGraph>(EmulatedDriver::ofThisProcess().given(new driver::GraphOpaque(*graph)));
  return Result::Success;
}

Result graphLaunch(ExecutableGraph graph, Stream handle) {
  return onStream(handle, [&](EmulatedGpu::Stream* stream) {
    return EmulatedDriver::resultOf(gpu().replay(reinterpret_cast<Graph>(graph)->number, stream));
  });
}

Result graphDestroy(Graph graph) {
  EmulatedDriver::ofThisProcess().takeBack(graph);
  return Result::Success;
}

Result executableDestroy(ExecutableGraph graph) {
  EmulatedDriver::ofThisProcess().takeBack(reinterpret_cast<Graph>(graph));
  return Result::Success;
}

Result eventCreate(Event* event, unsigned) {
  const Context context = EmulatedDriver::current();
  if (context == nullptr) return Result::InvalidContext;
  *event = EmulatedDriver::ofThisProcess().given(new driver::EventOpaque{gpu().createEvent(), context});
  return Result::Success;
}

Result eventDestroy(Event event) {
  gpu().destroyEvent(event->event);
  EmulatedDriver::ofThisProcess().takeBack(event);
  return Result::Success;
}

Result eventRecord(Event event, Stream handle) {
  return onStream(handle, [&](EmulatedGpu::Stream* stream) {
    uint64_t id = 0;
    EmulatedGpu::StreamTraits traits;
    if (!gpu().describe(stream, id, traits) || traits.context != event->context->number) return Result::InvalidHandle;
    event->captured = captures().statusOf(stream) != CaptureStatus::None;
    event->capturedOn = stream;
    event->capture = captures().idOf(stream);
    event->puts = captures().putsOf(stream);
    return EmulatedDriver::resultOf(gpu().record(event->event, stream));
  });
}

Result eventRecordWithFlags(Event event, Stream handle, unsigned flags) {
  if (flags == 0) return eventRecord(event, handle);
  return onStream(handle, [&](EmulatedGpu::Stream* stream) {
    if (flags != driver::kEventExternal || captures().statusOf(stream) == CaptureStatus::None) {
      return Result::InvalidValue;
    }
    return EmulatedDriver::resultOf(gpu().recordFromGraph(event->event, stream));
  });
}

Result eventQuery(Event event) {
  if (const Result result = EmulatedDriver::unsafe(); result != Result::Success) return result;
  if (event->captured) {
    captures().invalidate(event->capturedOn);
    return Result::CapturedEvent;
  }
  bool done = false;
  const Result result = EmulatedDriver::resultOf(gpu().query(event->event, done));
  if (result != Result::Success) return result;
  return done ? Result::Success : Result::NotReady;
}

}  // namespace calls
}  // namespace jccl::emulator
