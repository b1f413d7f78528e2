// One-sided operations between this rank and a rank of another host: frames over a connection of their own.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "base/status.h"
#include "primitives/connection.h"
#include "transport/net.h"
#include "transport/progress_callback.h"
#include "windows/window.h"
#include "windows/window_frame.h"

namespace jccl {

// Threads: any thread may send frames. The progress engine calls poll(), which applies the frames of the peer and never
// waits: an answer that finds no free slot is sent by a later poll().
class WindowLink final : public ProgressCallback {
 public:
  // Returns the memory of this rank's window with a number; null if no such window is open.
  using Find = std::function<std::shared_ptr<const WindowTarget>(uint32_t)>;
  // Allows the peer's adapter to write into a window, and sets *place to what the peer must know. Null if the network
  // cannot do this. Called by poll().
  using Expose = std::function<Status(uint32_t window, const WindowTarget& target, NetExposed* place)>;
  // Limit of the answers that wait for a slot: far more than the threads of a peer, each of which awaits one.
  static constexpr size_t kMaxAnswers = 1 << 16;
  // Reports that the peer has broken the rules of the frames.
  using Fail = std::function<void(const Status&)>;

  WindowLink(int rank, int peer, TransportKind kind, const ConnectionMemory& send, const ConnectionMemory& recv,
             Find find, Fail fail, EventCount& events, Expose expose = {});

  int peer() const { return peer_; }
  size_t maxData() const { return send_.memory.shape.simpleSlotBytes() - kWindowFrameBytes; }

  // Sends a frame if a slot is free. `data`: at most maxData() bytes; null if the frame has none.
  bool trySend(const WindowFrame& frame, const uint8_t* data);

  // The memory of the peer's window, as far as this rank knows it.
  struct Peer {
    bool asked = false;
    bool known = false;
    NetExposed place;             // address 0: puts are frames
    uint64_t begin = 0, end = 0;  // bytes that frames have changed since the last flush; none if equal
    uint64_t frames = 0;          // number of frames that have changed bytes
  };
  bool writes() const { return expose_ != nullptr; }
  std::shared_ptr<Peer> peerOf(uint32_t window);
  void forget(uint32_t window);
  // Returns true for the first caller, which sends Ask.
  bool beginAsk(Peer& peer);
  bool isKnown(const Peer& peer);
  // Notes that a frame changes these bytes of the peer's window, or returns true if a frame may not have changed them yet.
  void noteFrame(Peer& peer, uint64_t offset, uint64_t bytes);
  bool mayOverlap(const Peer& peer, uint64_t offset, uint64_t bytes);
  uint64_t framesOf(const Peer& peer);
  // Forgets the changed bytes after a flush that began when `frames` frames had been noted.
  void noteFlush(Peer& peer, uint64_t frames);
  // Lets the adapter write at most maxWrite() bytes into the peer's window, if a slot is free.
  bool tryWrite(const NetExposed& to, const uint8_t* data, size_t bytes);
  size_t maxWrite() const { return send_.memory.shape.simpleSlotBytes(); }

  // Returns true if puts can be sent out of the caller's memory, without a copy.
  bool sendsFromMemory() const { return send_.transport == TransportKind::Socket; }
  // One thread at a time sends data out of its memory: tryBeginData(), a frame of kind Data, trySendData() for each part
  // of at most maxWrite() bytes, endData(). The memory may change when hasLeft() returns true for the last *end.
  bool tryBeginData() { return !sendsData_.exchange(true); }
  bool trySendData(const uint8_t* data, size_t bytes, uint64_t* end);
  bool hasLeft(uint64_t end) const { return send_.memory.head->head.load(std::memory_order_acquire) >= end; }
  void endData() { sendsData_.store(false); }
  // Returns true if data that the peer has announced has not arrived completely; it may go to the window without a
  // copy. Called under the lock of the network.
  bool isDataArriving(uint32_t window) const { return arriving_.left > 0 && arriving_.frame.window == window; }

  // Begins a get or an add whose answer goes into memory of this rank, and returns its number. endGet() ends it:
  // afterwards the memory is no longer written.
  uint64_t beginGet(uint8_t* to, size_t bytes);
  bool isAnswered(uint64_t number);
  void endGet(uint64_t number);

  uint64_t nextFlush() { return flushes_.fetch_add(1) + 1; }
  bool isFlushed(uint64_t number) const { return flushed_.load(std::memory_order_acquire) >= number; }

  int poll(int64_t nowNanos) override;
  bool pending() const override { return !failed_ && (recv_.isPublished() || !answers_.empty()); }

 private:
  struct Get {
    uint8_t* to;
    size_t bytes;
    size_t arrived;
  };
  // The part of an answer that has not been sent.
  struct Answer {
    WindowFrame frame;
    std::shared_ptr<const WindowTarget> window;  // null for Flushed
    uint64_t from = 0;                           // offset in the window of the rest
    uint64_t left = 0;
    uint64_t value = 0;  // answer to Add
  };

  // The data that a frame of kind Data has announced.
  struct Arriving {
    WindowFrame frame;
    std::shared_ptr<const WindowTarget> window;
    uint64_t offset = 0;  // in the window, of the data that has not arrived
    uint64_t left = 0;    // 0: there is none
  };

  Status apply();
  Status applyData(const WindowFrame& frame);
  Status applyPart(const SlotHeader& header, const uint8_t* part);
  void postPlaces();
  void raise(const WindowFrame& frame, const WindowTarget& at);
  Status applyPut(const WindowFrame& frame, const uint8_t* data);
  Status checkSignal(const WindowFrame& frame) const;
  Status applyAdd(const WindowFrame& frame, const uint8_t* data);
  Status applyAsk(WindowFrame frame);
  Status applyPlace(const WindowFrame& frame);
  Status applyReply(const WindowFrame& frame, const uint8_t* data);
  Status window(const WindowFrame& frame, std::shared_ptr<const WindowTarget>* found) const;
  Status addAnswer(Answer answer);
  Status refuse(const WindowFrame& frame, const std::string& why) const;
  int answer();

  const int rank_;
  const int peer_;
  const Find find_;
  const Fail fail_;
  const Expose expose_;
  EventCount& events_;  // of this rank, whose threads wait for signals

  std::mutex sendMutex_;
  SendConnection send_;    // guarded by sendMutex_
  uint64_t sentData_ = 0;  // number of messages of data; guarded by sendMutex_
  std::atomic<bool> sendsData_{false};

  // used by poll() only
  RecvConnection recv_;
  uint64_t arrivedData_ = 0;  // number of messages of data
  Arriving arriving_;
  std::deque<Answer> answers_;
  bool failed_ = false;

  std::mutex peersMutex_;
  std::map<uint32_t, std::shared_ptr<Peer>> peers_;  // by window; guarded, also the values, by peersMutex_

  std::mutex getsMutex_;
  std::map<uint64_t, Get> gets_;  // guarded by getsMutex_
  uint64_t getNumber_ = 0;
  std::atomic<uint64_t> flushes_{0};
  std::atomic<uint64_t> flushed_{0};
};

}  // namespace jccl
