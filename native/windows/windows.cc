#include "windows/windows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/futex.h"
#include "base/pause_core.h"
#include "base/thread.h"

namespace jccl {
namespace {

// Longest sleep of a waiting thread. An event or an abort ends a sleep early.
constexpr int64_t kSleepNanos = 100'000'000;
// The thread of the windows leaves the network to callers for this time after the last call: waking it at the end of
// each call would cost a small put more than the put itself.
constexpr int64_t kLeaveNanos = 1'000'000;
constexpr int kPollsBeforeClock = 16;
// Puts of at most this size are frames, also if the adapter could write into the window: a frame carries its signal, and
// the peer stores values of 1, 2, 4 and 8 bytes as a whole, which adapters do not promise.
constexpr uint64_t kFramedBytes = 4096;
// Smaller puts over sockets are copied into slots: they return without waiting for the network.
constexpr uint64_t kCopiedBytes = 128 * 1024;

template <typename Condition>
struct Asked {
  Condition& condition;
  bool wasTrue = false;

  bool ask() {
    if (condition()) wasTrue = true;
    return wasTrue;
  }
};

int64_t after(int64_t nanos) {
  const int64_t now = monotonicNanos();
  return nanos > INT64_MAX - now ? INT64_MAX : now + nanos;
}

}  // namespace

// A call by a thread of the application that moves data of the network.
class Windows::Call {
 public:
  explicit Call(Windows& windows) : windows_(windows) { windows_.callers_.fetch_add(1, std::memory_order_relaxed); }
  ~Call() {
    windows_.lastCallNanos_.store(monotonicNanos(), std::memory_order_relaxed);
    windows_.callers_.fetch_sub(1, std::memory_order_release);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  Windows& windows_;
};

Windows::Windows(Communicator& communicator)
    : communicator_(communicator), rank_(communicator.rank()), size_(communicator.size()) {}

Windows::~Windows() { release(); }

void Windows::release() {
  stopping_.store(1);
  futexWake(stopping_);
  if (network_ != nullptr) network_->kick();
  if (thread_.joinable()) thread_.join();
}

Status Windows::describe(const uint8_t* data, size_t totalBytes, std::vector<uint8_t>* place) {
  uint64_t segment = 0, offset = 0;
  if (!communicator_.sharedMemory().locate(data, totalBytes, segment, offset)) {
    return Status::internal("the memory of the window is not shared memory of this process");
  }
  place->resize(kPlaceBytes);
  std::memcpy(place->data(), &segment, sizeof segment);
  std::memcpy(place->data() + sizeof segment, &offset, sizeof offset);
  return Status::ok();
}

Status Windows::open(uint32_t number, uint8_t* data, size_t bytes, std::span<const uint8_t> places, Window** window) {
  if (places.size() != static_cast<size_t>(size_) * kPlaceBytes) {
    return Status::invalid("places of bytes=" + std::to_string(places.size()) + ", expected " +
                           std::to_string(kPlaceBytes) + " for each of ranks=" + std::to_string(size_));
  }
  auto made = std::make_unique<Window>(*this, number, size_, WindowMemory(data, bytes));
  std::shared_ptr<ShmSegment> ownHeld;
  const size_t total = WindowMemory::totalBytes(bytes, size_);
  bool remote = false;
  SharedMemory& shared = communicator_.sharedMemory();
  for (int peer = 0; peer < size_; ++peer) {
    if (isNetwork(communicator_.engine().transportOf(peer))) {
      remote = true;
      continue;
    }
    uint64_t segment = 0, offset = 0;
    std::memcpy(&segment, places.data() + peer * kPlaceBytes, sizeof segment);
    std::memcpy(&offset, places.data() + peer * kPlaceBytes + sizeof segment, sizeof offset);
    if (peer == rank_) {
      ownHeld = shared.registry().segment(segment);
      made->peers[peer] = made->own;
      continue;
    }
    std::shared_ptr<ShmSegment> view;
    if (Status status = shared.registry().import(shared.processOf(peer), segment, 0, {}, &view); !status) return status;
    if (offset > view->bytes() || total > view->bytes() - offset) {
      return Status::transport(
          "peer=" + std::to_string(peer) + " offset=" + std::to_string(offset) + " bytes=" + std::to_string(total) +
          ": outside of its segment=" + std::to_string(segment) + " of bytes=" + std::to_string(view->bytes()));
    }
    made->peers[peer] = WindowMemory(view->address() + offset, bytes);
    made->held.push_back(std::move(view));
  }
  if (remote && links_.empty()) {
    if (Status connected = connect(); !connected) return connected;
  }
  // Frames of peers can arrive as soon as the last rank has opened the window.
  const std::lock_guard lock(mutex_);
  targets_[number] = std::make_shared<WindowTarget>(WindowTarget{made->own, bytes, std::move(ownHeld)});
  *window = made.get();
  windows_.push_back(std::move(made));
  return Status::ok();
}

// Makes the connections to the ranks of other hosts, once for all windows of the communicator.
Status Windows::connect() {
  Engine& engine = communicator_.engine();
  network_ = communicator_.networkInUse();
  std::vector<std::shared_ptr<WindowLink>> links(size_);
  std::vector<std::array<ConnectionMemory, 2>> memory(size_);
  for (int peer = 0; peer < size_; ++peer) {
    const TransportKind kind = engine.transportOf(peer);
    if (peer == rank_ || !isNetwork(kind)) continue;
    std::array<ConnectionMemory, 2>& ends = memory[peer];
    for (ConnectionMemory& end : ends) {
      if (Status made = communicator_.slots().make(engine.segmentShape().connection, end); !made) return made;
      end.zeroCopySlots = communicator_.slots().makeZeroCopySlots();
    }
    links[peer] = std::make_shared<WindowLink>(
        rank_, peer, kind, ends[0], ends[1], [this](uint32_t number) { return find(number); },
        [this, peer](const Status& why) { network_->fail(why, peer); }, *engine.events(),
        kind != TransportKind::Ib ? WindowLink::Expose()
                                  : [this, peer](uint32_t number, const WindowTarget& target,
                                                 NetExposed* place) { return expose(peer, number, target, place); });
  }
  // All memory has been allocated, so that a rank without enough memory has made no connection and can try again.
  for (int peer = 0; peer < size_; ++peer) {
    if (links[peer] == nullptr) continue;
    const int channel = engine.channels();  // the one after those of operations
    if (Status made = network_->sendConnection(peer, channel, memory[peer][0]); !made) return made;
    if (Status made = network_->recvConnection(peer, channel, memory[peer][1]); !made) return made;
  }
  links_ = std::move(links);
  for (const auto& link : links_) {
    if (link != nullptr) network_->addCallback(link);
  }
  return start();
}

Status Windows::start() {
  return startQuietThread(
      "jccl-windows", [this] { repeatRounds("jccl-windows", [this] { return serve(); }); }, &thread_);
}

// Moves data of the network while no caller does. Returns false at the end.
bool Windows::serve() {
  if (stopping_.load() != 0) return false;
  // Operations move data while they wait. A second thread that polls would only take their core from them.
  const uint64_t polls = network_->polls();
  const bool called = callers_.load(std::memory_order_acquire) != 0 || polls != ownPolls_ ||
                      monotonicNanos() - lastCallNanos_.load(std::memory_order_relaxed) < kLeaveNanos;
  ownPolls_ = polls;
  if (network_->failed() || communicator_.engine().failure() != Code::Ok) {
    futexWaitFor(stopping_, 0, kSleepNanos);
  } else if (called) {
    futexWaitFor(stopping_, 0, kLeaveNanos);
  } else {
    ++ownPolls_;
    if (network_->poll() == 0) network_->waitForEvents(kSleepNanos);
  }
  return true;
}

std::shared_ptr<const WindowTarget> Windows::find(uint32_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = targets_.find(number);
  return found == targets_.end() ? nullptr : found->second;
}

// Called by a link's poll(), so under the lock of the network.
Status Windows::expose(int peer, uint32_t number, const WindowTarget& target, NetExposed* place) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = exposures_.find({number, peer}); known != exposures_.end()) {
      *place = known->second.place;
      return Status::ok();
    }
  }
  Exposure made;
  Status exposed = network_->exposeLocked(peer, communicator_.engine().channels(), target.memory.data(), target.bytes,
                                          &made.place, &made.number);
  if (!exposed) return exposed;
  *place = made.place;
  const std::lock_guard lock(mutex_);
  exposures_[{number, peer}] = made;
  return Status::ok();
}

