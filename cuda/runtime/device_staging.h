// What a communicator puts on streams where the host executes its operations on device memory (host staging): copies to
// pinned memory and back, stream signals that show the host how far a stream has come, and stream waits that hold the stream
// until the host has done its part. No kernel is launched, and nothing runs on the device during a stream wait.
//
//     stream   copy in ── signal 1 ── wait 1 ── copy out ── signal 2 ── what the caller puts there next
//     host                     await 1 ── collective ── open 1        await 2
//
// Everything of an operation is put on the caller's own stream when it is issued. A wait that held up a copy on
// another stream would wait for itself: streams share the queues of the hardware.
//
// Threads: put() and area() by one thread at a time; await(), open() and lastError() by any thread at any time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_heap.h"

namespace jccl::device {

// Something for a stream. Signals count up from DeviceStaging::kFirst, waits too.
struct StagingStep {
  enum class Kind : uint8_t { Copy = 0, Signal = 1, Wait = 2 };

  Kind kind = Kind::Copy;
  void* to = nullptr;
  const void* from = nullptr;
  uint64_t value = 0;  // the bytes of a copy, or the number of a signal or wait
};

class DeviceStaging {
 public:
  struct Config {
    int rank = 0;
    int device = 0;
    uint64_t token[2] = {0, 0};  // of the communicator, different from all others
  };

  // The number of the first signal and wait of operations; those before are of create()'s probe.
  static constexpr uint64_t kFirst = 2;

  // Tries a signal and a wait before it returns, for as long as `timeoutNanos` says.
  static Status create(const Config& config, int64_t timeoutNanos, std::unique_ptr<DeviceStaging>& staging);
  // Opens all waits and pauses for the streams to pass them. If they do not, memory that they may still copy from
  // and to is kept for good.
  ~DeviceStaging();
  DeviceStaging(const DeviceStaging&) = delete;
  DeviceStaging& operator=(const DeviceStaging&) = delete;

  // The stream of operations whose caller names none.
  Stream ownStream() const { return stream_; }

  // Pinned memory of at least so many bytes. A larger one than the last is new, and the last remains what it was: all stay
  // until this object ends.
  Status area(size_t bytes, void*& memory);
  size_t areaBytes() const;

  // Puts the steps on a stream, after all that was put on others before. `done` is how many are there: all, unless it fails;
  // none if the status is Invalid.
  Status put(std::span<const StagingStep> steps, Stream stream, size_t& done);

  // Waits until the streams have come to a signal, for at most so long, and sets `reached` if they have; fails if the
  // device has.
  Status await(uint64_t signal, int64_t nanos, bool& reached);
  // Opens a stream wait and those before it.
  void open(uint64_t wait);

  std::string lastError() const;

 private:
  // Each alone on its line: the device writes one, the host the other.
  struct Words {
    alignas(128) uint32_t signalled;
    alignas(128) uint32_t opened;
  };

  explicit DeviceStaging(const Config& config) : config_(config) {}
  Status make(int64_t timeoutNanos);
  Status begin(Stream stream, uint64_t& id);
  Status putOne(const StagingStep& step, Stream stream);
  bool hasCome(uint64_t signal) const;
  Status noted(Status status);

  const Config config_;
  HeapMemory memory_;
  Words* words_ = nullptr;
  Stream stream_ = nullptr;
  Event last_ = nullptr;                // after what was put on a stream last
  std::optional<uint64_t> lastStream_;  // its id
  uint64_t lastWait_ = 0;

  mutable std::mutex mutex_;
  std::vector<HeapMemory> areas_;  // guarded by mutex_, as what follows
  uint64_t opened_ = 0;
  std::string error_;
};

}  // namespace jccl::device
