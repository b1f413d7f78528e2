#include "transport/socket_listener.h"

#include <poll.h>

#include <algorithm>

#include "base/log.h"
#include "transport/socket_devices.h"
#include "transport/socket_options.h"

namespace jccl {
namespace {

constexpr int kSocketBacklog = 1024;
constexpr uint64_t kDropsLogged = 10;
constexpr int64_t kAcceptPauseNanos = 100'000'000;
constexpr int64_t kWarnAgainNanos = 10'000'000'000;
constexpr int64_t kAcceptPatienceNanos = 2'000'000'000;

// Linux takes a descriptor before it looks for a connection: without a free one, accept fails even if no connection
// waits.
bool hasWaitingConnection(int listener) {
  pollfd polled = {listener, POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0;
}

}  // namespace

uint32_t SocketListener::judgeRoute(const NetConfig& config, int streams, const NetIntroductionHeader& who) {
  if (who.communicator != config.communicator) return NetHandshakeReply::kOtherCommunicator;
  if (who.to != config.rank) return NetHandshakeReply::kOtherRank;
  if (who.from < 0 || who.from >= config.size || who.channel < 0 || who.channel >= config.channels ||
      who.streams != streams || who.stream >= streams) {
    return NetHandshakeReply::kBadShape;
  }
  return NetHandshakeReply::kWelcome;
}

SocketListener::~SocketListener() {
  for (const HalfOpen& client : clients_) events_.remove(client.socket.get());
  for (const UniqueFd& listener : listeners_) events_.remove(listener.get());
}

Status SocketListener::open(const std::vector<std::string>& addresses) {
  for (const std::string& text : addresses) {
    SocketAddress address;
    if (Status parsed = SocketAddress::parse(text, 0, &address); !parsed) return parsed;
    UniqueFd socket;
    if (Status opened = openDataSocket(address.family(), Distance::Network, config_, &socket); !opened) return opened;
    const int one = 1;
    if (address.family() == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (::bind(socket.get(), address.get(), address.bytes()) != 0) {
      const int error = errno;
      return Status::system("bind", "local=" + address.toString() + ": " + socketHint(error), error);
    }
    if (::listen(socket.get(), kSocketBacklog) != 0) return Status::system("listen", "local=" + address.toString());
    if (Status added = events_.add(socket.get(), this); !added) return added;
    addresses_.push_back(SocketAddress::localOf(socket.get()));
    addresses_.back().setDevice(config_.devices.of(interfaceOf(addresses_.back())));
    listeners_.push_back(std::move(socket));
  }
  return Status::ok();
}

int64_t SocketListener::nextDeadlineNanos() const {
  return clients_.empty() ? acceptAgainNanos_ : std::min(acceptAgainNanos_, clients_.front().deadlineNanos);
}

void SocketListener::drop(int socket, const char* why) {
  ++unauthenticated_;
  if (unauthenticated_ > kDropsLogged) return;
  logMessage(LogLevel::Warn, "net",
             "dropped an unauthenticated peer at " + SocketAddress::peerOf(socket).toString() + " on the data port " +
                 SocketAddress::localOf(socket).toString() + ": " + why +
                 (unauthenticated_ == kDropsLogged ? "; further ones are not logged" : ""));
}

SocketListener::Clients::iterator SocketListener::forget(Clients::iterator client) {
  if (client->socket) events_.remove(client->socket.get());
  return clients_.erase(client);
}

bool SocketListener::challenge(HalfOpen& client) {
  NetChallenge& challenge = client.challenge;
  if (config_.crypto != nullptr) challenge.version = NetChallenge::kEncrypted;
  if (!freshNonce(&challenge.nonce)) return false;
  // The send buffer of a new connection always has space for the challenge.
  return ::send(client.socket.get(), &challenge, sizeof challenge, MSG_NOSIGNAL) == sizeof challenge;
}

bool SocketListener::acceptAll(int listener, int64_t nowNanos, int* work) {
  for (;;) {
    UniqueFd socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      const int error = errno;
      if (error == ECONNABORTED || error == EINTR) continue;
      if (error == EAGAIN || !hasWaitingConnection(listener)) return true;
      noteRefusal(nowNanos, error);  // no descriptors or no memory; may succeed later
      return false;
    }
    ++*work;
    if (clients_.size() >= config_.maxHalfOpen) {
      drop(clients_.front().socket.get(), "too many clients that have proven nothing; this one was the oldest");
      forget(clients_.begin());
    }
    HalfOpen& client = clients_.emplace_back();
    client.socket = std::move(socket);
    client.deadlineNanos = nowNanos + config_.handshakeTimeoutNanos;
    if (!tuneDataSocket(client.socket.get(), config_) || !challenge(client) ||
        !events_.add(client.socket.get(), &client)) {
      forget(std::prev(clients_.end()));
    }
  }
}

// Returns true if the client has proved the secret. Reads the header of an encrypted introduction.
bool SocketListener::believes(HalfOpen& client) const {
  if (config_.crypto == nullptr) return secret_.believesConnector(client.challenge.nonce, client.introduction);
  if (!secret_.begin(config_.crypto, client.challenge, false, &client.handshake)) return false;
  NetIntroductionHeader& who = client.introduction.header;
  return client.handshake->read(client.encrypted.message, {reinterpret_cast<uint8_t*>(&who), sizeof who}).isOk();
}

// Sends the reply. Passes on the client's socket if the kernel accepts the reply.
bool SocketListener::answer(HalfOpen& client, uint32_t code, DataSocket* socket) {
  if (config_.crypto == nullptr) {
    NetHandshakeReply reply;
    reply.code = code;
    reply.proof = secret_.proveListener(client.challenge.nonce, client.introduction.header, code);
    if (::send(client.socket.get(), &reply, sizeof reply, MSG_NOSIGNAL) != sizeof reply) return false;
    *socket = DataSocket(std::move(client.socket));
    return true;
  }
  std::vector<uint8_t> message;
  if (!client.handshake->write({reinterpret_cast<const uint8_t*>(&code), sizeof code}, &message)) return false;
  const auto bytes = static_cast<ssize_t>(message.size());
  if (::send(client.socket.get(), message.data(), message.size(), MSG_NOSIGNAL) != bytes) return false;
  *socket = DataSocket(std::move(client.socket),
                       std::make_unique<crypto::Records>(config_.crypto, client.handshake->split()));
  return true;
}

void SocketListener::judgeAndAnswer(HalfOpen& client) {
  const NetIntroductionHeader& who = client.introduction.header;
  const uint32_t code = judge_.judge(who);
  const std::string peer = SocketAddress::peerOf(client.socket.get()).toString();
  const int watched = client.socket.get();
  DataSocket socket;
  const bool answered = answer(client, code, &socket);
  if (answered) events_.remove(watched);
  if (code != NetHandshakeReply::kWelcome) {
    logMessage(LogLevel::Warn, "net",
               "refused a connection of this job: from_rank=" + std::to_string(who.from) +
                   " to_rank=" + std::to_string(who.to) + " channel=" + std::to_string(who.channel) + " at " + peer +
                   ": " + refusalText(code));
    return;
  }
  if (!answered) return;  // the client left in the meantime, and will dial again
  proven_.push_back({std::move(socket), who});
}

bool SocketListener::advance(HalfOpen& client, int* work) {
  while (client.readable) {
    const bool encrypted = config_.crypto != nullptr;
    auto* message =
        encrypted ? reinterpret_cast<uint8_t*>(&client.encrypted) : reinterpret_cast<uint8_t*>(&client.introduction);
    const size_t bytes = encrypted ? sizeof client.encrypted : sizeof client.introduction;
    const ssize_t got = ::recv(client.socket.get(), message + client.received, bytes - client.received, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      client.readable = false;
      return false;
    }
    ++*work;
    if (got <= 0) {
      drop(client.socket.get(), "it left before it had introduced itself");
      return true;
    }
    client.received += static_cast<uint32_t>(got);
    const uint32_t magic = encrypted ? client.encrypted.magic : client.introduction.header.magic;
    const uint32_t version = encrypted ? client.encrypted.version : client.introduction.header.version;
    // The first bytes already show garbage, so the rest need not be waited for.
    if (client.received >= 8 &&
        (magic != NetIntroductionHeader::kMagic || version != (encrypted ? NetChallenge::kEncrypted : 1))) {
      drop(client.socket.get(), "it does not speak JCCL, or another version of it");
      return true;
    }
    if (client.received < bytes) continue;
    if (!believes(client)) {
      drop(client.socket.get(), "it does not know the secret of this job");
      return true;
    }
    judgeAndAnswer(client);
    return true;
  }
  return false;
}

int SocketListener::progress(int64_t nowNanos) {
  int work = 0;
  if (acceptable_ || nowNanos >= acceptAgainNanos_) {
    acceptable_ = false;
    acceptAgainNanos_ = INT64_MAX;
    bool accepts = true;
    for (const UniqueFd& listener : listeners_) accepts = acceptAll(listener.get(), nowNanos, &work) && accepts;
    if (accepts)
      refusal_ = Status::ok();
    else
      acceptAgainNanos_ = nowNanos + kAcceptPauseNanos;
  }
  for (auto client = clients_.begin(); client != clients_.end();) {
    bool done = advance(*client, &work);
    if (!done && nowNanos >= client->deadlineNanos) {
      drop(client->socket.get(), "it did not introduce itself in time");
      done = true;
    }
    client = done ? forget(client) : std::next(client);
  }
  return work;
}

void SocketListener::noteRefusal(int64_t nowNanos, int error) {
  if (refusal_) refusedSinceNanos_ = nowNanos;
  refusal_ = Status::system("accept", "connections of other ranks", error);
  if (nowNanos < warnAgainNanos_) return;
  warnAgainNanos_ = nowNanos + kWarnAgainNanos;
  logMessage(LogLevel::Warn, "net", refusal_.message() + "; trying again");
}

Status SocketListener::exhausted(int64_t nowNanos) const {
  return nowNanos - refusedSinceNanos_ >= kAcceptPatienceNanos ? refusal_ : Status::ok();
}

bool SocketListener::next(Proven* proven) {
  if (proven_.empty()) return false;
  *proven = std::move(proven_.front());
  proven_.pop_front();
  return true;
}

}  // namespace jccl
