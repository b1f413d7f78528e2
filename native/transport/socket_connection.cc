#include "transport/socket_connection.h"

#include <algorithm>
#include <numeric>

namespace jccl {
namespace {

// Number of bytes that one stream may move before the other streams and the caller continue.
constexpr size_t kBytesPerPoll = 512 * 1024;

// Number of checks for answers during the time for which a peer may be silent.
constexpr int64_t kChecksPerTimeout = 8;

// Receives at the sending end of streams, where only a FIN message is expected. With `waits`, another connection will
// read the stream, so frames of data are left for it; otherwise they are errors.
class FinReceiver final : public SocketStream::Receiver {
 public:
  explicit FinReceiver(bool waits) : waits_(waits) {}

  Status place(const SocketFrame&, const SocketStream& stream, uint8_t**) override {
    if (waits_) return Status::ok();
    return Status::transport("net: " + stream.describe() +
                             " sent data in the wrong direction; do all ranks run the same version?");
  }
  void placed(const SocketFrame&) override {}

 private:
  const bool waits_;
};

}  // namespace

template <typename Busy, typename Move>
Status SocketStreams::each(const std::vector<std::unique_ptr<SocketStream>>& streams, int* work, Busy busy, Move move) {
  const auto isBusy = [&busy](const auto& stream) { return busy(*stream); };
  if (pool_ == nullptr || std::count_if(streams.begin(), streams.end(), isBusy) < 2) {
    for (const auto& stream : streams) {
      if (Status moved = move(*stream, work); !moved) return moved;
    }
    return Status::ok();
  }
  std::vector<Status> results(streams.size(), Status::ok());
  std::vector<int> works(streams.size());
  pool_->run(static_cast<int>(streams.size()), [&](int i) {
    const auto at = static_cast<size_t>(i);
    results[at] = move(*streams[at], &works[at]);
  });
  *work = std::accumulate(works.begin(), works.end(), *work);
  const auto failed = std::find_if(results.begin(), results.end(), [](const Status& result) { return !result; });
  return failed == results.end() ? Status::ok() : *failed;
}

Status SocketStreams::checkAnswers(const std::vector<std::unique_ptr<SocketStream>>& streams, int64_t nowNanos) {
  if (nowNanos < nextCheckNanos_) return Status::ok();
  nextCheckNanos_ = nowNanos + peerTimeoutNanos_ / kChecksPerTimeout;
  for (const auto& stream : streams) {
    if (Status answers = stream->checkAnswers(nowNanos, peerTimeoutNanos_); !answers) return answers;
  }
  return Status::ok();
}

SocketSendConnection::SocketSendConnection(const NetConfig& config, const NetRoute& route, EventSet& dialEvents,
                                           EventSet& dataEvents, std::shared_ptr<IoThreadPool> pool,
                                           std::vector<std::vector<SocketDialer::Pair>> pairsPerStream,
                                           std::shared_ptr<SocketEagerPath> eagerPath)
    : config_(config),
      peer_(route.to),
      dataEvents_(dataEvents),
      together_(config, std::move(pool)),
      eagerPath_(std::move(eagerPath)),
      ownsEagerPath_(SocketEagerPath::isOwnedBy(route.from, route.to)) {
  NetIntroductionHeader who;
  who.communicator = route.communicator;
  who.from = route.from;
  who.to = route.to;
  who.channel = route.channel;
  who.streams = static_cast<uint16_t>(pairsPerStream.size());
  for (size_t i = 0; i < pairsPerStream.size(); ++i) {
    who.stream = static_cast<uint16_t>(i);
    dialers_.push_back(std::make_unique<SocketDialer>(config, dialEvents, who, std::move(pairsPerStream[i])));
  }
}

SocketSendConnection::~SocketSendConnection() {
  if (ownsEagerPath_) eagerPath_->withdraw();
}

Status SocketSendConnection::isend(uint64_t sequence, const NetMessage& message, const NetBuffer& data) {
  if (!window_.mayPost(sequence)) return window_.outOfOrder("isend", sequence);
  window_.post() = {message, static_cast<const uint8_t*>(data.address), 1};
  if (connected()) push(sequence);
  return Status::ok();
}

void SocketSendConnection::push(uint64_t sequence) {
  Slot& sent = window_[sequence];
  const auto streams = static_cast<uint32_t>(streams_.size());
  const StripePlan plan(sent.message.bytes, config_.stripeBytes, streams);
  sent.framesLeft = plan.count();
  const bool isEager = !ownsEagerPath_ && plan.count() == 1 && eagerPath_->takes(sent.message.bytes);
  for (uint32_t i = 0; i < plan.count(); ++i) {
    const StripePlan::Stripe stripe = plan.stripe(i);
    SocketFrame frame;
    frame.tag = sent.message.tag;
    frame.sequence = sequence;
    frame.totalBytes = sent.message.bytes;
    frame.offset = stripe.offset;
    frame.length = stripe.length;
    frame.check = sent.message.check;
    SocketStream* stream = isEager ? eagerPath_->stream() : streams_[StripePlan::streamOf(sequence, i, streams)].get();
    stream->push(frame, sent.data + stripe.offset);
  }
}

Status SocketSendConnection::test(uint64_t sequence, bool* done) {
  if (!window_.holds(sequence)) return window_.outOfOrder("test", sequence);
  const auto isOver = [](const Slot& sent) { return sent.framesLeft == 0; };
  *done = isOver(window_[sequence]);
  window_.finishTo(sequence, isOver);
  return Status::ok();
}

Status SocketSendConnection::dial(int64_t nowNanos, int* work) {
  bool all = true;
  for (const auto& dialer : dialers_) {
    if (Status dialled = dialer->progress(nowNanos, work); !dialled) return dialled;
    all = all && dialer->done();
  }
  if (!all) return Status::ok();
  for (const auto& dialer : dialers_) {
    const auto index = static_cast<uint32_t>(streams_.size());
    streams_.push_back(std::make_unique<SocketStream>(dialer->take(), peer_, dataEvents_, index, config_));
    if (Status opened = streams_.back()->open(); !opened) return opened;
  }
  dialers_.clear();
  if (ownsEagerPath_) eagerPath_->offer(streams_.front().get());
  for (uint64_t sequence = window_.done(); sequence < window_.posted(); ++sequence) push(sequence);
  return Status::ok();
}

Status SocketSendConnection::progress(int64_t nowNanos, int* work) {
  if (!connected()) {
    if (Status dialled = dial(nowNanos, work); !dialled || !connected()) return dialled;
  }
  if (Status answers = together_.checkAnswers(streams_, nowNanos); !answers) return answers;
  if (Status heard = listen(work); !heard) return heard;
  const auto done = [this](uint64_t sequence) {
    const auto lock = together_.reporting();
    --window_[sequence].framesLeft;
  };
  const auto send = [&done](SocketStream& stream, int* sent) { return stream.send(sent, done); };
  const auto busy = [](const SocketStream& stream) { return stream.maySend(); };
  if (Status moved = together_.each(streams_, work, busy, send); !moved) return moved;
  if (ownsEagerPath_ || eagerPath_->stream() == nullptr) return Status::ok();
  return eagerPath_->stream()->send(work, done);
}

Status SocketSendConnection::listen(int* work) {
  for (const auto& stream : streams_) {
    const bool isEagerPath = ownsEagerPath_ && stream == streams_.front();
    if (isEagerPath && eagerPath_->isRead()) continue;
    FinReceiver receiver(isEagerPath);
    if (Status heard = stream->receive(receiver, kBytesPerPoll, work); !heard) return heard;
  }
  return Status::ok();
}

int64_t SocketSendConnection::nextDeadlineNanos() const {
  int64_t next = connected() ? together_.nextCheckNanos() : INT64_MAX;
  for (const auto& dialer : dialers_) next = std::min(next, dialer->nextDeadlineNanos());
  return next;
}

void SocketSendConnection::close() {
  dialers_.clear();
  for (const auto& stream : streams_) stream->sendFin();
}

std::string SocketSendConnection::describe() const {
  return streams_.empty() ? (dialers_.empty() ? "rank " + std::to_string(peer_) : dialers_.front()->describe())
                          : streams_.front()->describe();
}

SocketRecvConnection::SocketRecvConnection(const NetConfig& config, int peer, EventSet& dataEvents,
                                           std::shared_ptr<IoThreadPool> pool, std::vector<DataSocket> sockets,
                                           std::shared_ptr<SocketEagerPath> eagerPath)
    : config_(config),
      together_(config, std::move(pool)),
      eagerPath_(std::move(eagerPath)),
      ownsEagerPath_(SocketEagerPath::isOwnedBy(peer, config.rank)) {
  for (DataSocket& socket : sockets) {
    const auto index = static_cast<uint32_t>(streams_.size());
    streams_.push_back(std::make_unique<SocketStream>(std::move(socket), peer, dataEvents, index, config));
  }
}

SocketRecvConnection::~SocketRecvConnection() {
  if (ownsEagerPath_) eagerPath_->withdraw();
}

Status SocketRecvConnection::open() {
  for (const auto& stream : streams_) {
    if (Status opened = stream->open(); !opened) return opened;
  }
  if (ownsEagerPath_) eagerPath_->offer(streams_.front().get());
  return Status::ok();
}

Status SocketRecvConnection::irecv(uint64_t sequence, std::span<const NetBuffer, kNetTags> byTag) {
  if (!window_.mayPost(sequence)) return window_.outOfOrder("irecv", sequence);
  Slot& next = window_.post();
  next = Slot{};
  std::copy(byTag.begin(), byTag.end(), next.byTag.begin());
  return Status::ok();
}

void SocketRecvConnection::redirect(uint64_t sequence, const NetMessage& expected, const NetBuffer& buffer) {
  if (!window_.holds(sequence)) return;
  window_[sequence].expected = expected;
  window_[sequence].postedBuffer = buffer;
}

Status SocketRecvConnection::test(uint64_t sequence, bool* done, NetArrival* arrival) {
  if (!window_.isFirst(sequence)) return window_.outOfOrder("test", sequence);
  const Slot& tested = window_[sequence];
  const auto streams = static_cast<uint32_t>(streams_.size());
  *done = tested.placed > 0 && tested.placed == StripePlan(tested.message.bytes, config_.stripeBytes, streams).count();
  if (!*done) return Status::ok();
  *arrival = {tested.message, tested.data};
  window_.finish();
  return Status::ok();
}

Status SocketRecvConnection::badFrame(const SocketFrame& frame, const char* why) const {
  return Status::transport("net: " + describe() +
                           " sent a frame that does not fit: sequence=" + std::to_string(frame.sequence) +
                           " tag=" + std::to_string(frame.tag) + " total_bytes=" + std::to_string(frame.totalBytes) +
                           " offset=" + std::to_string(frame.offset) + " length=" + std::to_string(frame.length) +
                           ": " + why + "; do all ranks have the same version and JCCL_* settings?");
}

Status SocketRecvConnection::place(const SocketFrame& frame, const SocketStream& stream, uint8_t** to) {
  const auto lock = together_.reporting();
  const auto streams = static_cast<uint32_t>(streams_.size());
  const StripePlan plan(frame.totalBytes, config_.stripeBytes, streams);
  const bool isEager = !ownsEagerPath_ && &stream == eagerPath_->stream();
  const uint32_t index = isEager ? 0 : StripePlan::indexOf(frame.sequence, stream.index(), streams);
  if (frame.tag >= kNetTags) return badFrame(frame, "its protocol is unknown");
  if (index >= plan.count()) return badFrame(frame, "this stream has no part of that message");
  const StripePlan::Stripe stripe = plan.stripe(index);
  if (stripe.offset != frame.offset || stripe.length != frame.length) return badFrame(frame, "it is cut differently");
  if (frame.sequence < window_.done()) {
    return badFrame(frame, ("expected_sequence=" + std::to_string(window_.done())).c_str());
  }
  if (frame.sequence >= window_.posted()) return Status::ok();  // no buffer is posted for it yet
  Slot& target = window_[frame.sequence];
  if ((target.begun >> index & 1) != 0) return badFrame(frame, "that part has come already");
  if (target.begun == 0) {
    target.message = {frame.tag, frame.check, frame.totalBytes};
    const bool isExpected = target.postedBuffer.address != nullptr && target.expected == target.message;
    target.data = static_cast<uint8_t*>(isExpected ? target.postedBuffer.address : target.byTag[frame.tag].address);
  } else if (target.message.tag != frame.tag || target.message.check != frame.check ||
             target.message.bytes != frame.totalBytes) {
    return badFrame(frame, "its other parts say otherwise");
  }
  const uint32_t capacity = target.byTag[frame.tag].bytes;
  if (frame.totalBytes > capacity) return badFrame(frame, ("capacity_bytes=" + std::to_string(capacity)).c_str());
  target.begun |= uint64_t{1} << index;
  *to = target.data + frame.offset;
  return Status::ok();
}

void SocketRecvConnection::placed(const SocketFrame& frame) {
  const auto lock = together_.reporting();
  ++window_[frame.sequence].placed;
}

Status SocketRecvConnection::progress(int64_t nowNanos, int* work) {
  if (Status answers = together_.checkAnswers(streams_, nowNanos); !answers) return answers;
  const auto receive = [this](SocketStream& stream, int* got) { return stream.receive(*this, kBytesPerPoll, got); };
  const auto busy = [](const SocketStream& stream) { return stream.mayReceive(); };
  if (Status moved = together_.each(streams_, work, busy, receive); !moved) return moved;
  if (ownsEagerPath_) return Status::ok();
  eagerPath_->startReading();
  return eagerPath_->stream() == nullptr ? Status::ok() : eagerPath_->stream()->receive(*this, kBytesPerPoll, work);
}

bool SocketRecvConnection::expecting() const {
  if (!ownsEagerPath_ && eagerPath_->stream() != nullptr && eagerPath_->stream()->eager()) return true;
  return std::any_of(streams_.begin(), streams_.end(), [](const auto& stream) { return stream->eager(); });
}

void SocketRecvConnection::close() {
  for (const auto& stream : streams_) stream->sendFin();
}

std::string SocketRecvConnection::describe() const { return streams_.front()->describe(); }

}  // namespace jccl
