#include "transport/socket_dialer.h"

#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "transport/socket_options.h"

namespace jccl {
namespace {

constexpr int64_t kFirstPauseNanos = 5'000'000;
constexpr int64_t kLongestPauseNanos = 500'000'000;
constexpr int64_t kExhaustedPatienceNanos = 2'000'000'000;

std::vector<SocketAddress> ofFamily(const std::vector<SocketAddress>& addresses, int family) {
  std::vector<SocketAddress> found;
  std::copy_if(addresses.begin(), addresses.end(), std::back_inserter(found),
               [family](const SocketAddress& one) { return one.family() == family; });
  return found;
}

uint32_t versionOf(const NetConfig& config) { return config.crypto == nullptr ? 1 : NetChallenge::kEncrypted; }

// Returns why this rank cannot continue after a challenge of another version.
std::string otherVersion(const NetChallenge& challenge, const NetConfig& config) {
  const bool isKnown = challenge.version == 1 || challenge.version == NetChallenge::kEncrypted;
  if (challenge.magic != NetChallenge::kMagic || !isKnown)
    return "something else than this version of JCCL listens there";
  return config.crypto == nullptr
             ? "the listener encrypts and this rank does not; set JCCL_ENCRYPTION alike on all ranks"
             : "this rank encrypts and the listener does not; set JCCL_ENCRYPTION alike on all ranks";
}

}  // namespace

Status SocketDialer::pairAddresses(const std::vector<SocketAddress>& local, std::span<const uint8_t> published,
                                   const Beginning& beginning, std::vector<Pair>* pairs) {
  std::vector<SocketAddress> remote;
  if (Status read = decodeAddresses(published.data(), published.size(), &remote); !read) return read;
  const int first = remote.front().family();
  for (const int family : {first, first == AF_INET ? AF_INET6 : AF_INET}) {
    const std::vector<SocketAddress> from = ofFamily(local, family);
    const std::vector<SocketAddress> to = ofFamily(remote, family);
    // Addresses with the same index in the two lists are assumed to be on the same network.
    const std::optional<size_t> planned = placeOf(devicesOf(from), beginning.ends.local);
    const size_t firstLocal = planned.value_or(beginning.rotation);
    const size_t firstRemote =
        planned ? placeOf(devicesOf(to), beginning.ends.remote).value_or(firstLocal) : beginning.rotation;
    for (size_t r = 0; r < to.size(); ++r) {
      for (size_t l = 0; l < from.size(); ++l) {
        Pair pair = {from[(l + r + firstLocal + beginning.stream) % from.size()],
                     to[(r + firstRemote + beginning.stream) % to.size()]};
        pair.remote.adoptInterface(pair.local);
        pairs->push_back(pair);
      }
    }
  }
  if (!pairs->empty()) return Status::ok();
  return Status::transport("net: remote=" + remote.front().toString() +
                           " local=" + (local.empty() ? "(not listening)" : local.front().toString()) +
                           ": no address of a common family (IPv4 or IPv6); choose interfaces that have one with "
                           "JCCL_SOCKET_IFNAME or JCCL_SOCKET_FAMILY");
}

SocketDialer::SocketDialer(const NetConfig& config, EventSet& events, const NetIntroductionHeader& who,
                           std::vector<Pair> pairs)
    : config_(config), secret_(config.secret), events_(events), pairs_(std::move(pairs)) {
  introduction_.header = who;
}

std::string SocketDialer::describe() const {
  const Pair& pair = pairs_[attempts_ == 0 ? 0 : (attempts_ - 1) % pairs_.size()];
  return "rank " + std::to_string(introduction_.header.to) + " at " + pair.remote.toString() + " from " +
         pair.local.toString();
}

int64_t SocketDialer::nextDeadlineNanos() const {
  switch (state_) {
    case State::Done:
      return INT64_MAX;
    case State::Waiting:
      return nextAttemptNanos_;
    default:
      return attemptEndsNanos_;
  }
}

void SocketDialer::hangUp() {
  if (socket_) events_.remove(socket_.get());
  socket_.reset();
}

void SocketDialer::lose(int64_t nowNanos, const std::string& why) {
  lastLoss_ = describe() + ": " + why;
  hangUp();
  state_ = State::Waiting;
  // The pause grows only after all pairs of addresses have been tried.
  const auto rounds = std::min<size_t>(attempts_ / pairs_.size(), 10);
  nextAttemptNanos_ = nowNanos + std::min(kLongestPauseNanos, kFirstPauseNanos << rounds);
  logMessage(LogLevel::Debug, "net", "attempt=" + std::to_string(attempts_) + " lost: " + lastLoss_);
}

// Handles a lack of resources of this host, for which neither peer nor network is responsible. If the lack lasts for
// kExhaustedPatienceNanos, gives up.
void SocketDialer::loseHere(int64_t nowNanos, const Status& why) {
  if (exhaustedSinceNanos_ < 0) exhaustedSinceNanos_ = nowNanos;
  if (nowNanos - exhaustedSinceNanos_ >= kExhaustedPatienceNanos) {
    refusal_ = {why.code(), "net: no connection to " + describe() + ": " + why.message()};
  }
  lose(nowNanos, why.message());
}

void SocketDialer::dial(int64_t nowNanos) {
  const Pair& pair = pairs_[attempts_++ % pairs_.size()];
  attemptEndsNanos_ = nowNanos + config_.handshakeTimeoutNanos;
  moved_ = 0;
  const Distance distance = pair.remote.sameHost(pair.local) ? Distance::SameHost : Distance::Network;
  Status made = openDataSocket(pair.remote.family(), distance, config_, &socket_);
  if (made) made = tuneDataSocket(socket_.get(), config_);
  if (!made) return loseHere(nowNanos, made);
  SocketAddress source = pair.local;
  source.setPort(0);
  if (::bind(socket_.get(), source.get(), source.bytes()) != 0) {
    const int error = errno;
    const Status refused = Status::system("bind", socketHint(error), error);
    return error == EADDRINUSE ? loseHere(nowNanos, refused) : lose(nowNanos, refused.message());
  }
  if (Status added = events_.add(socket_.get(), this); !added) return loseHere(nowNanos, added);
  exhaustedSinceNanos_ = -1;
  ready_ = false;
  state_ = State::Connecting;
  if (::connect(socket_.get(), pair.remote.get(), pair.remote.bytes()) == 0) {
    ready_ = true;
  } else if (errno != EINPROGRESS) {
    const int error = errno;
    lose(nowNanos, Status::system("connect", socketHint(error), error).message());
  }
}

bool SocketDialer::finishConnect(int64_t nowNanos) {
  int error = 0;
  socklen_t bytes = sizeof error;
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
  if (error != 0) {
    lose(nowNanos, Status::system("connect", socketHint(error), error).message());
    return true;
  }
  sockaddr_storage peer;
  socklen_t peerBytes = sizeof peer;
  if (::getpeername(socket_.get(), reinterpret_cast<sockaddr*>(&peer), &peerBytes) != 0) {
    ready_ = false;  // the event came too early; the end of the attempt limits the wait for another event
    return false;
  }
  state_ = State::Challenged;
  return true;
}

// Returns true once the whole message is received; false if bytes are missing or the connection is lost.
template <typename T>
bool SocketDialer::receive(T* message, int64_t nowNanos) {
  const ssize_t got = ::recv(socket_.get(), reinterpret_cast<uint8_t*>(message) + moved_, sizeof *message - moved_, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
    ready_ = errno == EINTR;
    return false;
  }
  if (got <= 0) {
    const int error = got == 0 ? 0 : errno;
    lose(nowNanos, got == 0 ? "the listener hung up during the handshake; does it belong to this job (same secret)?"
                            : Status::system("recv", socketHint(error), error).message());
    return false;
  }
  moved_ += static_cast<size_t>(got);
  if (moved_ < sizeof *message) return false;
  moved_ = 0;
  return true;
}

Status SocketDialer::prepareIntroduction() {
  if (Status fresh = freshNonce(&introduction_.header.nonce); !fresh) return fresh;
  if (config_.crypto == nullptr) {
    introduction_.proof = secret_.proveConnector(challenge_.nonce, introduction_.header);
    return Status::ok();
  }
  if (Status begun = secret_.begin(config_.crypto, challenge_, true, &handshake_); !begun) return begun;
  std::vector<uint8_t> message;
  const auto* header = reinterpret_cast<const uint8_t*>(&introduction_.header);
  if (Status written = handshake_->write({header, sizeof introduction_.header}, &message); !written) return written;
  std::copy(message.begin(), message.end(), encryptedIntroduction_.message.begin());
  return Status::ok();
}

bool SocketDialer::introduce(int64_t nowNanos) {
  const bool encrypted = config_.crypto != nullptr;
  const auto* message = encrypted ? reinterpret_cast<const uint8_t*>(&encryptedIntroduction_)
                                  : reinterpret_cast<const uint8_t*>(&introduction_);
  const size_t bytes = encrypted ? sizeof encryptedIntroduction_ : sizeof introduction_;
  const ssize_t put = ::send(socket_.get(), message + moved_, bytes - moved_, MSG_NOSIGNAL);
  if (put < 0 && (errno == EAGAIN || errno == EINTR)) {
    ready_ = errno == EINTR;
    return ready_;
  }
  if (put < 0) {
    const int error = errno;
    lose(nowNanos, Status::system("send", socketHint(error), error).message());
    return true;
  }
  moved_ += static_cast<size_t>(put);
  if (moved_ < bytes) return true;
  moved_ = 0;
  state_ = State::Proved;
  // The listener may have accepted this attempt already, and would then refuse another one. So this attempt continues
  // until config.connectTimeoutNanos have passed since the first attempt. A listener that has not accepted this attempt
  // closes its connection.
  attemptEndsNanos_ = startedNanos_ + config_.connectTimeoutNanos;
  return true;
}

// Checks the listener's reply. Fails if the listener does not know the secret.
Status SocketDialer::readReply() {
  if (config_.crypto == nullptr) {
    const bool believed = secret_.believesListener(challenge_.nonce, introduction_.header, reply_);
    return believed ? Status::ok() : Status::transport("the listener does not know the secret of this job");
  }
  const std::span code(reinterpret_cast<uint8_t*>(&reply_.code), sizeof reply_.code);
  if (Status read = handshake_->read(encryptedReply_.message, code); !read) {
    return Status::transport("the listener does not know the secret of this job: " + read.message());
  }
  records_ = std::make_unique<crypto::Records>(config_.crypto, handshake_->split());
  handshake_.reset();
  return Status::ok();
}

void SocketDialer::conclude() {
  if (reply_.code == NetHandshakeReply::kWelcome) {
    events_.remove(socket_.get());
    state_ = State::Done;
    return;
  }
  refusal_ = Status::transport("net: " + describe() + " refused the connection: " + refusalText(reply_.code));
}

bool SocketDialer::step(int64_t nowNanos) {
  switch (state_) {
    case State::Waiting:
      if (nowNanos < nextAttemptNanos_) return false;
      dial(nowNanos);
      return true;
    case State::Connecting:
      return finishConnect(nowNanos);
    case State::Challenged:
      if (!receive(&challenge_, nowNanos)) return ready_ && state_ == State::Challenged;
      if (challenge_.magic != NetChallenge::kMagic || challenge_.version != versionOf(config_)) {
        lose(nowNanos, otherVersion(challenge_, config_));
        return true;
      }
      if (Status prepared = prepareIntroduction(); !prepared) {
        lose(nowNanos, prepared.message());
        return true;
      }
      state_ = State::Introducing;
      return true;
    case State::Introducing:
      return introduce(nowNanos);
    case State::Proved:
      if (!(config_.crypto == nullptr ? receive(&reply_, nowNanos) : receive(&encryptedReply_, nowNanos))) {
        return ready_ && state_ == State::Proved;
      }
      if (Status read = readReply(); !read) {
        lose(nowNanos, read.message());
        return true;
      }
      conclude();
      return refusal_.isOk() && state_ != State::Done;
    case State::Done:
      return false;
  }
  return false;
}

Status SocketDialer::progress(int64_t nowNanos, int* work) {
  if (state_ == State::Done) return Status::ok();
  if (startedNanos_ < 0) startedNanos_ = nowNanos;
  while ((state_ == State::Waiting || ready_) && step(nowNanos)) ++*work;
  if (!refusal_.isOk()) return refusal_;
  if (state_ == State::Done) {
    ++*work;
    return Status::ok();
  }
  if (state_ != State::Waiting && nowNanos >= attemptEndsNanos_) lose(nowNanos, "no answer in time");
  if (nowNanos - startedNanos_ >= config_.connectTimeoutNanos) {
    return Status::transport("net: no connection to rank " + std::to_string(introduction_.header.to) + " after " +
                             std::to_string((nowNanos - startedNanos_) / 1'000'000) + " ms and " +
                             std::to_string(attempts_) + " attempts; the last: " + lastLoss_ +
                             "; check that the interface is the right one (JCCL_SOCKET_IFNAME) and that no firewall "
                             "stands between");
  }
  return Status::ok();
}

}  // namespace jccl
