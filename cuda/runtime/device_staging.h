// Host staging on the GPU's side: the work that a communicator puts on streams if the host executes its operations on
// device memory. Copies lead to pinned memory and back. A stream signal shows the host how far a stream has come; a
// stream wait holds the stream until the host has done its part. No kernel is launched, and nothing runs on the device
// during a stream wait.
//
//     stream   copy in ── signal 1 ── wait 1 ── copy out ── signal 2 ── later work of the caller
//     host                     await 1 ── collective ── open 1        await 2
//
// All work of an operation is put on the caller's own stream when the operation is issued. Streams share hardware
// queues: if a copy were on another stream, a wait could hold it up, and thus wait for itself.
//
// Threads: one thread at a time calls put() and area(); any thread may call await(), open() and lastError() at any
// time.
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

// One item of work for a stream. Signals and waits each count up from DeviceStaging::kFirst.
struct StagingStep {
  enum class Kind : uint8_t { Copy = 0, Signal = 1, Wait = 2 };

  Kind kind = Kind::Copy;
  void* to = nullptr;
  const void* from = nullptr;
  uint64_t value = 0;  // a copy: number of bytes; a signal or a wait: its number
};

class DeviceStaging {
 public:
  struct Config {
    int rank = 0;
    int device = 0;
    uint64_t token[2] = {0, 0};  // unique for each communicator
  };

  // Number of the first signal and of the first wait of operations. The test by create() uses kFirst - 1.
  static constexpr uint64_t kFirst = 2;

  // Creates the object, and tests a signal and a wait before it returns; the signal must arrive within `timeoutNanos`.
  static Status create(const Config& config, int64_t timeoutNanos, std::unique_ptr<DeviceStaging>& staging);
  // Lets the streams pass all stream waits, and waits until their work has ended. If it does not end in time, the
  // memory that it may still access is never freed.
  ~DeviceStaging();
  DeviceStaging(const DeviceStaging&) = delete;
  DeviceStaging& operator=(const DeviceStaging&) = delete;

  // Returns this object's own stream, for operations without a stream of the application.
  Stream ownStream() const { return stream_; }

  // Sets `memory` to pinned memory of at least `bytes`. If the last area is too small, a new one is allocated. Earlier
  // areas stay valid until this object is destroyed.
  Status area(size_t bytes, void*& memory);
  size_t areaBytes() const;

  // Puts the steps on a stream, after all work of earlier calls on other streams. `done` is the number of steps on the
  // stream: all of them unless the call fails, none if the status is Invalid.
  Status put(std::span<const StagingStep> steps, Stream stream, size_t& done);

  // Waits for at most `nanos` until the streams have reached a signal, and sets `reached` if they have. Returns an
  // error if the device has failed.
  Status await(uint64_t signal, int64_t nanos, bool& reached);
  // Lets the streams pass a stream wait and all earlier ones.
  void open(uint64_t wait);

  std::string lastError() const;

 private:
  // Each word has a cache line of its own: the device writes one word, the host the other.
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
  Event last_ = nullptr;                // recorded after the last work of each put()
  std::optional<uint64_t> lastStream_;  // id of the stream of the last put()
  uint64_t lastWait_ = 0;

  mutable std::mutex mutex_;
  std::vector<HeapMemory> areas_;  // guarded by mutex_, like the members below
  uint64_t opened_ = 0;
  std::string error_;
};

}  // namespace jccl::device
