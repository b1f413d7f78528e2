#include "cuda/test/device/emulated_gpu.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "cuda/device/simt.h"

namespace jccl::emulator {
namespace {

// A test whose stream is held for good must end with an error.
constexpr std::chrono::seconds kLongest{120};

}  // namespace

struct EmulatedGpu::Event {
  // How often it was recorded, and up to which of these the streams have come.
  uint64_t recorded = 0;
  uint64_t reached = 0;
};

// A kernel, or something done at once that returns whether it is done.
struct EmulatedGpu::Item {
  std::function<bool()> action;
  unsigned blocks = 0, threads = 0;
  std::function<void()> body;
  std::string name;
};

struct EmulatedGpu::Stream {
  uint64_t id = 0;  // 0: it was destroyed
  std::deque<Item> items;
  bool busy = false;  // a kernel of it runs
  bool capturing = false;
  std::vector<Item> captured;
  uint64_t issued = 0, done = 0;
};

// A kernel that runs; touched by the machine's thread only.
struct EmulatedGpu::Kernel {
  Stream* stream;
  uint64_t threadsLeft;
};

EmulatedGpu& EmulatedGpu::ofThisProcess() {
  static auto* gpu = new EmulatedGpu();  // its thread runs until the process ends
  return *gpu;
}

void EmulatedGpu::setSchedule(Schedule schedule, uint64_t seed) {
  std::unique_lock lock(mutex_);
  moves_.wait_for(lock, kLongest, [this] { return !running_ && !hasWork(); });
  schedule_ = schedule;
  seed_ = seed;
}

EmulatedGpu::Stream* EmulatedGpu::createStream() {
  const std::lock_guard lock(mutex_);
  if (destroyed_.empty()) {
    streams_.push_back(std::make_unique<Stream>());
    destroyed_.push_back(streams_.back().get());
  }
  Stream* made = destroyed_.back();
  destroyed_.pop_back();
  made->id = ++lastStreamId_;
  return made;
}

void EmulatedGpu::destroyStream(Stream* stream) {
  (void)synchronize(stream);
  const std::lock_guard lock(mutex_);
  *stream = Stream();
  destroyed_.push_back(stream);
}

Status EmulatedGpu::idOf(Stream* stream, uint64_t& id) {
  const std::lock_guard lock(mutex_);
  id = stream->id;
  return id == 0 ? Status::invalid("this stream was destroyed") : Status::ok();
}

EmulatedGpu::Stream* EmulatedGpu::defaultStream(int device) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = defaults_.find(device); found != defaults_.end()) return found->second;
  }
  Stream* made = createStream();
  const std::lock_guard lock(mutex_);
  return defaults_.try_emplace(device, made).first->second;
}

EmulatedGpu::Event* EmulatedGpu::createEvent() { return new Event(); }
void EmulatedGpu::destroyEvent(Event* event) { delete event; }

Status EmulatedGpu::failed() const {
  return failure_.empty() ? Status::ok() : Status(Code::System, "the emulated GPU has failed: " + failure_);
}

Status EmulatedGpu::put(Stream* stream, Item item) {
  const std::lock_guard lock(mutex_);
  if (Status status = failed(); !status) return status;
  if (stream->id == 0) return Status::invalid("this stream was destroyed");
  if (stream->capturing) {
    stream->captured.push_back(std::move(item));
    return Status::ok();
  }
  if (item.body != nullptr) ++launches_;
  stream->items.push_back(std::move(item));
  ++stream->issued;
  if (!started_) {
    std::thread([this] { run(); }).detach();
    started_ = true;
  }
  arrives_.notify_one();
  return Status::ok();
}

Status EmulatedGpu::launch(Stream* stream, unsigned blocks, unsigned threads, std::function<void()> body,
                           std::string name) {
  return put(stream, {nullptr, blocks, threads, std::move(body), std::move(name)});
}

