#include "engine/engine.h"

#include <algorithm>

#include "base/shared_cache.h"

namespace jccl {
namespace {

// The most bytes of the shared cache that are counted for each of its cores. A virtual machine reports the cache of the
// whole processor, but programs outside the virtual machine use that cache, too.
constexpr size_t kMaxCacheOfACore = 16u << 20;

}  // namespace

SegmentShape Engine::segmentShape(const EngineConfig& config) {
  return {static_cast<uint32_t>(config.size), static_cast<uint32_t>(config.channels),
          ConnectionShape(config.simpleSlotBytes, config.llSlotBytes, config.ll128SlotBytes),
          // Oversubscribed ranks share the cache of a core. So chunks do not rotate within their slots: fewer lines are
          // in use, and more of them stay in the cache.
          !SpinPolicy::isOversubscribed(config.localRanks, config.cores)};
}

Engine::Engine(const EngineConfig& config, uint8_t* segment)
    : config_(config),
      shape_(segmentShape(config)),
      segment_(segment, shape_),
      history_(config.recordedOperations, config.size == 1),
      transfers_(config.recordedOperations, config.size == 1),
      transports_(config.size, TransportKind::None),
      peerSegments_(config.size),
      zeroCopy_(config.rank, config.size),
      pointToPoint_(config.rank),
      coreSharing_(config.rank, config.size, config.sharing(), config.shared(), config.placesRanks) {
  EventCount::registerPublisher();
  // Each rank that shares the cache has two buffers, one to send and one to receive.
  const SharedCache cache = sharedCache();
  const size_t ours = std::min(cache.bytes, static_cast<size_t>(cache.cores) * kMaxCacheOfACore);
  streamingBytes_ = ours / (2 * std::max(1, std::min(config.localRanks, cache.cores))) + 1;
  segment_.writeHeader(config.rank, config.token);
  zeroCopy_.setOwn(segment_);
  coreSharing_.setOwn(segment_.cpuPlacement());
  control_.events = &segment_.events();
  control_.policy = SpinPolicy::of(config.sharing(), config.shared(), config.spinNanos);
  control_.placement = &segment_.cpuPlacement();
  control_.placements = coreSharing_.peers();
  for (int type = 0; type < kDataTypeCount; ++type) {
    for (int op = 0; op < kReduceOpCount; ++op) {
      kernels_[type][op] = reduceCopyKernel(static_cast<DataType>(type), static_cast<ReduceOp>(op));
    }
  }
  for (int channel = 0; channel < config.channels; ++channel) {
    channels_.push_back(std::make_unique<Channel>(channel, config.rank, config.size, control_));
  }
}

Engine::~Engine() {
  if (!fiber_.isPaused()) return;
  abort(Code::Aborted);
  resume(1, false);
}

// Reports a wrong argument. Nothing has happened, and the communicator stays usable.
Code Engine::refuse(std::string why) {
  const std::lock_guard lock(errorMutex_);
  error_ = std::move(why);
  return Code::Invalid;
}

void Engine::abort(Code code) {
  control_.fail(code);
  // Wakes the waiters, each of which then checks for the failure.
  segment_.events().notify();
  if (control_.progress != nullptr) control_.progress->kick();
}

std::string Engine::lastError() const {
  {
    const std::lock_guard lock(errorMutex_);
    if (!error_.empty()) return error_;
  }
  const Code code = failure();
  if (code == Code::Ok) return "";
  const int64_t timeoutMillis = control_.timeoutNanos.load() / 1'000'000;
  return describeFailure(code, "rank=" + std::to_string(config_.rank) + " " + describeLast(history_),
                         "timeoutMillis=" + std::to_string(timeoutMillis) + " passed", waiting());
}

std::vector<ChannelWait> Engine::waiting() const {
  std::vector<ChannelWait> waits;
  for (int c = 0; c < config_.channels; ++c) {
    const ProgressRecord& record = channels_[c]->record();
    const uint64_t sequence = record.sequence.load(std::memory_order_acquire);
    if (sequence == 0) continue;
    const WaitPlace place{record.peer.load(std::memory_order_relaxed),
                          static_cast<TransportKind>(record.transport.load(std::memory_order_relaxed)),
                          static_cast<WaitFor>(record.waitFor.load(std::memory_order_relaxed)),
                          static_cast<Protocol>(record.protocol.load(std::memory_order_relaxed)),
                          record.step.load(std::memory_order_relaxed)};
    const int64_t since = record.sinceNanos.load(std::memory_order_relaxed);
    const int64_t until = record.untilNanos.load(std::memory_order_relaxed);
    waits.push_back({c, place, sequence - 1, since == 0 ? -1 : (until == 0 ? monotonicNanos() : until) - since});
  }
  return waits;
}

TransportUse Engine::useOf(TransportKind transport) const {
  TransportUse use;
  for (int peer = 0; peer < config_.size; ++peer) {
    if (transports_[peer] != transport) continue;
    for (const auto& channel : channels_) {
      use.sentBytes += __atomic_load_n(&channel->sendTo(peer).sentBytes, __ATOMIC_RELAXED);
    }
  }
  const auto& waits = control_.longWaitsOver[static_cast<int>(transport)];
  use.longWaits = waits.count.load(std::memory_order_relaxed);
  use.waitedNanos = waits.nanos.load(std::memory_order_relaxed);
  return use;
}

int64_t Engine::nanosOf(Collective collective) const {
  return History::durationNanos(history_.timing(), counters_.collectives[static_cast<int>(collective)].ticks.get());
}

MemoryUsage Engine::memoryUsage() const {
  MemoryUsage usage;
  usage.segmentBytes = shape_.bytes();
  for (const auto& channel : channels_) usage.scratchBytes += channel->scratchBytes();
  return usage;
}

}  // namespace jccl
