// Connections that carry messages over a network plug-in.
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

// The plug-in's device that a connection uses.
struct PluginDevice {
  std::shared_ptr<plugin::NetPlugin> plugin;
  int number = 0;
  plugin::DeviceProperties properties;
};

// A plug-in carries only data and its size, so the other fields of a message travel in a trailer after the data. Data
// that is in user memory, or in GPU memory at either end, travels separately; the message then consists of the trailer
// alone.
struct PluginTrailer {
  static constexpr uint16_t kMagic = 0x4d4a;  // "JM"
  static constexpr uint8_t kEnd = 2;

  uint64_t sequence = 0;
  uint32_t bytes = 0;
  uint32_t check = 0;
  uint16_t magic = kMagic;
  uint8_t tag = 0;
  // 1: the data travels over the communicator for separate data; kEnd: the trailer belongs to no message
  uint8_t apart = 0;
  uint32_t zero = 0;
};
static_assert(sizeof(PluginTrailer) == 24);

// Handles of a connection's two communicators of the plug-in. The first carries messages, in slots with their trailers.
// The second carries separate data, for which the receiver posts a destination once the trailer has arrived. The
// receiver sends both handles over the control connection.
struct PluginHandles {
  std::array<std::array<uint8_t, plugin::kHandleBytes>, 2> handles{};
};

// Notices that the ends send each other over the control connection. A plug-in that does not move a message looks the
// same to each end as a late peer, so an end that has waited for long asks the other end.
//
// Receives are posted ahead, and no function of a plug-in withdraws one. Some plug-ins (aws-ofi-nccl) treat it as a
// failure if a communicator is closed with a posted receive, and then fail all other communicators of its domain. So
// ends that close in order drain the connection first: the receiver reports how many receives it has posted, and the
// sender sends trailers without a message for all of them that no message has used.
enum PluginNotice : uint8_t {
  kPluginCount,  // from the sender, before its FIN: number of its messages, some of which may not have arrived yet
  // from the receiver: it has waited config.peerTimeoutNanos for this message, and asks again after each such time
  kPluginAwaited,
  // from the sender: the plug-in has not finished this message for config.peerTimeoutNanos; has the message arrived?
  kPluginUnsent,
  kPluginArrived,  // from the receiver, in answer to kPluginUnsent: the message has arrived
  // from the receiver, with its first buffer: 1 if all data must travel separately; the sender waits for it
  kPluginApart,
  kPluginPosted,  // from the receiver: it has posted this many receives, and posts no more
  kPluginEnded,   // from the sender: it has used up all these receives
};

// The common part of both ends of a connection.
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
  // Fails if the device cannot carry a message of this size, including its trailer.
  Status requireFits(size_t bytes) const;

  // Delays a failure of the plug-in, `moved`. Its cause is usually a failure of the peer, which the control connection
  // reports a moment later. Returns ok at first, then the peer's failure if one is reported in time, otherwise `moved`.
  Status causeOf(const Status& moved, int64_t nowNanos, int* work);
  bool awaitsCause() const { return !failure_; }
  int64_t causeDeadlineNanos() const;

  // Interval of polls during a handshake, since no event reports that a plug-in has advanced a connection.
  static constexpr int64_t kHandshakePollNanos = 1'000'000;
  // A communicator carries its messages in order and one at a time, so one tag suffices for all.
  static constexpr int kTag = 0;

  // Returns true if more than a second has passed since the previous call. Such a pause does not count as waiting.
  bool hasPaused(int64_t nowNanos);
  // Returns true each time that another config.peerTimeoutNanos of waiting for message `sequence` has passed. The other
  // end must then be asked.
  bool waitsLongFor(uint64_t sequence, bool paused, int64_t nowNanos);
  // Returns the error for message `sequence`, which the plug-in does not move although the other end is not late.
  Status neverMoves(const char* function, uint64_t sequence, const std::string& why) const;

  const NetConfig& config_;
  const int peer_;
  const PluginDevice device_;
  std::unique_ptr<NetControlConnection> control_;
  std::array<std::unique_ptr<PluginComm>, 2> comms_;  // [0] for messages, [1] for separate data
  int64_t startedNanos_ = -1;                         // time of the first poll of the handshake
  int64_t polledNanos_ = 0;                           // time of the last poll of the handshake

 private:
  Status failure_;
  int64_t failedNanos_ = 0;
  uint64_t awaited_ = UINT64_MAX;
  int64_t awaitedNanos_ = 0;  // when the wait for message awaited_ began, or when the other end was last asked
  int64_t lookedNanos_ = 0;
};

