#include "cuda/test/device/emulated_gpu.h"

#include <execinfo.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <stdexcept>
#include <string>

#include "cuda/device/simt.h"

namespace jccl::emulator {
namespace {

constexpr int kDefaultQueues = 8;  // the default of CUDA_DEVICE_MAX_CONNECTIONS
constexpr int kDefaultMultiprocessors = 6;
constexpr int kContexts = 16;

// Returns the call stack, one frame a line.
std::string stackOfThisThread() {
  void* frames[32];
  const int count = ::backtrace(frames, 32);
  char** names = ::backtrace_symbols(frames, count);
  std::string text;
  for (int i = 2; names != nullptr && i < count; ++i) text.append("  ").append(names[i]).append("\n");
  std::free(names);
  return text;
}

}  // namespace

struct EmulatedGpu::Event {
  uint64_t recorded = 0;  // how often the event was recorded, in the order of the host's calls
  uint64_t reached = 0;   // number of the last record that a stream has reached
};

// Work of a stream: a kernel, or an action that the machine's thread calls again and again until the action returns
// true.
struct EmulatedGpu::Item {
  std::function<bool()> action;
  unsigned blocks = 0, threads = 0;
  Footprint footprint;
  std::function<void()> body;
  std::string name;
  Event* records = nullptr;   // event to record at the replay
  Event* waitsFor = nullptr;  // event whose last record before the replay is awaited
  uint64_t number = 0;        // numbers items in the order in which the process put them on streams

