// Emulated GPUs while the process runs on: streams take work at any time, and kernels of all streams run together in one thread
// of the process, by the host's clock. As pessimistic as a driver may be:
//
//   streams share a few hardware queues, and what is in one begins in the order in which it was put there, when all before it
//   in the queue has ended;
//   a kernel begins when all its blocks fit beside those that run, and none that runs has another shared-memory carve-out;
//   the legacy default stream of a context waits for its blocking streams, and they for it;
//   what waits for the kernels of a device waits for all that were put on its streams.
//
// What a kernel may do is tested with the emulator itself; contexts, memory and captures are the driver's (emulated_driver.h).
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

// Why the GPUs of this process take nothing any more.
enum class GpuFailure : uint8_t {
  None,
  IllegalAddress,  // a kernel has accessed memory that its device may not
  Kernel,          // another fault of a kernel
  Deadlock,        // a call or a stream waits for what does not end
};

class EmulatedGpu {
 public:
  struct Stream;
  struct Event;

  // What a stream belongs to.
  struct StreamTraits {
    int device = 0;
    int context = 0;        // a number of the driver's
    bool blocking = false;  // waits for the legacy default stream of its context, which waits for it
    bool isDefault = false;
  };

  // What a kernel takes of its device.
  struct Footprint {
    double multiprocessors = 0;  // of which its blocks fill so many, and parts of one
    int carveout = 0;            // bytes of shared memory that a multiprocessor needs to have set aside
    uint16_t user = 0xffff;      // its bit among the users of memory
  };

  static EmulatedGpu& ofThisProcess();

  // Who runs when several threads could, from here on; waits until the GPUs are idle.
  void setSchedule(Schedule schedule, uint64_t seed);
  // How many hardware queues a device has, and how many multiprocessors; before its first stream.
  void setDevice(int device, int queues, int multiprocessors);
  // After how long a wait for kernels is a deadlock; so long that what is only slow is none.
  void setLongestWait(std::chrono::milliseconds longest);
  // Forgets a failure and all work, as the end of a process does; the streams stay. For tests of failures.
  void reset();

  // As a driver may, gives the handle that was destroyed last to the next stream.
  Stream* createStream(const StreamTraits& traits);
  Stream* createStream() { return createStream(StreamTraits()); }
  void destroyStream(Stream* stream);
  // An error after its end.
  Status describe(Stream* stream, uint64_t& id, StreamTraits& traits);
  Event* createEvent();
  void destroyEvent(Event* event);

  // In the order of the stream. Fails once a kernel has failed, as a GPU's context does.
  Status launch(Stream* stream, unsigned blocks, unsigned threads, const Footprint& footprint,
                std::function<void()> body, std::string name);
  // How many kernels were put on streams, by replays too.
  uint64_t launches();
  Status enqueue(Stream* stream, std::function<void()> action);
  // The stream's later work waits until this is so; it is polled.
  Status hold(Stream* stream, std::function<bool()> condition);
  Status record(Event* event, Stream* stream);
  Status wait(Stream* stream, Event* event);
  // The same in a capture, at each replay: for and from what is outside the graph.
  Status recordFromGraph(Event* event, Stream* stream);
  Status waitInGraph(Stream* stream, Event* event);
  Status query(Event* event, bool& done);
  bool wasRecorded(Event* event);
  // Waits until the stream has come to its end.
  Status synchronize(Stream* stream);
  // Waits until all kernels that were put on streams of a device have ended; all devices below 0. `call` is who waits, for the
  // report of a deadlock, which has the stack of this thread and the places of the kernels' threads.
  Status waitForKernels(int device, const char* call);
  GpuFailure failure();
  std::string whyFailed();

  // Capturing: what is put on the stream is kept, and a replay puts all of it on a stream again.
  void beginCapture(Stream* stream);
  // What is put on the stream is captured by another, behind what that has: a driver may run branches of a graph one by one.
  void joinCapture(Stream* stream, Stream* origin);
  int endCapture(Stream* stream);  // the graph's number
  Status replay(int graph, Stream* stream);
  bool isCapturing(Stream* stream);

 private:
  struct Item;
  struct Kernel;
  struct Device;

  EmulatedGpu() = default;
  Device& deviceOf(int number);
  Status put(Stream* stream, Item item);
  Status putLocked(Stream* stream, Item item);
  bool mayBegin(const Stream& stream, const Item& item);
  void ended(Stream& stream, uint64_t number);
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
  std::set<Event*> events_;
  std::unordered_map<int, std::unique_ptr<Device>> devices_;
  uint64_t lastStreamId_ = 0;
  uint64_t lastItem_ = 0;
  std::vector<std::vector<Item>> graphs_;
  GpuFailure failure_ = GpuFailure::None;
  std::string why_;
  std::chrono::milliseconds longest_{120'000};
  uint64_t launches_ = 0;
  std::vector<std::pair<Stream*, Item>> begins_;  // kernels; touched by the machine's thread only
  bool started_ = false;
  bool running_ = false;  // a machine
  bool placesWanted_ = false;
  std::string places_;
  Schedule schedule_ = Schedule::RoundRobin;
  uint64_t seed_ = 1;
};

}  // namespace jccl::emulator