void Windows::endUse(Window& window) {
  window.closed.store(true, std::memory_order_seq_cst);
  communicator_.engine().events()->notify();
  if (network_ != nullptr) network_->kick();
}

void Windows::close(Window& window) {
  std::vector<uint64_t> withdrawn;
  {
    const std::lock_guard lock(mutex_);
    targets_.erase(window.number);
    for (auto one = exposures_.begin(); one != exposures_.end();) {
      const bool ends = one->first.first == window.number;
      if (ends) withdrawn.push_back(one->second.number);
      one = ends ? exposures_.erase(one) : std::next(one);
    }
  }
  for (const uint64_t number : withdrawn) network_->withdraw(number);
  bool arriving = false;
  if (network_ != nullptr) {
    network_->run([&] {
      for (const auto& link : links_) arriving = arriving || (link != nullptr && link->isDataArriving(window.number));
    });
  }
  // Only a failure leaves data on its way to a window that is being closed. The network must not store it any more.
  if (arriving) network_->revoke();
  for (const auto& link : links_) {
    if (link != nullptr) link->forget(window.number);
  }
  window.held.clear();
  std::vector<std::atomic<uint64_t>>().swap(window.taken);
}

template <typename Ready>
Status Windows::await(const Window* window, int peer, Ready&& ready, int64_t deadline, const char* what) {
  for (int polls = 0; polls < kPollsBeforeClock; ++polls) {
    if (ready()) return Status::ok();
  }
  Engine& engine = communicator_.engine();
  const SpinPolicy& policy = engine.control().policy;
  const bool overNetwork = linkTo(peer) != nullptr;
  const int64_t begin = monotonicNanos();
  using Condition = std::remove_reference_t<Ready>;
  for (int64_t now = begin;; now = monotonicNanos()) {
    const bool moved = overNetwork && network_->poll() != 0;
    if (ready()) return Status::ok();
    if (const Code code = engine.failure(); code != Code::Ok) return {code, engine.lastError()};
    if (overNetwork && network_->failed()) {
      int broken = -1;
      return {Code::Transport, network_->error(&broken).message()};
    }
    if (window != nullptr && window->closed.load(std::memory_order_relaxed)) {
      return Status::invalid("window=" + std::to_string(window->number) + " was closed");
    }
    if (now >= deadline) return timedOut(peer, what, now - begin);
    if (moved) continue;
    const int64_t sleep = std::min(deadline - now, kSleepNanos);
    if (now - begin < policy.spinNanos) {
      pauseCore();
    } else if (overNetwork) {
      network_->waitForEvents(sleep);
    } else if (now - begin < policy.yieldNanos) {
      std::this_thread::yield();
    } else {
      // A condition that has become true has had its effect, such as taking a signal, so it must not be asked again.
      Asked<Condition> asked{ready};
      engine.events()->sleep(
          sleep, [](void* context) { return static_cast<Asked<Condition>*>(context)->ask(); }, &asked);
      if (asked.wasTrue) return Status::ok();
    }
  }
}

