// Messages over a network plug-in.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugin/net_abi.h"
#include "plugin/plugin_library.h"
#include "transport/message_window.h"
#include "transport/net.h"
#include "transport/net_config.h"
#include "transport/net_control_connection.h"
#include "transport/plugin_comm.h"
#include "transport/socket_dialer.h"

namespace jccl {

// The device of a plug-in that a connection goes by.
struct PluginDevice {
  std::shared_ptr<plugin::NetPlugin> plugin;
  int number = 0;
  plugin::DeviceProperties properties;
};

// A plug-in carries bytes and their number; what else belongs to a message follows them. It is all there is of a message
// whose data comes by itself: data of user memory, and of memory of a GPU at either end.
struct PluginTrailer {
  static constexpr uint16_t kMagic = 0x4d4a;  // "JM"
  static constexpr uint8_t kEnd = 2;

  uint64_t sequence = 0;
  uint32_t bytes = 0;
  uint32_t check = 0;
  uint16_t magic = kMagic;
  uint8_t tag = 0;
  uint8_t apart = 0;  // 1: the data comes over the communicator for data; kEnd: there is no message
  uint32_t zero = 0;
};
static_assert(sizeof(PluginTrailer) == 24);

// Two communicators of the plug-in: one for messages, in slots with their trailer behind; and one for data that comes by itself,
// which lands where the receiver posts it once the trailer is there. The receiver sends both handles over the control
// connection.
struct PluginHandles {
  std::array<std::array<uint8_t, plugin::kHandleBytes>, 2> handles{};
};

// What the ends notify each other of over the control connection. A plug-in that does not move a message looks like a peer
// that is late, to each end by itself: so an end that has waited for long asks the other.
//
// Receives are posted ahead, and no function of a plug-in takes one back. Some (aws-ofi-nccl) take it for a failure if a
// communicator is closed with one, and fail all others that share its domain. So ends that close in order drain the connection
// first: the receiver notifies of how many messages it has posted, and the sender sends as many, of which the last are none.
enum PluginNotice : uint8_t {
  kPluginCount,    // the sender, before its FIN: how many messages there were; the receiver may have them still to come
  kPluginAwaited,  // the receiver has waited long for this message
  kPluginUnsent,   // the plug-in has not sent this message for long; has it come?
  kPluginArrived,  // it has
  kPluginApart,    // the receiver, with its first buffer: 1 if all data is to come by itself; the sender waits for that
  kPluginPosted,   // the receiver posts no more than so many messages
  kPluginEnded,    // the sender has sent as many
};

// What both ends have.
class PluginEnd {
 protected:
  PluginEnd(const NetConfig& config, int peer, PluginDevice device)
      : config_(config), peer_(peer), device_(std::move(device)) {}
  ~PluginEnd() = default;

  bool hasComms() const { return comms_[0] != nullptr && comms_[1] != nullptr; }
  void closeComms();
  Status reachData(NetMemory& memory);
  void cutControl() const {
    if (control_ != nullptr) control_->cut();
  }
  std::string describeEnd() const;
  // Of a message with its trailer.
  Status requireFits(size_t bytes) const;

  // A failure of the plug-in is mostly that of the peer, which the control connection reports in a moment: `moved` fails when it
  // has, or after a while without.
  Status causeOf(const Status& moved, int64_t nowNanos, int* work);
  bool awaitsCause() const { return !failure_; }
  int64_t causeDeadlineNanos() const;

  // No event reports that a plug-in has come further with a connection.
  static constexpr int64_t kHandshakePollNanos = 1'000'000;
  // Messages of a communicator come in order, and one at a time.
  static constexpr int kTag = 0;

  // Whether nobody has looked for some time, which counts for no wait.
  bool hasPaused(int64_t nowNanos);
  // Whether message `sequence` has been waited for so long that the other end is to be asked: again and again.
  bool waitsLongFor(uint64_t sequence, bool paused, int64_t nowNanos);
  // Message `sequence` does not move, and the other end is not late.
  Status neverMoves(const char* function, uint64_t sequence, const std::string& why) const;

  const NetConfig& config_;
  const int peer_;
  const PluginDevice device_;
  std::unique_ptr<NetControlConnection> control_;
  std::array<std::unique_ptr<PluginComm>, 2> comms_;  // of messages, of data that comes by itself
  int64_t startedNanos_ = -1;                         // the first poll while it is not connected
  int64_t polledNanos_ = 0;                           // the last one

 private:
  Status failure_;
  int64_t failedNanos_ = 0;
  uint64_t awaited_ = UINT64_MAX;
  int64_t awaitedNanos_ = 0;  // since when, or when the other end was asked
  int64_t lookedNanos_ = 0;
};

//     Dialling ──proven──> Introduced ──the receiver's handles──> Connecting ──both connected──> Connected
class PluginSendConnection final : public NetSendConnection, private PluginEnd {
 public:
  PluginSendConnection(const NetConfig& config, const NetRoute& route, PluginDevice device, EventSet& controlEvents,
                       std::vector<SocketDialer::Pair> pairs);

  bool connected() const override { return state_ == State::Connected; }
  Status isend(uint64_t sequence, const NetMessage& message, const NetBuffer& data) override;
  Status test(uint64_t sequence, bool* done) override;
  Status reach(NetMemory& memory) override { return reachData(memory); }
  Status progress(int64_t nowNanos, int* work) override;
  int64_t nextDeadlineNanos() const override;
  void revoke() override { closeComms(); }
  void abandon() override { cutControl(); }
  void drain() override { draining_ = true; }
  bool drained() const override;
  void close() override;
  std::string describe() const override;