  bool isKernel() const { return body != nullptr; }
};

// The work of a stream, which continues after the stream is destroyed.
struct EmulatedGpu::StreamWork {
  StreamTraits traits;
  int queue = 0;
  std::deque<Item> items;
  bool busy = false;       // a kernel of the stream runs
  bool destroyed = false;  // no more items follow
  uint64_t issued = 0, done = 0;
};

struct EmulatedGpu::Stream {
  uint64_t id = 0;  // 0: the stream was destroyed
  StreamTraits traits;
  std::shared_ptr<StreamWork> work;
  bool capturing = false;
  Stream* origin = nullptr;  // stream whose capture this one has joined; null if none
  std::vector<Item> captured;
};

// State that the streams of a device share. Queues and sets contain the numbers of items that have not ended.
struct EmulatedGpu::Device {
  std::vector<std::deque<uint64_t>> queues = std::vector<std::deque<uint64_t>>(kDefaultQueues);
  int multiprocessors = kDefaultMultiprocessors;
  int lastQueue = -1;
  std::set<uint64_t> kernels;
  std::set<uint64_t> onDefault[kContexts], onBlocking[kContexts];  // by context
  std::map<uint64_t, Footprint> running;                           // kernels, by number
};

// A kernel that runs. Only the machine's thread uses it.
struct EmulatedGpu::Kernel {
  std::shared_ptr<StreamWork> work;
  uint64_t number;
  uint64_t threadsLeft;
};

EmulatedGpu& EmulatedGpu::ofThisProcess() {
  static auto* gpu = new EmulatedGpu();  // never destroyed: the machine's thread runs until the process ends
  return *gpu;
}

void EmulatedGpu::setSchedule(Schedule schedule, uint64_t seed) {
  std::unique_lock lock(mutex_);
  moves_.wait_for(lock, longest_, [this] { return !running_ && !hasWork(); });
  schedule_ = schedule;
  seed_ = seed;
}

EmulatedGpu::Device& EmulatedGpu::deviceOf(int number) {
  std::unique_ptr<Device>& device = devices_[number];
  if (device == nullptr) device = std::make_unique<Device>();
  return *device;
}

void EmulatedGpu::setDevice(int device, int queues, int multiprocessors) {
  const std::lock_guard lock(mutex_);
  Device& known = deviceOf(device);
  known.queues.resize(queues);
  known.multiprocessors = multiprocessors;
}

void EmulatedGpu::setLongestWait(std::chrono::milliseconds longest) {
  const std::lock_guard lock(mutex_);
  longest_ = longest;
}

void EmulatedGpu::reset() {
  std::unique_lock lock(mutex_);
  moves_.wait(lock, [this] { return !running_; });
  for (const auto& work : works_) {
    work->items.clear();
    work->busy = false;
    work->done = work->issued;
  }
  for (const auto& stream : streams_) {
    stream->captured.clear();
    stream->capturing = false;
    stream->origin = nullptr;
  }
  for (auto& [number, device] : devices_) {
    for (auto& queue : device->queues) queue.clear();
    for (int i = 0; i < kContexts; ++i) {
      device->onDefault[i].clear();
      device->onBlocking[i].clear();
    }
    device->kernels.clear();
    device->running.clear();
  }
  for (Event* event : events_) event->reached = event->recorded;
  failure_ = GpuFailure::None;
  why_.clear();
}

EmulatedGpu::Stream* EmulatedGpu::createStream(const StreamTraits& traits) {
  const std::lock_guard lock(mutex_);
  if (destroyed_.empty()) {
    streams_.push_back(std::make_unique<Stream>());
    destroyed_.push_back(streams_.back().get());
  }
  Stream* made = destroyed_.back();
  destroyed_.pop_back();
  Device& device = deviceOf(traits.device);
  device.lastQueue = (device.lastQueue + 1) % static_cast<int>(device.queues.size());
  made->id = ++lastStreamId_;
  made->traits = traits;
  made->work = works_.emplace_back(std::make_shared<StreamWork>());
  made->work->traits = traits;
  made->work->queue = device.lastQueue;
  return made;
}

void EmulatedGpu::destroyStream(Stream* stream) {
  const std::lock_guard lock(mutex_);
  if (stream->work != nullptr) stream->work->destroyed = true;
  *stream = Stream();
  destroyed_.push_back(stream);
}

Status EmulatedGpu::describe(Stream* stream, uint64_t& id, StreamTraits& traits) {
  const std::lock_guard lock(mutex_);
  id = stream->id;
  traits = stream->traits;
  return id == 0 ? Status::invalid("this stream was destroyed") : Status::ok();
}

EmulatedGpu::Event* EmulatedGpu::createEvent() {
  const std::lock_guard lock(mutex_);
  return *events_.insert(new Event()).first;
}

void EmulatedGpu::destroyEvent(Event* event) {
  const std::lock_guard lock(mutex_);
  events_.erase(event);
  delete event;
}

Status EmulatedGpu::failed() const {
  return failure_ == GpuFailure::None ? Status::ok() : Status(Code::System, "the emulated GPU has failed: " + why_);
}

GpuFailure EmulatedGpu::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::string EmulatedGpu::whyFailed() {
  const std::lock_guard lock(mutex_);
  return why_;
}

// Records the failure, unless one is recorded already. The machine's thread then ends all kernels.
void EmulatedGpu::fail(GpuFailure kind, const std::string& why) {
  if (failure_ == GpuFailure::None) {
    failure_ = kind;
    why_ = why;
  }
  moves_.notify_all();
  arrives_.notify_all();
}

Status EmulatedGpu::put(Stream* stream, Item item) {
  const std::lock_guard lock(mutex_);
  return putLocked(stream, std::move(item));
}

Status EmulatedGpu::putLocked(Stream* stream, Item item) {
  if (Status status = failed(); !status) return status;
  if (stream->id == 0) return Status::invalid("this stream was destroyed");
  if (stream->capturing) {
    (stream->origin == nullptr ? stream : stream->origin)->captured.push_back(std::move(item));
    return Status::ok();
  }
  if (Event* event = item.records) {
    item.action = [event, number = ++event->recorded] {
      event->reached = std::max(event->reached, number);
      return true;
    };
  } else if (Event* event = item.waitsFor) {
    item.action = [event, number = event->recorded] { return event->reached >= number; };
  }
  Device& device = deviceOf(stream->traits.device);
  StreamWork& work = *stream->work;
  item.number = ++lastItem_;
  device.queues[work.queue].push_back(item.number);
  if (item.isKernel()) {
    ++launches_;
    device.kernels.insert(item.number);
  }
  if (stream->traits.isDefault) device.onDefault[stream->traits.context].insert(item.number);
  if (stream->traits.blocking) device.onBlocking[stream->traits.context].insert(item.number);
  work.items.push_back(std::move(item));
  ++work.issued;
  if (!started_) {
    std::thread([this] { run(); }).detach();
    started_ = true;
  }
  arrives_.notify_one();
  return Status::ok();
}

// Returns true if the first item of a stream may begin now. The caller holds the mutex.
bool EmulatedGpu::mayBegin(const StreamWork& work, const Item& item) {
  const StreamTraits& traits = work.traits;
  Device& device = deviceOf(traits.device);
  if (device.queues[work.queue].front() != item.number) return false;
  const auto waitsFor = [&](const std::set<uint64_t>& others) {
    return !others.empty() && *others.begin() < item.number;
  };
  if (traits.isDefault && waitsFor(device.onBlocking[traits.context])) return false;
  if (traits.blocking && waitsFor(device.onDefault[traits.context])) return false;
  if (!item.isKernel()) return true;
  double taken = item.footprint.multiprocessors;
  for (const auto& [number, other] : device.running) {
    if (other.carveout != item.footprint.carveout) return false;
    taken += other.multiprocessors;
  }
  // A kernel with more blocks than the device can hold waits for ever.
  return taken <= device.multiprocessors + 1e-6;
}

void EmulatedGpu::ended(StreamWork& work, uint64_t number) {
  Device& device = deviceOf(work.traits.device);
  device.queues[work.queue].pop_front();
  device.kernels.erase(number);
  device.running.erase(number);
  device.onDefault[work.traits.context].erase(number);
  device.onBlocking[work.traits.context].erase(number);
  ++work.done;
}

Status EmulatedGpu::launch(Stream* stream, unsigned blocks, unsigned threads, const Footprint& footprint,
                           std::function<void()> body, std::string name) {
  return put(stream, {nullptr, blocks, threads, footprint, std::move(body), std::move(name)});
}

uint64_t EmulatedGpu::launches() {
  const std::lock_guard lock(mutex_);
  return launches_;
}

Status EmulatedGpu::enqueue(Stream* stream, std::function<void()> action) {
  return hold(stream, [action = std::move(action)] {
    action();
    return true;
  });
}

Status EmulatedGpu::record(Event* event, Stream* stream) {
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++event->recorded;
  }
  return enqueue(stream, [event, number] { event->reached = std::max(event->reached, number); });
}

