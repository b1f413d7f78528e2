#include "transport/plugin_connection.h"

#include <utility>

namespace jccl {
namespace {

// Time for which the connection of a failed plug-in waits for the control connection to report why.
constexpr int64_t kCauseNanos = 200'000'000;
// A longer pause between two polls means that the operation, or the host, has paused.
constexpr int64_t kPauseNanos = 1'000'000'000;

}  // namespace

void PluginEnd::closeComms() {
  for (const auto& comm : comms_) {
    if (comm != nullptr) comm->close();
  }
}

Status PluginEnd::reachData(NetMemory& memory) {
  auto* own = dynamic_cast<PluginMemory*>(&memory);
  if (own == nullptr) return Status::internal("plug-in: memory of another network");
  void* handle = nullptr;
  return hasComms() ? comms_[1]->memory(*own, &handle) : Status::transport("plug-in: not connected yet");
}

std::string PluginEnd::describeEnd() const {
  return (control_ == nullptr ? "rank " + std::to_string(peer_) : control_->describe()) +
         " plugin=" + device_.plugin->name() + " device=" + device_.properties.name;
}

Status PluginEnd::requireFits(size_t bytes) const {
  if (bytes <= device_.properties.maxMessageBytes) return Status::ok();
  return Status::transport("net: " + describeEnd() + ": a message of " + std::to_string(bytes) +
                           " bytes, and the device takes at most " +
                           std::to_string(device_.properties.maxMessageBytes) + "; set JCCL_BUFFSIZE");
}

Status PluginEnd::causeOf(const Status& moved, int64_t nowNanos, int* work) {
  if (failure_ && !moved) {
    failure_ = Status(moved.code(), "net: lost " + describeEnd() + ": " + moved.message());
    failedNanos_ = nowNanos;
    ++*work;
  }
  if (failure_) return Status::ok();
  control_->onEvents(0);  // the report of the peer's failure may have arrived since the last call
  if (Status peer = control_->progress(work); !peer) return peer;
  return nowNanos >= causeDeadlineNanos() ? failure_ : Status::ok();
}

bool PluginEnd::hasPaused(int64_t nowNanos) { return nowNanos - std::exchange(lookedNanos_, nowNanos) > kPauseNanos; }

bool PluginEnd::waitsLongFor(uint64_t sequence, bool paused, int64_t nowNanos) {
  if (awaited_ != sequence || paused) {
    awaited_ = sequence;
    awaitedNanos_ = nowNanos;
  }
  if (nowNanos - awaitedNanos_ < config_.peerTimeoutNanos) return false;
  awaitedNanos_ = nowNanos;
  return true;
}

Status PluginEnd::neverMoves(const char* function, uint64_t sequence, const std::string& why) const {
  return Status::transport(
      device_.plugin->watch().who() + ": " + function + " has not completed message=" + std::to_string(sequence) +
      " for at least " + std::to_string(config_.peerTimeoutNanos / 1'000'000) + " ms: " + why + "; see what it logged");
}

int64_t PluginEnd::causeDeadlineNanos() const { return failure_ ? INT64_MAX : failedNanos_ + kCauseNanos; }

}  // namespace jccl