 private:
  enum class State : uint8_t { Dialling, Introduced, Connecting, Connected };
  struct Slot {
    NetMessage message;
    uint8_t* data = nullptr;
    PluginMemory* memory = nullptr;
    bool hasTail = false;  // for the trailer; without it the trailer goes alone, and what data there is comes after it
    int begun = 0;         // of its parts: message, data
    int ended = 0;
    std::array<void*, 2> requests{};
    bool ends = false;  // is no message
  };

  Status endPosted();
  Status shakeHands(int64_t nowNanos, int* work);
  Status connect(int* work);
  Status begin(uint64_t sequence, bool* begun);
  Status beginPart(uint64_t sequence, int part, void** request);
  Status finish(Slot& slot, int* work);
  static bool isApart(const Slot& slot) { return !slot.hasTail && slot.message.bytes > 0; }
  static int partsOf(const Slot& slot) { return isApart(slot) ? 2 : 1; }
  static bool isOver(const Slot& slot) { return slot.ended == partsOf(slot); }
  Status move(int* work);
  Status askPeer(int64_t nowNanos);

  EventSet& controlEvents_;
  std::unique_ptr<SocketDialer> dialer_;  // until it is proven
  State state_ = State::Dialling;
  PluginHandles handles_;                             // connect changes them
  std::array<PluginTrailer, kNetInFlight> trailers_;  // of messages that have no tail
  PluginMemory trailersMemory_{trailers_.data(), sizeof trailers_};
  MessageWindow<Slot> window_;
  std::optional<uint64_t> allApart_;  // what kPluginApart has said
  bool draining_ = false;
  bool ended_ = false;                   // all that the receiver has posted
  std::optional<uint64_t> count_;        // of messages, once there are others behind them
  uint64_t begun_ = 0;                   // the next message to pass to the plug-in
  uint64_t awaitedByPeer_ = UINT64_MAX;  // a message that had been posted here
  uint64_t arrivedAtPeer_ = UINT64_MAX;  // and one that was not done here
};

//     Listening ──handles sent──> Accepting ──both accepted──> Connected
class PluginRecvConnection final : public NetRecvConnection, private PluginEnd {
 public:
  PluginRecvConnection(const NetConfig& config, int peer, PluginDevice device);
  ~PluginRecvConnection() override;

  Status open(UniqueFd socket, EventSet& controlEvents);
  Status irecv(uint64_t sequence, std::span<const NetBuffer, kNetTags> byTag) override;
  void redirect(uint64_t sequence, const NetMessage& expected, const NetBuffer& buffer) override;
  Status test(uint64_t sequence, bool* done, NetArrival* arrival) override;
  Status reach(NetMemory& memory) override { return reachData(memory); }
  Status progress(int64_t nowNanos, int* work) override;
  int64_t nextDeadlineNanos() const override;
  void revoke() override { closeComms(); }
  void abandon() override { cutControl(); }
  Status flush(uint64_t sequence, const NetBuffer& data) override;
  Status flushed(uint64_t sequence, bool* done) override;
  void drain() override;
  bool drained() const override;
  void close() override;
  std::string describe() const override;

 private:
  struct Slot {
    NetBuffer buffer;
    NetBuffer place;  // of the message: the buffer, or, where that is memory of a GPU, a place for the trailer alone
    NetMessage expected;  // goes to `postedBuffer`, if there is one
    NetBuffer postedBuffer;
    void* request = nullptr;  // of the message, then of its data
    bool arrived = false;     // its trailer is here; from then on:
    bool apart = false;
    NetMessage message;
    NetBuffer target;  // where the data is, or goes
    bool complete = false;
  };

  Status accept(int64_t nowNanos, int* work);
  Status post(PluginComm& comm, const NetBuffer& buffer, size_t bytes, void** request);
  Status read(uint64_t sequence, int bytes);
  Status move(int* work);
  Status askPeer(int64_t nowNanos);
  Status badMessage(const std::string& why) const;
  void complete(Slot& slot);
  // Whether everything that the peer will ever send is here.
  bool isOver() const { return completed_ == count_ && !draining_; }
  void readCount() {
    if (const auto count = control_->takeNotice(kPluginCount)) count_ = *count;
    peerEnds_ = peerEnds_ || control_->takeNotice(kPluginEnded);
  }

  std::array<void*, 2> listeners_{};
  std::array<PluginTrailer, kNetInFlight> trailers_{};
  PluginMemory trailersMemory_{trailers_.data(), sizeof trailers_};
  std::array<void*, kNetInFlight> flushes_{};  // requests, by sequence
  MessageWindow<Slot> window_;
  bool draining_ = false;
  bool peerEnds_ = false;        // kPluginEnded has come
  uint64_t posted_ = 0;          // the next message to post to the plug-in
  uint64_t arrived_ = 0;         // the next message whose trailer has not come
  uint64_t end_ = UINT64_MAX;    // the first that is none
  uint64_t dataPosted_ = 0;      // the next message whose data, if it comes by itself, is not posted
  uint64_t completed_ = 0;       // how many messages are whole
  uint64_t count_ = UINT64_MAX;  // how many there are, once that is known
};

}  // namespace jccl