uint64_t EmulatedGpu::launches() {
  const std::lock_guard lock(mutex_);
  return launches_;
}

Status EmulatedGpu::enqueue(Stream* stream, std::function<void()> action) {
  return put(stream, {[action = std::move(action)] {
                        action();
                        return true;
                      },
                      0,
                      0,
                      nullptr,
                      {}});
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

Status EmulatedGpu::hold(Stream* stream, std::function<bool()> condition) {
  return put(stream, {std::move(condition), 0, 0, nullptr, {}});
}

Status EmulatedGpu::query(Event* event, bool& done) {
  const std::lock_guard lock(mutex_);
  done = event->reached >= event->recorded;
  return failed();
}

Status EmulatedGpu::synchronize(Stream* stream) {
  std::unique_lock lock(mutex_);
  if (!moves_.wait_for(lock, kLongest, [&] { return stream->done == stream->issued || !failure_.empty(); })) {
    failure_ = "a stream has not come to its end for seconds=" + std::to_string(kLongest.count()) +
               ", at item=" + std::to_string(stream->done + 1) + " of " + std::to_string(stream->issued);
    moves_.notify_all();
  }
  return failed();
}

void EmulatedGpu::beginCapture(Stream* stream) {
  const std::lock_guard lock(mutex_);
  stream->capturing = true;
  stream->captured.clear();
}

int EmulatedGpu::endCapture(Stream* stream) {
  const std::lock_guard lock(mutex_);
  stream->capturing = false;
  graphs_.push_back(std::move(stream->captured));
  return static_cast<int>(graphs_.size()) - 1;
}

Status EmulatedGpu::replay(int graph, Stream* stream) {
  std::vector<Item> items;
  {
    const std::lock_guard lock(mutex_);
    items = graphs_.at(graph);
  }
  for (Item& item : items) {
    if (Status status = put(stream, std::move(item)); !status) return status;
  }
  return Status::ok();
}

bool EmulatedGpu::isCapturing(Stream* stream) {
  const std::lock_guard lock(mutex_);
  return stream->capturing;
}

bool EmulatedGpu::hasWork() const {
  return failure_.empty() &&
         std::any_of(streams_.begin(), streams_.end(), [](const auto& stream) { return !stream->items.empty(); });
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
      failure_ = report.text;
      moves_.notify_all();
    }
  }
}

// A thread of the machine that takes what the streams have, until they have nothing for a while, or nothing but waits for the
// host, which then gets the core for a moment.
void EmulatedGpu::runStreams(Machine& machine) {
  constexpr int kIdleLimit = 1000;
  constexpr std::chrono::microseconds kSleep{50};
  size_t running = 0;
  for (int idle = 0; running != 0 || idle < kIdleLimit; ++idle) {
    std::vector<std::pair<Stream*, Item>> kernels;
    {
      const std::lock_guard lock(mutex_);
      bool moved = false;
      for (const auto& stream : streams_) {
        while (failure_.empty() && !stream->busy && !stream->items.empty()) {
          Item& head = stream->items.front();
          if (head.action != nullptr) {
            if (!head.action()) break;
            ++stream->done;
          } else {
            stream->busy = true;
            kernels.emplace_back(stream.get(), std::move(head));
          }
          stream->items.pop_front();
          moved = true;
        }
      }
      if (moved) moves_.notify_all();
      if (moved) idle = 0;
    }
    for (auto& [stream, item] : kernels) {
      ++running;
      auto kernel = std::make_shared<Kernel>(Kernel{stream, uint64_t{item.blocks} * item.threads});
      machine.launch(
          item.blocks, item.threads,
          [this, kernel, &running, body = std::move(item.body)] {
            body();
            if (--kernel->threadsLeft != 0) return;
            const std::lock_guard lock(mutex_);
            kernel->stream->busy = false;
            ++kernel->stream->done;
            --running;
            moves_.notify_all();
          },
          std::move(item.name));
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