Status EmulatedGpu::wait(Stream* stream, Event* event) {
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = event->recorded;
  }
  return hold(stream, [event, number] { return event->reached >= number; });
}

Status EmulatedGpu::recordFromGraph(Event* event, Stream* stream) {
  Item item;
  item.records = event;
  return put(stream, std::move(item));
}

Status EmulatedGpu::waitInGraph(Stream* stream, Event* event) {
  Item item;
  item.waitsFor = event;
  return put(stream, std::move(item));
}

Status EmulatedGpu::hold(Stream* stream, std::function<bool()> condition) {
  Item item;
  item.action = std::move(condition);
  return put(stream, std::move(item));
}

Status EmulatedGpu::query(Event* event, bool& done) {
  const std::lock_guard lock(mutex_);
  done = event->reached >= event->recorded;
  return failed();
}

bool EmulatedGpu::wasRecorded(Event* event) {
  const std::lock_guard lock(mutex_);
  return event->recorded != 0;
}

Status EmulatedGpu::synchronize(Stream* stream) {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<StreamWork> work = stream->work;
  if (work == nullptr) return Status::invalid("this stream was destroyed");
  const uint64_t end = work->issued;
  if (!moves_.wait_for(lock, longest_, [&] { return work->done >= end || failure_ != GpuFailure::None; })) {
    const std::string places = placesOfKernels(lock);
    fail(GpuFailure::Deadlock, "a stream has not come to its end for milliseconds=" + std::to_string(longest_.count()) +
                                   ", at item=" + std::to_string(work->done + 1) + " of " + std::to_string(end) + "\n" +
                                   places);
  }
  return failed();
}

Status EmulatedGpu::waitForKernels(const std::set<int>& devices, const char* call) {
  std::unique_lock lock(mutex_);
  const uint64_t last = lastItem_;
  const auto idle = [&] {
    return std::all_of(devices_.begin(), devices_.end(), [&](const auto& entry) {
      const std::set<uint64_t>& kernels = entry.second->kernels;
      return !devices.contains(entry.first) || kernels.empty() || *kernels.begin() > last;
    });
  };
  if (!moves_.wait_for(lock, longest_, [&] { return idle() || failure_ != GpuFailure::None; })) {
    const std::string places = placesOfKernels(lock);
    fail(GpuFailure::Deadlock, std::string(call) + " waits for kernels, which have not ended for milliseconds=" +
                                   std::to_string(longest_.count()) + "; it was called by\n" + stackOfThisThread() +
                                   "and the kernels are at\n" + places);
  }
  return failed();
}

// Has the machine's thread describe where the kernels' threads are.
std::string EmulatedGpu::placesOfKernels(std::unique_lock<std::mutex>& lock) {
  if (!running_) return "  (none runs)\n";
  placesWanted_ = true;
  moves_.wait_for(lock, std::chrono::seconds(2), [this] { return !placesWanted_ || !running_; });
  placesWanted_ = false;
  return std::exchange(places_, {});
}