Status Windows::timedOut(int peer, const char* what, int64_t waitedNanos) {
  return {Code::Timeout, "rank=" + std::to_string(rank_) + " waited for peer=" + std::to_string(peer) + " (" +
                             nameOf(communicator_.engine().transportOf(peer)) +
                             ") for millis=" + std::to_string(waitedNanos / 1'000'000) + ": " + what};
}

Status Windows::send(WindowLink& link, const Window* window, const WindowFrame& frame, const uint8_t* data,
                     int64_t deadline) {
  return send(
      link, window, [&] { return link.trySend(frame, data); }, deadline);
}

template <typename Ready>
Status Windows::send(WindowLink& link, const Window* window, const Ready& ready, int64_t deadline) {
  if (!ready()) {
    Status sent = await(window, link.peer(), ready, deadline, "no slot became free, because the peer takes no frames");
    if (!sent) return sent;
  }
  // kick() makes another thread move the frame if that thread has the network now.
  if (network_->poll() == 0) network_->kick();
  return Status::ok();
}

Status Windows::put(Window& window, int peer, uint64_t offset, const uint8_t* from, uint64_t bytes, uint32_t signal,
                    int64_t timeoutNanos) {
  if (const WindowMemory& memory = window.peers[peer]) {
    copyWindowData(memory.data() + offset, from, bytes);
    if (signal == WindowFrame::kNoSignal) return Status::ok();
    memory.raised(rank_, signal).fetch_add(1, std::memory_order_release);
    communicator_.engine().eventsOf(peer).notifyIfWaiting();
    return Status::ok();
  }
  const Call call(*this);
  WindowLink& link = *linkTo(peer);
  const int64_t deadline = after(timeoutNanos);
  if (link.writes() && bytes > kFramedBytes) return putByWrites(link, window, offset, from, bytes, signal, deadline);
  if (link.sendsFromMemory() && bytes >= kCopiedBytes) {
    return putFromMemory(link, window, offset, from, bytes, signal, deadline);
  }
  if (link.writes() && bytes > 0) link.noteFrame(*link.peerOf(window.number), offset, bytes);
  return putByFrames(link, window, offset, from, bytes, signal, deadline);
}

