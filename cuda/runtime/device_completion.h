// The launches of one communicator that are in flight: learns which operations have ended or failed, and frees what they
// used. The memory that kernels and the host share while a kernel runs is here: the words that end waits, the records of
// progress, the report of ends, and the areas of arguments.
//
// Threads: one thread at a time calls takeArea(), enter(), beginActivity(), launched(), captured(), notLaunched() and
// groupRefused(), and those before prepare and at the end. Any thread may call the other functions at any time.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>

#include "base/status.h"
#include "cuda/runtime/argument_areas.h"
#include "cuda/runtime/device_api.h"
#include "cuda/runtime/device_config.h"
#include "cuda/runtime/device_heap.h"
#include "cuda/runtime/flight_queue.h"
#include "engine/exchange_tasks.h"
#include "engine/history.h"
#include "engine/operation.h"
#include "engine/staging.h"
#include "engine/transfer_history.h"

namespace jccl::device {

struct InFlight {
  uint64_t number = 0;
  std::unique_ptr<ArgumentArea> arguments;
  Operation operation;     // without its counts; if its sequence is 0, the history does not contain it
  uint64_t transfers = 0;  // number in the history of transfers, for sends and receives
  int blocks = 0;          // blocks of the whole launch
  bool endsLaunch = true;
  bool exposed = false;  // peers may access this rank's buffers, or this rank theirs
};

class DeviceCompletion {
 public:
  explicit DeviceCompletion(const DeviceCommunicatorConfig& config);

  // Allocates the shared memory. The caller holds the guard of the device, also for watch().
  Status allocate();
  // Records an event on the stream, on which no kernel is. A query of the event fails if the device has failed.
  Status watch(Stream stream);
  // Tells the network when operations begin and end; null: no network moves data.
  void setActivity(StagingActivity* activity) { activity_ = activity; }
  bool hasActivity() const { return activity_ != nullptr; }
  // Tells the network that this object no longer uses it; called at the end.
  void closeActivity();

  // Control words that end every wait of the kernels; they live as long as this object.
  const ChannelControls& controls() const { return controls_; }
  ProgressRecord* records() const { return records_; }  // by channel
  LaunchReport* report() const { return report_; }
  void abort(Code code) { controls_.abort(code); }

  // Returns the largest number of bytes that an area created in advance holds.
  size_t areaBytes() const;
  // Takes an argument area, or none if the arguments fit into the descriptor. Creating an area would wait for the
  // device, even for kernels that wait for this rank. So areas are created in advance, and takeArea waits until one is
  // free.
  Status takeArea(size_t bytes, std::unique_ptr<ArgumentArea>& area);
  void giveBack(std::unique_ptr<ArgumentArea> area);

  // Begins the operation's record in the histories, and numbers it if it is a collective.
  void enter(InFlight& flight, std::span<const PointToPointTask> tasks);
  // Tells the network, if there is one, that an operation begins; called before a launch.
  void beginActivity();
  // Both return the sequence number of the last collective. launched() takes over the operations of a launch, and the
  // area that it uses. captured() notes the number of an operation that was recorded for a graph, and that counts as
  // ended.
  uint64_t launched(std::span<InFlight> flights, std::unique_ptr<ArgumentArea> arguments);
  uint64_t captured(uint64_t number);
  // Fails the communicator, because it is not known whether the operations were launched: the ranks may differ in what
  // they have issued.
  Code notLaunched(std::span<const InFlight> flights, const Status& status);
  // Ends a group of which a launch was refused with `code`. If earlier launches of the group were issued, the
  // communicator fails: peers may already wait for the launches that this rank does not issue.
  Code groupRefused(Code code, bool begun);

  // Numbers of the last operation that was issued, and of the last one that is in flight; 0: none.
  uint64_t lastIssued() const { return issued_; }
  uint64_t lastInFlight();
  // Returns the largest number of blocks of the launches in flight.
  int blocksInFlight();
  bool hasExposedInFlight();

  // Notes in the histories which operations have ended since somebody last looked.
  void refresh();
  // Sets `done` to true if an operation has ended; returns the failure, or Ok.
  Code query(uint64_t number, bool& done);
  // Returns true if no operation is in flight; also asks the driver from time to time whether the device has failed.
  bool isIdle();
  bool hasDeviceFailed() const;

  // After an operation in place has failed, its buffers are exposed: peers may still access them. isExposed() begins the
  // time for which the caller waits for them. endExposure() ends the state if `inside`, a list of the peers whose kernels
  // still run, is empty, or after a time-out; the error then names these peers. Returns false if the state continues.
  bool isExposed();
  bool endExposure(const std::string& inside);

  Code failure() const;
  // Returns the failure that operations of this rank have reported, Ok if none has ended with one.
  Code reportedFailure() const;
  // Keeps the message of a failure for error(), and returns the status.
  Status noted(Status status);
  std::string error() const;
  const History& history() const { return history_; }
  const TransferHistory& transfers() const { return transfers_; }
  uint64_t lastDone();
  uint64_t failedSequence() const;

  // Called before the object is destroyed, under the guard of the device. abandon() is for launches in flight: keeps the
  // memory that their kernels use, and passes the launches on.
  void close();
  void abandon();

 private:
  void reap();
  void checkDevice();
  void ended(const InFlight& flight, bool ok);
  uint64_t firstWaiting() const;
  void failed(Code code, uint64_t number, uint64_t sequence, std::string why);
  void broken(const InFlight& flight, const Status& status);

  const int size_, channels_, device_;
  HeapMemory control_;
  // These pointers refer to memory of `control_`.
  ChannelControls controls_{};
  ProgressRecord* records_ = nullptr;
  LaunchReport* report_ = nullptr;
  StagingActivity* activity_ = nullptr;
  Event passed_ = nullptr;  // recorded by watch()

  std::atomic<uint64_t> issued_{0};

  mutable std::mutex mutex_;  // guards the members below
  ArgumentAreas areas_;
  FlightQueue<InFlight> flights_;                        // in the order of issue; operations also end in this order
  std::chrono::steady_clock::time_point deviceChecked_;  // time of the last checkDevice()
  uint64_t firstFailed_ = 0;                             // number of the first operation that failed; 0: none
  // `exposed_` is true while peers may still access the buffers of the operation that failed. `exposedSince_` is the
  // time since which this rank waits for them.
  bool exposed_ = false;
  std::optional<std::chrono::steady_clock::time_point> exposedSince_;
  uint64_t sequence_ = 0;  // of the last collective
  uint64_t failedSequence_ = 0;
  // Any thread may read the two histories at any time, without the mutex.
  History history_;
  TransferHistory transfers_;
  Code failure_ = Code::Ok;
  bool deviceFailed_ = false;  // the device has failed, so no operation on it will end
  std::string error_;
};

}  // namespace jccl::device
