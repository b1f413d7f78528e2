// One-sided operations on windows: the windows of one communicator on one rank. docs/windows.md states the rules.
//
// Ranks of one host store into each other's memory, which the window's memory makes possible: threads of a process, and
// segments that processes share. Between hosts frames travel over connections of their own (window_link.h), one for
// each pair and direction. The thread of the progress engine does not look for data while no operation waits, so a
// thread of the windows applies frames while this rank computes.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/attachment.h"
#include "engine/communicator.h"
#include "windows/window.h"
#include "windows/window_link.h"

namespace jccl {

// Threads: one thread at a time opens windows, while no operation runs. Any thread may call the other methods.
class Windows final : public Attachment {
 public:
  // Size of what describe() returns.
  static constexpr size_t kPlaceBytes = 16;

  explicit Windows(Communicator& communicator);
  ~Windows() override;

  // Returns where the memory of a window is, for the ranks of this host.
  Status describe(const uint8_t* data, size_t totalBytes, std::vector<uint8_t>* place);
  // Opens the window with this number. `places`: what describe() returned on each rank, in rank order. The window must
  // not be used before all ranks have opened it. It lives as long as this object, closed or not.
  Status open(uint32_t number, uint8_t* data, size_t bytes, std::span<const uint8_t> places, Window** window);
  // Ends the waits of threads that use the window. Returns at once.
  void endUse(Window& window);
  // Drops the memory of other ranks. Must follow endUse(), and no thread may use the window.
  void close(Window& window);

  // The caller has checked the arguments of the following methods. They return Invalid if a wait ends because of
  // endUse(), and Timeout if the time passes first. After a Timeout of put() and get() some data may have moved.
  Status put(Window& window, int peer, uint64_t offset, const uint8_t* from, uint64_t bytes, uint32_t signal,
             int64_t timeoutNanos);
  Status get(Window& window, int peer, uint64_t offset, uint8_t* to, uint64_t bytes, int64_t timeoutNanos);
  // Adds to the number at `offset`, a multiple of 8, in one step for all ranks; *before receives the previous number.
  Status add(Window& window, int peer, uint64_t offset, uint64_t addend, uint64_t* before, int64_t timeoutNanos);
  // Waits until the peer has raised `count` more signals with this id than earlier waits have taken.
  Status waitSignal(Window& window, int peer, uint32_t id, uint64_t count, int64_t timeoutNanos);
  // Waits until everything that this rank has put is in the peer's memory.
  Status flush(Window& window, int peer, int64_t timeoutNanos);

  void release() override;

 private:
  class Call;

  Status connect();
  Status start();
  bool serve();
  WindowLink* linkTo(int peer) const { return links_.empty() ? nullptr : links_[peer].get(); }
  std::shared_ptr<const WindowTarget> find(uint32_t number);
  Status expose(int peer, uint32_t number, const WindowTarget& target, NetExposed* place);
  Status putByFrames(WindowLink& link, Window& window, uint64_t offset, const uint8_t* from, uint64_t bytes,
                     uint32_t signal, int64_t deadline);
  Status putByWrites(WindowLink& link, Window& window, uint64_t offset, const uint8_t* from, uint64_t bytes,
                     uint32_t signal, int64_t deadline);
  Status putFromMemory(WindowLink& link, Window& window, uint64_t offset, const uint8_t* from, uint64_t bytes,
                       uint32_t signal, int64_t deadline);
  Status sendFromMemory(WindowLink& link, const WindowFrame& announcement, const uint8_t* from, int64_t deadline);
  Status ask(WindowLink& link, Window& window, WindowLink::Peer& peer, int64_t deadline);
  Status flush(WindowLink& link, Window& window, int64_t deadline);
  Status request(WindowLink& link, Window& window, WindowFrame frame, const uint8_t* data, uint8_t* answer,
                 int64_t deadline);
  // `window`: its closing ends the wait; null: nothing but a failure does.
  Status send(WindowLink& link, const Window* window, const WindowFrame& frame, const uint8_t* data, int64_t deadline);
  template <typename Ready>
  Status send(WindowLink& link, const Window* window, const Ready& ready, int64_t deadline);
  // Waits until ready() returns true, which it does once. `window`: as for send().
  template <typename Ready>
  Status await(const Window* window, int peer, Ready&& ready, int64_t deadline, const char* what);
  Status timedOut(int peer, const char* what, int64_t waitedNanos);

  Communicator& communicator_;
  const int rank_;
  const int size_;
  NetTransport* network_ = nullptr;  // set with links_; null if all ranks share this host

  std::mutex mutex_;
  std::map<uint32_t, std::shared_ptr<const WindowTarget>> targets_;  // of open windows, by number; guarded by mutex_
  std::vector<std::unique_ptr<Window>> windows_;                     // opened ever; guarded by mutex_
  // Memory of windows that adapters of peers write, by window and peer; guarded by mutex_
  struct Exposure {
    NetExposed place;
    uint64_t number = 0;
  };
  std::map<std::pair<uint32_t, int>, Exposure> exposures_;
  std::vector<std::shared_ptr<WindowLink>> links_;  // by rank; null for ranks of this host

  std::atomic<int> callers_{0};            // number of threads that move data of links themselves
  std::atomic<int64_t> lastCallNanos_{0};  // monotonicNanos() when the last of them ended
  uint64_t ownPolls_ = 0;                  // polls() of the network when thread_ looked last; used by thread_ only
  std::atomic<uint32_t> stopping_{0};
  std::thread thread_;
};

}  // namespace jccl