Status Windows::putByFrames(WindowLink& link, Window& window, uint64_t offset, const uint8_t* from, uint64_t bytes,
                            uint32_t signal, int64_t deadline) {
  WindowFrame frame{.window = window.number};
  uint64_t done = 0;
  do {
    frame.offset = offset + done;
    frame.bytes = std::min<uint64_t>(bytes - done, link.maxData());
    if (done + frame.bytes == bytes) frame.signal = signal;
    if (Status sent = send(link, &window, frame, from + done, deadline); !sent) return sent;
    done += frame.bytes;
  } while (done < bytes);
  return Status::ok();
}

// Sends the data out of the caller's memory, and returns when the network has it. Once the data is announced, only a
// failure of the communicator ends the wait: the peer expects all of it.
Status Windows::putFromMemory(WindowLink& link, Window& window, uint64_t offset, const uint8_t* from, uint64_t bytes,
                              uint32_t signal, int64_t deadline) {
  Status begun = await(
      &window, link.peer(), [&] { return link.tryBeginData(); }, deadline,
      "the put of another thread has not been sent");
  if (!begun) return begun;
  const WindowFrame announcement{
      .kind = WindowFrame::Kind::Data, .window = window.number, .signal = signal, .offset = offset, .bytes = bytes};
  Status sent = sendFromMemory(link, announcement, from, deadline);
  if (!sent) network_->revoke();  // nothing reads the caller's memory any more
  link.endData();
  network_->kick();  // wakes threads that wait for endData()
  return sent;
}

Status Windows::sendFromMemory(WindowLink& link, const WindowFrame& announcement, const uint8_t* from,
                               int64_t deadline) {
  if (Status sent = send(link, nullptr, announcement, nullptr, deadline); !sent) return sent;
  uint64_t end = 0;
  for (uint64_t done = 0; done < announcement.bytes;) {
    const uint64_t part = std::min<uint64_t>(announcement.bytes - done, link.maxWrite());
    const auto ready = [&] { return link.trySendData(from + done, part, &end); };
    if (Status sent = send(link, nullptr, ready, deadline); !sent) return sent;
    done += part;
  }
  return await(
      nullptr, link.peer(), [&] { return link.hasLeft(end); }, deadline, "the network has not taken the data");
}

// Lets the adapter write into the peer's window. Messages arrive in their order, so a write is there before the peer
// applies a frame that follows it. An earlier frame may still wait for the peer, so a write to its bytes waits for a
// flush.
Status Windows::putByWrites(WindowLink& link, Window& window, uint64_t offset, const uint8_t* from, uint64_t bytes,
                            uint32_t signal, int64_t deadline) {
  const std::shared_ptr<WindowLink::Peer> peer = link.peerOf(window.number);
  if (Status known = ask(link, window, *peer, deadline); !known) return known;
  if (peer->place.address == 0) return putByFrames(link, window, offset, from, bytes, signal, deadline);
  if (link.mayOverlap(*peer, offset, bytes)) {
    const uint64_t frames = link.framesOf(*peer);
    if (Status flushed = flush(link, window, deadline); !flushed) return flushed;
    link.noteFlush(*peer, frames);
  }
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t part = std::min<uint64_t>(bytes - done, link.maxWrite());
    const NetExposed to{peer->place.address + offset + done, peer->place.key};
    const auto ready = [&] { return link.tryWrite(to, from + done, part); };
    if (Status sent = send(link, &window, ready, deadline); !sent) return sent;
    done += part;
  }
  return signal == WindowFrame::kNoSignal ? Status::ok() : putByFrames(link, window, offset, from, 0, signal, deadline);
}

