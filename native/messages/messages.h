// Messages of one communicator on one rank: sends, receives, probes. docs/messages.md states the rules.
//
// Small messages travel with their frames (Eager) while the sender has credit, so that unexpected messages take at most
// kCredit bytes for each peer. Others are offered, and their data moves once a receive has matched them: the receiver
// copies it out of memory that it can address, or asks the sender for it (Take).
//
// Whoever calls moves everything that can move: frames of all peers, and data. A thread of the communicator calls
// serve() for the time in which no other thread calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/attachment.h"
#include "engine/communicator.h"
#include "messages/matcher.h"
#include "messages/message_link.h"
#include "messages/spin_lock.h"
#include "transport/progress_callback.h"
#include "transport/shm_segment.h"

namespace jccl {

// A send or a receive that has not ended when its call returned. Written under the lock of Messages; any thread may
// read the state, and the other results once the state is an end.
struct MessageRequest : PostedReceive {
  enum class State : uint32_t {
    Done = 0,
    Waiting = 1,  // nothing has matched a receive; the peer has not taken a send
    Moving = 2,   // a receive has matched a message, whose data moves
    TooLong = 3,  // the message is longer than the buffer, and is dropped
    Cancelled = 4
  };

  std::atomic<State> state{State::Waiting};
  bool isSend = false;
  bool isOffered = false;  // a send that is not over before a receive has matched it
  int32_t peer = -1;       // of a send; of a receive, once it has matched: the source
  int32_t messageTag = 0;
  uint64_t length = 0;  // of the message

  uint8_t* address = nullptr;
  uint64_t bytes = 0;   // of the buffer
  uint64_t moved = 0;   // bytes that were sent or have arrived
  uint64_t number = 0;  // of the offer
  uint64_t left = 0;    // MessageLink::hasLeft(left): the link has sent everything

  bool isOver() const {
    const State now = state.load(std::memory_order_acquire);
    return now != State::Waiting && now != State::Moving;
  }
};

struct MessageStatus {
  int32_t source = -1;
  int32_t tag = 0;
  uint64_t bytes = 0;
};

// Threads: one thread calls start(), and then any thread the other methods.
class Messages final : public Attachment {
 public:
  // Limit of the eager messages of one peer that wait for a receive or are on their way, in bytes with kOverheadBytes
  // for each.
  static constexpr uint64_t kCredit = 512 * 1024;
  static constexpr uint64_t kOverheadBytes = 128;
  // Limit of the sends to one peer that have not ended, so that offers take little memory of the receiver.
  static constexpr size_t kMaxSends = 1 << 16;

  explicit Messages(Communicator& communicator);
  ~Messages() override;

  // Makes the links. A link costs nothing until it is used.
  Status start();

  // Starts a send. Sets *request to null if the buffer may change now, else to a request. A send that `isOffered` ends
  // only once a receive has matched it, however small its message is.
  Status send(int peer, int tag, const uint8_t* data, uint64_t bytes, bool isOffered, MessageRequest** request);
  // Starts a receive. `source` and `tag` may be kAnyMessage.
  MessageRequest* receive(int source, int tag, uint8_t* to, uint64_t bytes);
  // Starts a receive of a message that has arrived; null if there is none.
  MessageRequest* tryReceive(int source, int tag, uint8_t* to, uint64_t bytes);
  // Waits until a message is there that a receive would take, for at most `nanos`; Timeout if there is none.
  Status probe(int source, int tag, int64_t nanos, MessageStatus* found);
  // Moves what can move. Returns true if the request is over.
  bool test(MessageRequest& request);
  // Waits until the request is over, for at most `nanos`. The request continues after a Timeout.
  Status wait(MessageRequest& request, int64_t nanos);
  // Takes back a receive. Returns false if a message has matched it, or it is over.
  bool cancel(MessageRequest& request);
  // Frees a request. One that is not over may only be freed after stop().
  static void free(MessageRequest* request) { delete request; }
  // Describes what a request that is not over waits for.
  std::string describe(const MessageRequest& request);

  // One round of the communicator's thread: moves what can move, then sleeps for at most `nanos` or until something
  // arrives. Leaves the work to other threads while these call, unless `isAwaited`: a caller waits for this thread.
  void serve(int64_t nanos, bool isAwaited);
  // Ends the sleep of serve().
  void wake() noexcept;

