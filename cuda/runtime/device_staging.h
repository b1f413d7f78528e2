// What a communicator puts on streams where the host carries out its operations on device memory: copies to pinned memory and
// back, marks that tell the host how far a stream has come, and gates that hold the stream until the host has done its part.
// No kernel is launched, and nothing runs on the device while a gate is closed.
//
//     stream   copy in ── mark 1 ── gate 1 ── copy out ── mark 2 ── what the caller puts there next
//     host                   await 1 ── collective ── open 1      await 2
//
// Everything of an operation is put on the caller's own stream when it is issued. A gate that held up a copy on another
// stream would wait for itself: streams share the queues of the hardware.
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

// Something for a stream. Marks count up from DeviceStaging::kFirst, gates too.
struct StagingStep {
  enum class Kind : uint8_t { Copy = 0, Mark = 1, Gate = 2 };

  Kind kind = Kind::Copy;
  void* to = nullptr;
  const void* from = nullptr;
  uint64_t value = 0;  // the bytes of a copy, or the number of a mark or gate
};

class DeviceStaging {
 public:
  struct Config {
    int rank = 0;
    int device = 0;
    uint64_t token[2] = {0, 0};  // of the communicator, different from all others
  };

  // The number of the first mark and gate of operations; those before are of the trial.
  static constexpr uint64_t kFirst = 2;

  // Tries a mark and a gate before it returns, for as long as `timeoutNanos` says.
  static Status create(const Config& config, int64_t timeoutNanos, std::unique_ptr<DeviceStaging>& staging);
  // Opens all gates and waits a moment for the streams to pass them. If they do not, memory that they may still copy from
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

  // Waits until the streams have come to a mark, for at most so long, and says whether they have; fails if the device has.
  Status await(uint64_t mark, int64_t nanos, bool& reached);
  // Opens a gate and those before it.
  void open(uint64_t gate);

  std::string lastError() const;

 private:
  // Each alone on its line: the device writes one, the host the other.
  struct Words {
    alignas(128) uint32_t marked;
    alignas(128) uint32_t opened;
  };

  explicit DeviceStaging(const Config& config) : config_(config) {}
  Status make(int64_t timeoutNanos);
  Status begin(Stream stream, uint64_t& id);
  Status putOne(const StagingStep& step, Stream stream);
  bool marked(uint64_t mark) const;
  Status noted(Status status);

  const Config config_;
  HeapMemory memory_;
  Words* words_ = nullptr;
  Stream stream_ = nullptr;
  Event last_ = nullptr;                // after what was put on a stream last
  std::optional<uint64_t> lastStream_;  // its streamId()
  uint64_t lastGate_ = 0;

  mutable std::mutex mutex_;
  std::vector<HeapMemory> areas_;  // guarded by mutex_, as what follows
  uint64_t opened_ = 0;
  std::string error_;
};

}  // namespace jccl::device