// Waits until the place of the peer's window is known.
Status Windows::ask(WindowLink& link, Window& window, WindowLink::Peer& peer, int64_t deadline) {
  if (link.isKnown(peer)) return Status::ok();
  if (link.beginAsk(peer)) {
    const WindowFrame frame{.kind = WindowFrame::Kind::Ask, .window = window.number};
    if (Status sent = send(link, &window, frame, nullptr, deadline); !sent) return sent;
  }
  return await(
      &window, link.peer(), [&] { return link.isKnown(peer); }, deadline, "the peer has not told where its window is");
}

Status Windows::get(Window& window, int peer, uint64_t offset, uint8_t* to, uint64_t bytes, int64_t timeoutNanos) {
  if (bytes == 0) return Status::ok();
  if (const WindowMemory& memory = window.peers[peer]) {
    copyWindowData(to, memory.data() + offset, bytes);
    return Status::ok();
  }
  const Call call(*this);
  const WindowFrame frame{.kind = WindowFrame::Kind::Get, .window = window.number, .offset = offset, .bytes = bytes};
  return request(*linkTo(peer), window, frame, nullptr, to, after(timeoutNanos));
}

Status Windows::add(Window& window, int peer, uint64_t offset, uint64_t addend, uint64_t* before,
                    int64_t timeoutNanos) {
  if (const WindowMemory& memory = window.peers[peer]) {
    *before = addToWindow(memory.data() + offset, addend);
    return Status::ok();
  }
  const Call call(*this);
  const WindowFrame frame{
      .kind = WindowFrame::Kind::Add, .window = window.number, .offset = offset, .bytes = sizeof addend};
  return request(*linkTo(peer), window, frame, reinterpret_cast<const uint8_t*>(&addend),
                 reinterpret_cast<uint8_t*>(before), after(timeoutNanos));
}

// Sends a frame that the peer answers with as many bytes as it names, and waits for the answer.
Status Windows::request(WindowLink& link, Window& window, WindowFrame frame, const uint8_t* data, uint8_t* answer,
                        int64_t deadline) {
  frame.number = link.beginGet(answer, frame.bytes);
  Status answered = send(link, &window, frame, data, deadline);
  if (answered) {
    answered = await(
        &window, link.peer(), [&] { return link.isAnswered(frame.number); }, deadline,
        "the peer has not answered a get or an addition");
  }
  link.endGet(frame.number);
  return answered;
}

Status Windows::waitSignal(Window& window, int peer, uint32_t id, uint64_t count, int64_t timeoutNanos) {
  std::optional<Call> call;
  if (linkTo(peer) != nullptr) call.emplace(*this);
  const std::atomic<uint64_t>& raised = window.own.raised(peer, id);
  std::atomic<uint64_t>& taken = window.taken[static_cast<size_t>(peer) * WindowMemory::kSignals + id];
  const auto take = [&] {
    // Whoever sees signals as taken must also see them as raised.
    uint64_t before = taken.load(std::memory_order_acquire);
    while (raised.load(std::memory_order_acquire) - before >= count) {
      if (taken.compare_exchange_weak(before, before + count, std::memory_order_acq_rel)) return true;
    }
    return false;
  };
  return await(&window, peer, take, after(timeoutNanos), "it has not raised the signals");
}

Status Windows::flush(Window& window, int peer, int64_t timeoutNanos) {
  if (window.peers[peer]) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return Status::ok();
  }
  const Call call(*this);
  WindowLink& link = *linkTo(peer);
  if (!link.writes()) return flush(link, window, after(timeoutNanos));
  const std::shared_ptr<WindowLink::Peer> known = link.peerOf(window.number);
  const uint64_t frames = link.framesOf(*known);
  Status flushed = flush(link, window, after(timeoutNanos));
  if (flushed) link.noteFlush(*known, frames);
  return flushed;
}

Status Windows::flush(WindowLink& link, Window& window, int64_t deadline) {
  WindowFrame frame{.kind = WindowFrame::Kind::Flush, .window = window.number};
  frame.number = link.nextFlush();
  if (Status sent = send(link, &window, frame, nullptr, deadline); !sent) return sent;
  return await(
      &window, link.peer(), [&] { return link.isFlushed(frame.number); }, deadline,
      "the peer has not applied all puts");
}

}  // namespace jccl