  // Ends all messages of this rank, after a failure or before the communicator is closed: waits end with Aborted, and
  // nothing uses the memory of requests any more.
  void stop() noexcept;

  void release() override { stop(); }

 private:
  class Call;
  class NetworkCallback;

  struct Peer {
    std::unique_ptr<MessageLink> link;
    bool isNet = false;
    bool isHere = false;  // a thread of this process
    uint64_t credit = kCredit;
    uint64_t owed = 0;                            // credit that has not been given back
    std::deque<MessageFrame> answers;             // frames without data that wait for space
    std::deque<MessageRequest*> unsent;           // sends whose frame waits for space
    std::map<uint64_t, MessageRequest*> offered;  // by number
    std::deque<MessageRequest*> streams;          // sends whose data the peer has asked for
    std::deque<MessageRequest*> leaving;          // sends whose data the link has, in user memory
    std::deque<MessageRequest*> arriving;         // receives whose data this rank has asked for
    size_t sends = 0;                             // sends that have not ended

    bool hasPending() const { return !(answers.empty() && unsent.empty() && streams.empty() && leaving.empty()); }
  };
  // A message to copy out of memory that this rank can address.
  struct Pull {
    MessageRequest* request;
    int peer;
    MessageFrame::Kind kind;
    uint64_t number, segment, place;
  };
  using Lock = std::unique_lock<SpinLock>;

  Status connect();
  bool trySend(Peer& peer, MessageRequest& send);
  bool tryOffer(Peer& peer, MessageRequest& send);
  void startTransfer(MessageRequest& receive, UnexpectedMessage& message);
  void take(MessageRequest& receive, UnexpectedMessage& message);
  void deliver(MessageRequest& receive, const uint8_t* data);
  void complete(MessageRequest& request, MessageRequest::State state);
  void answer(Peer& peer, const MessageFrame& frame);
  void owe(int peer, uint64_t bytes);

  int pollLink(int peer);
  int pollLocal();
  int pollNetwork();
  Status apply(int peer, const MessageLink::Received& received);
  Status applyMessage(int peer, const MessageLink::Received& received);
  int flush(Peer& peer);
  int pull(Lock& lock);
  bool copy(const Pull& pull);
  std::shared_ptr<const uint8_t> hold(const Pull& pull);
  Status checkAlive();
  void poke();
  int progress();
  void fail(int peer, const Status& why);

  bool hasLocalNews() const;
  template <typename Ready>
  Status await(const Ready& ready, int64_t nanos);
  // `isWoken`: threads of this rank that have moved something end the sleep.
  template <typename Ready>
  void sleep(const Ready& ready, int64_t nanos, bool isWoken);

  Communicator& communicator_;
  const int rank_;
  const int size_;
  NetTransport* network_ = nullptr;
  EventCount* events_ = nullptr;  // of this rank's threads that wait for messages
  std::vector<int> local_;        // ranks whose links are rings, and this rank
  std::vector<int> remote_;

  std::mutex viewsMutex_;
  std::map<std::pair<int, uint64_t>, std::shared_ptr<ShmSegment>> views_;  // of peers' memory, by peer and segment

  SpinLock mutex_;  // guards everything below that is not atomic; never held while the network is called
  std::vector<Peer> peers_;
  Matcher matcher_;
  std::deque<Pull> pulls_;
  uint64_t numbers_ = 0;
  bool answered_ = false;  // frames for a network have been written since a receive looked
  int pulling_ = 0;        // number of threads that copy
  Status broken_;          // the first frame that broke the rules

  std::atomic<bool> ended_{false};
  std::atomic<bool> isBroken_{false};
  std::atomic<size_t> pending_{0};  // entries of answers, unsent, streams and leaving of all peers, and of pulls_
  std::atomic<int> callers_{0};
  std::atomic<uint64_t> calls_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<uint32_t> wakes_{0};  // futex word of serve()
  uint64_t ownCalls_ = 0;           // used by serve(), like the next
  uint64_t ownPolls_ = 0;
};

}  // namespace jccl
