// Emulated GPUs that run along with the process: streams accept work at any time, and the kernels of all streams run
// together in one thread of the process, by the host's clock. They are as pessimistic as a driver can be:
//
//   Streams share a few hardware queues. An item of a queue begins when all earlier items of the queue have ended.
//   A kernel begins when all its blocks fit in addition to the running ones, and when all running kernels have the same
//   shared-memory carve-out.
//   The legacy default stream of a context waits for the context's blocking streams, and they wait for it.
//   A call that waits for the kernels of a device waits for all kernels on the device's streams.
//
// Tests of the emulator itself cover what kernels may do. Contexts, memory and captures belong to the driver
// (emulated_driver.h).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "cuda/test/emulator/machine.h"

namespace jccl::emulator {

// Cause for which the GPUs of this process refuse all further work.
enum class GpuFailure : uint8_t {
  None,
  IllegalAddress,  // a kernel accessed memory that its device may not access
  Kernel,          // another fault of a kernel
  Deadlock,        // a call or a stream waited for longer than setLongestWait() allows
};

class EmulatedGpu {
 public:
  struct Stream;
  struct Event;

  struct StreamTraits {
    int device = 0;
    int context = 0;        // the driver's number of the context
    bool blocking = false;  // the stream and the legacy default stream of its context wait for each other
    bool isDefault = false;
  };

  // Resources of its device that a kernel occupies.
  struct Footprint {
    double multiprocessors = 0;  // number of multiprocessors that the kernel's blocks fill; can be a fraction
    int carveout = 0;            // shared-memory carve-out that the kernel needs, in bytes
    uint16_t user = 0xffff;      // the kernel's bit in the access map
  };

  static EmulatedGpu& ofThisProcess();

  // Waits until the GPUs are idle, then sets the schedule of kernel threads.
  void setSchedule(Schedule schedule, uint64_t seed);
  // Sets the device's numbers of hardware queues and multiprocessors. Called before its first stream is created.
  void setDevice(int device, int queues, int multiprocessors);
  // Sets the time after which a wait for kernels counts as a deadlock. Slow kernels must take less.
  void setLongestWait(std::chrono::milliseconds longest);
  // Forgets a failure and all work, as the end of a process does; the streams stay. For tests of failures.
  void reset();

  // Reuses the handle of the stream that was destroyed last, which drivers also do.
  Stream* createStream(const StreamTraits& traits);
  Stream* createStream() { return createStream(StreamTraits()); }
  // Returns at once, as cuStreamDestroy does. The work on the stream continues, also while its handle is another stream's.
  void destroyStream(Stream* stream);
  // Returns an error if the stream was destroyed.
  Status describe(Stream* stream, uint64_t& id, StreamTraits& traits);
  Event* createEvent();
  void destroyEvent(Event* event);

  // Puts a kernel on the stream. Fails once a kernel has failed, as a GPU's context does.
  Status launch(Stream* stream, unsigned blocks, unsigned threads, const Footprint& footprint,
                std::function<void()> body, std::string name);
  // Returns the number of kernels that were put on streams, including those of replays.
  uint64_t launches();
  Status enqueue(Stream* stream, std::function<void()> action);
  // Makes the stream's later work wait until `condition`, which is polled, returns true.
  Status hold(Stream* stream, std::function<bool()> condition);
  Status record(Event* event, Stream* stream);
  Status wait(Stream* stream, Event* event);
  // For external events of a graph: the stream records the event, or waits for it, at each replay instead of during the
  // capture.
  Status recordFromGraph(Event* event, Stream* stream);
  Status waitInGraph(Stream* stream, Event* event);
  Status query(Event* event, bool& done);
  bool wasRecorded(Event* event);
  // Waits until all work on the stream has ended.
  Status synchronize(Stream* stream);
  // Waits until all kernels that were put on the devices' streams so far have ended. The report of a deadlock names `call`, the stack of this thread, and the places of the kernels' threads.
  Status waitForKernels(const std::set<int>& devices, const char* call);
  GpuFailure failure();
  std::string whyFailed();

  // From now on, items put on the stream are kept instead of run. A replay puts all of them on a stream.
  void beginCapture(Stream* stream);
  // From now on, items put on the stream are appended to the capture of `origin`: a driver may run branches of a graph
  // one by one.
  void joinCapture(Stream* stream, Stream* origin);
  int endCapture(Stream* stream);  // returns the graph's number
  Status replay(int graph, Stream* stream);
  bool isCapturing(Stream* stream);

 private:
  struct Item;
  struct StreamWork;
  struct Kernel;
  struct Device;

  EmulatedGpu() = default;
  Device& deviceOf(int number);
  Status put(Stream* stream, Item item);
  Status putLocked(Stream* stream, Item item);
  bool mayBegin(const StreamWork& work, const Item& item);
  void ended(StreamWork& work, uint64_t number);
  void run();
  void runStreams(Machine& machine);
  bool hasWork() const;
  Status failed() const;
  void fail(GpuFailure kind, const std::string& why);
  std::string placesOfKernels(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable arrives_, moves_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<Stream*> destroyed_;
  std::vector<std::shared_ptr<StreamWork>> works_;  // of all streams, and of destroyed ones that have not ended
  std::set<Event*> events_;
  std::unordered_map<int, std::unique_ptr<Device>> devices_;
  uint64_t lastStreamId_ = 0;
  uint64_t lastItem_ = 0;
  std::vector<std::vector<Item>> graphs_;
  GpuFailure failure_ = GpuFailure::None;
  std::string why_;
  std::chrono::milliseconds longest_{120'000};
  uint64_t launches_ = 0;
  std::vector<std::pair<std::shared_ptr<StreamWork>, Item>>
      begins_;            // kernels that may begin; used only by the machine's thread
  bool started_ = false;  // the machine's thread exists
  bool running_ = false;  // a machine runs
  bool placesWanted_ = false;
  std::string places_;
  Schedule schedule_ = Schedule::RoundRobin;
  uint64_t seed_ = 1;
};

}  // namespace jccl::emulator