//     Dialling ──proved──> Introduced ──the receiver's handles──> Connecting ──both connected──> Connected
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
    // the buffer has space for the trailer after the data; otherwise the trailer travels alone, and the data separately
    bool hasTail = false;
    int begun = 0;  // number of parts (message, data) that the plug-in has accepted
    int ended = 0;  // number of parts that have been sent
    std::array<void*, 2> requests{};
    bool ends = false;  // a trailer without a message, which only uses up a posted receive
  };

  Status endPosted();
  Status shakeHands(int64_t nowNanos, int* work);
  Status connect(int* work);
  Status begin(uint64_t sequence, bool* begun);
  Status beginPart(uint64_t sequence, int part, void** request);
  Status finish(int part, int* work);
  static bool isApart(const Slot& slot) { return !slot.hasTail && slot.message.bytes > 0; }
  static int partsOf(const Slot& slot) { return isApart(slot) ? 2 : 1; }
  static bool isOver(const Slot& slot) { return slot.ended == partsOf(slot); }
  Status move(int* work);
  Status askPeer(int64_t nowNanos);

  EventSet& controlEvents_;
  std::unique_ptr<SocketDialer> dialer_;  // null once the secret is proved
  State state_ = State::Dialling;
  PluginHandles handles_;                             // not const, because the plug-in's connect changes them
  std::array<PluginTrailer, kNetInFlight> trailers_;  // trailers of messages without a tail
  PluginMemory trailersMemory_{trailers_.data(), sizeof trailers_};
  MessageWindow<Slot> window_;
  std::optional<uint64_t> allApart_;  // the value of the notice kPluginApart, once it has arrived
  bool draining_ = false;
  bool ended_ = false;             // all receives that the receiver has posted are used up
  std::optional<uint64_t> count_;  // number of messages; set when trailers without a message (Slot::ends) follow them
  uint64_t begun_ = 0;             // the next message to pass to the plug-in
  uint64_t awaitedByPeer_ = UINT64_MAX;  // the posted message that the peer has asked for
  uint64_t arrivedAtPeer_ = UINT64_MAX;  // the unfinished message that the peer has reported as arrived
};

//     Listening ──handles sent──> Accepting ──both accepted──> Connected
class PluginRecvConnection final : public NetRecvConnection, private PluginEnd {
 public:
  PluginRecvConnection(const NetConfig& config, int peer, PluginDevice device);
  ~PluginRecvConnection() override;

  Status open(DataSocket socket, EventSet& controlEvents);
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
    // destination of the message: `buffer`, or space for the trailer alone if `buffer` is in GPU memory
    NetBuffer place;
    NetMessage expected;  // the message that may go to `postedBuffer`, if that is set
    NetBuffer postedBuffer;
    void* request = nullptr;  // request for the message, later for its data
    bool arrived = false;     // the trailer has arrived, and the fields below are valid
    bool apart = false;
    NetMessage message;
    NetBuffer target;  // where the data is, or where it will arrive
    bool complete = false;
  };

  Status accept(int64_t nowNanos, int* work);
  Status post(PluginComm& comm, const NetBuffer& buffer, size_t bytes, void** request);
  Status read(uint64_t sequence, int bytes);
  bool expectsEnough() const;
  Status move(int* work);
  Status askPeer(int64_t nowNanos);
  Status badMessage(const std::string& why) const;
  void complete(Slot& slot);
  // Returns true if everything that the peer will ever send has arrived.
  bool isOver() const { return completed_ == count_ && !draining_; }
  void readCount() {
    if (const auto count = control_->takeNotice(kPluginCount)) count_ = *count;
    peerEnds_ = peerEnds_ || control_->takeNotice(kPluginEnded);
  }

  std::array<void*, 2> listeners_{};
  std::array<PluginTrailer, kNetInFlight> trailers_{};
  PluginMemory trailersMemory_{trailers_.data(), sizeof trailers_};
  std::array<void*, kNetInFlight> flushes_{};  // the plug-in's flush requests, by sequence modulo kNetInFlight
  MessageWindow<Slot> window_;
  bool draining_ = false;
  bool peerEnds_ = false;        // the notice kPluginEnded has arrived
  uint64_t posted_ = 0;          // the next message to post to the plug-in
  uint64_t arrived_ = 0;         // the next message whose trailer has not arrived
  uint64_t end_ = UINT64_MAX;    // sequence of the first trailer without a message
  uint64_t dataPosted_ = 0;      // the next message whose data, if it travels separately, is not posted
  uint64_t completed_ = 0;       // number of complete messages
  uint64_t count_ = UINT64_MAX;  // number of messages, once known
};

}  // namespace jccl