void EmulatedGpu::beginCapture(Stream* stream) {
  const std::lock_guard lock(mutex_);
  stream->capturing = true;
  stream->captured.clear();
}

void EmulatedGpu::joinCapture(Stream* stream, Stream* origin) {
  const std::lock_guard lock(mutex_);
  stream->capturing = true;
  stream->origin = origin;
}

int EmulatedGpu::endCapture(Stream* stream) {
  const std::lock_guard lock(mutex_);
  stream->capturing = false;
  for (const auto& joined : streams_) {
    if (joined->origin != stream) continue;
    joined->origin = nullptr;
    joined->capturing = false;
  }
  graphs_.push_back(std::move(stream->captured));
  return static_cast<int>(graphs_.size()) - 1;
}

Status EmulatedGpu::replay(int graph, Stream* stream) {
  const std::lock_guard lock(mutex_);
  std::vector<Item> items = graphs_.at(graph);
  for (Item& item : items) {
    if (Status status = putLocked(stream, std::move(item)); !status) return status;
  }
  return Status::ok();
}

bool EmulatedGpu::isCapturing(Stream* stream) {
  const std::lock_guard lock(mutex_);
  return stream->capturing;
}

bool EmulatedGpu::hasWork() const {
  return failure_ == GpuFailure::None &&
         std::any_of(works_.begin(), works_.end(), [](const auto& work) { return !work->items.empty(); });
}

void EmulatedGpu::run() {
  for (;;) {
    Options options;
    {
      std::unique_lock lock(mutex_);
      running_ = false;
      moves_.notify_all();
      arrives_.wait(lock, [this] { return hasWork(); });
      running_ = true;
      options.schedule = schedule_;
      options.seed = seed_;
    }
    options.hostClock = true;
    options.stepBudget = ~uint64_t{0};
    Machine machine(options);
    machine.launch(
        1, 1, [&] { runStreams(machine); }, "streams");
    const Report report = machine.run();
    if (!report.finished()) {
      const std::lock_guard lock(mutex_);
      fail(report.illegalAddress ? GpuFailure::IllegalAddress : GpuFailure::Kernel, report.text);
    }
  }
}

// Body of a thread of the machine that runs the streams' items. Returns when no kernel runs and no item has begun for a
// while. Items that remain wait for the host, which then gets the core for a moment. A failure ends the machine with
// all its kernels.
void EmulatedGpu::runStreams(Machine& machine) {
  constexpr int kIdleLimit = 1000;
  constexpr std::chrono::microseconds kSleep{50};
  size_t running = 0;
  for (int idle = 0; running != 0 || idle < kIdleLimit; ++idle) {
    begins_.clear();
    {
      const std::lock_guard lock(mutex_);
      if (placesWanted_) {
        places_ = machine.places();
        placesWanted_ = false;
        moves_.notify_all();
      }
      if (failure_ != GpuFailure::None) throw std::runtime_error(why_);
      bool moved = false;
      for (const auto& work : works_) {
        while (!work->busy && !work->items.empty() && mayBegin(*work, work->items.front())) {
          Item& head = work->items.front();
          if (head.isKernel()) {
            work->busy = true;
            deviceOf(work->traits.device).running[head.number] = head.footprint;
            begins_.emplace_back(work, std::move(head));
          } else {
            if (!head.action()) break;
            ended(*work, head.number);
          }
          work->items.pop_front();
          moved = true;
        }
      }
      std::erase_if(works_, [](const auto& work) { return work->destroyed && work->items.empty() && !work->busy; });
      if (moved) moves_.notify_all();
      if (moved) idle = 0;
    }
    for (auto& [work, item] : begins_) {
      ++running;
      auto kernel = std::make_shared<Kernel>(Kernel{work, item.number, uint64_t{item.blocks} * item.threads});
      machine.launch(
          item.blocks, item.threads,
          [this, kernel, &running, body = std::move(item.body)] {
            body();
            if (--kernel->threadsLeft != 0) return;
            const std::lock_guard lock(mutex_);
            kernel->work->busy = false;
            ended(*kernel->work, kernel->number);
            --running;
            moves_.notify_all();
          },
          std::move(item.name), -1, item.footprint.user);
    }
    simt::pause();
  }
  const auto stuck = [&] {
    const std::lock_guard lock(mutex_);
    return hasWork();
  };
  if (stuck()) std::this_thread::sleep_for(kSleep);
}

}  // namespace jccl::emulator
