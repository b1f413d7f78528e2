// Emulated GPUs while the process runs on: streams take work at any time, and kernels of all
// streams run together in one thread of the process, by the host's clock. For the tests of the runtime and of what is above
// it; what a kernel may do is tested with the emulator itself.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "cuda/test/emulator/machine.h"

namespace jccl::emulator {

class EmulatedGpu {
 public:
  struct Stream;
  struct Event;

  static EmulatedGpu& ofThisProcess();

  // Who runs when several threads could, from here on; waits until the GPUs are idle.
  void setSchedule(Schedule schedule, uint64_t seed);

  // As a driver may, gives the handle that was destroyed last to the next stream.
  Stream* createStream();
  void destroyStream(Stream* stream);
  // Its number, which no other stream has had; an error after its end.
  Status idOf(Stream* stream, uint64_t& id);
  // The default stream of a device; it does not synchronise with the others.
  Stream* defaultStream(int device);
  Event* createEvent();
  void destroyEvent(Event* event);

  // In the order of the stream. Fails once a kernel has failed, as a GPU's context does.
  Status launch(Stream* stream, unsigned blocks, unsigned threads, std::function<void()> body, std::string name);
  // How many kernels were put on streams, by replays too.
  uint64_t launches();
  Status enqueue(Stream* stream, std::function<void()> action);
  // The stream's later work waits until this is so; it is polled.
  Status hold(Stream* stream, std::function<bool()> condition);
  Status record(Event* event, Stream* stream);
  Status wait(Stream* stream, Event* event);
  Status query(Event* event, bool& done);
  // Waits until the stream has come to its end; one that does not for minutes is a failure of the GPU.
  Status synchronize(Stream* stream);

  // Capturing: what is put on the stream is kept, and a replay puts all of it on a stream again.
  void beginCapture(Stream* stream);
  int endCapture(Stream* stream);  // the graph's number
  Status replay(int graph, Stream* stream);
  bool isCapturing(Stream* stream);

 private:
  struct Item;
  struct Kernel;

  EmulatedGpu() = default;
  Status put(Stream* stream, Item item);
  void run();
  void runStreams(Machine& machine);
  bool hasWork() const;
  Status failed() const;

  std::mutex mutex_;
  std::condition_variable arrives_, moves_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<Stream*> destroyed_;
  uint64_t lastStreamId_ = 0;
  std::unordered_map<int, Stream*> defaults_;
  std::vector<std::vector<Item>> graphs_;
  std::string failure_;
  uint64_t launches_ = 0;
  bool started_ = false;
  bool running_ = false;  // a machine
  Schedule schedule_ = Schedule::RoundRobin;
  uint64_t seed_ = 1;
};

}  // namespace jccl::emulator
