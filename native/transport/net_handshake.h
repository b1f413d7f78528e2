// Handshake by which both ends of a data connection prove the job's secret to each other, before either trusts a byte.
//
//     listener  ── Challenge {magic, version, nonce L} ─────────────────────────────>  connector
//     listener  <─ Introduction {header with nonce C, HMAC(secret, "C", L, header)} ──  connector
//     listener  ── Reply {code, HMAC(secret, "L", C, L, code, header)} ────────────>  connector
//
// Nonces are fresh for each attempt, so a recorded handshake cannot be replayed.
//
// If connections are encrypted, the second and third message are those of crypto/noise.h. The prologue contains the
// challenge, so that the first message of Noise cannot be replayed either:
//
//     listener  ── Challenge {magic, version 2, nonce L} ─────────────────────────────>  connector
//     listener  <─ magic, version 2, e, sealed header ────────────────────────────────  connector
//     listener  ── e, sealed code ────────────────────────────────────────────────────>  connector
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/sha256.h"
#include "base/status.h"
#include "crypto/noise.h"
#include "transport/net.h"

namespace jccl {

using NetNonce = std::array<uint8_t, 16>;

struct NetChallenge {
  static constexpr uint32_t kMagic = 0x4c434e4a;
  static constexpr uint32_t kEncrypted = 2;  // the version of encrypted connections
  uint32_t magic = kMagic;
  uint32_t version = 1;
  NetNonce nonce{};
};

struct NetIntroductionHeader {
  static constexpr uint32_t kMagic = 0x43434e4a;
  uint32_t magic = kMagic;
  uint32_t version = 1;
  std::array<uint8_t, 16> communicator{};
  int32_t from = -1;
  int32_t to = -1;
  int32_t channel = 0;
  uint16_t stream = 0;
  uint16_t streams = 1;
  NetNonce nonce{};
};

struct NetIntroduction {
  NetIntroductionHeader header;
  Sha256Digest proof{};
};

struct NetHandshakeReply {
  enum : uint32_t { kWelcome = 0, kOtherRank = 1, kOtherCommunicator = 2, kBadShape = 3, kAlreadyConnected = 4 };
  uint32_t code = kWelcome;
  Sha256Digest proof{};
};

// The messages of an encrypted handshake.
struct EncryptedIntroduction {
  uint32_t magic = NetIntroductionHeader::kMagic;
  uint32_t version = NetChallenge::kEncrypted;
  std::array<uint8_t, crypto::Handshake::kMessageBytes + sizeof(NetIntroductionHeader)> message{};
};

struct EncryptedReply {
  std::array<uint8_t, crypto::Handshake::kMessageBytes + sizeof(uint32_t)> message{};
};

static_assert(sizeof(EncryptedIntroduction) == 112 && sizeof(EncryptedReply) == 52);
static_assert(sizeof(NetChallenge) == 24 && sizeof(NetIntroductionHeader) == 56 && sizeof(NetIntroduction) == 88 &&
              sizeof(NetHandshakeReply) == 36);

// The job's secret, and the proofs made with it.
class NetSecret {
 public:
  explicit NetSecret(std::span<const uint8_t> key) : key_(key.begin(), key.end()) {}

  Sha256Digest proveConnector(const NetNonce& challenge, const NetIntroductionHeader& header) const;
  Sha256Digest proveListener(const NetNonce& challenge, const NetIntroductionHeader& header, uint32_t code) const;

  bool believesConnector(const NetNonce& challenge, const NetIntroduction& introduction) const;
  // Begins an encrypted handshake after a challenge.
  Status begin(const std::shared_ptr<const crypto::Library>& library, const NetChallenge& challenge, bool connects,
               std::unique_ptr<crypto::Handshake>* handshake) const;

  bool believesListener(const NetNonce& challenge, const NetIntroductionHeader& header,
                        const NetHandshakeReply& reply) const;

 private:
  std::vector<uint8_t> key_;
};

Status freshNonce(NetNonce* nonce);

// Returns the meaning of a reply code as text.
std::string refusalText(uint32_t code);

}  // namespace jccl
