#include "transport/net_handshake.h"

#include <sys/random.h>

#include <cstring>
#include <string_view>

namespace jccl {

Sha256Digest NetSecret::proveConnector(const NetNonce& challenge, const NetIntroductionHeader& header) const {
  HmacSha256 mac(key_);
  mac.update("C", 1);
  mac.update(challenge.data(), challenge.size());
  mac.update(&header, sizeof header);
  return mac.finish();
}

Sha256Digest NetSecret::proveListener(const NetNonce& challenge, const NetIntroductionHeader& header,
                                      uint32_t code) const {
  HmacSha256 mac(key_);
  mac.update("L", 1);
  mac.update(header.nonce.data(), header.nonce.size());
  mac.update(challenge.data(), challenge.size());
  mac.update(&code, sizeof code);
  mac.update(&header, sizeof header);
  return mac.finish();
}

bool NetSecret::believesConnector(const NetNonce& challenge, const NetIntroduction& introduction) const {
  const Sha256Digest expected = proveConnector(challenge, introduction.header);
  return equalInConstantTime(expected.data(), introduction.proof.data(), expected.size());
}

bool NetSecret::believesListener(const NetNonce& challenge, const NetIntroductionHeader& header,
                                 const NetHandshakeReply& reply) const {
  const Sha256Digest expected = proveListener(challenge, header, reply.code);
  return equalInConstantTime(expected.data(), reply.proof.data(), expected.size());
}

Status NetSecret::begin(const std::shared_ptr<const crypto::Library>& library, const NetChallenge& challenge,
                        bool connects, std::unique_ptr<crypto::Handshake>* handshake) const {
  crypto::Key ephemeral;
  if (::getrandom(ephemeral.data(), ephemeral.size(), 0) != static_cast<ssize_t>(ephemeral.size())) {
    return Status::system("getrandom", "key of a handshake");
  }
  constexpr std::string_view kPreShared = "noise psk";
  constexpr std::string_view kPrologue = "JCCL data";
  std::array<uint8_t, kPrologue.size() + sizeof challenge> prologue;
  std::memcpy(prologue.data(), kPrologue.data(), kPrologue.size());
  std::memcpy(prologue.data() + kPrologue.size(), &challenge, sizeof challenge);
  crypto::Key preShared = hmacSha256(key_, kPreShared.data(), kPreShared.size());
  *handshake = std::make_unique<crypto::Handshake>(library, connects, preShared, prologue, ephemeral);
  library->cleanse(preShared.data(), preShared.size());
  library->cleanse(ephemeral.data(), ephemeral.size());
  return Status::ok();
}

Status freshNonce(NetNonce* nonce) {
  if (::getrandom(nonce->data(), nonce->size(), 0) == static_cast<ssize_t>(nonce->size())) return Status::ok();
  return Status::system("getrandom", "nonce of a handshake");
}

std::string refusalText(uint32_t code) {
  switch (code) {
    case NetHandshakeReply::kWelcome:
      return "welcome";
    case NetHandshakeReply::kOtherRank:
      return "another rank listens there; was its port taken over, or its address published twice?";
    case NetHandshakeReply::kOtherCommunicator:
      return "the listener belongs to another communicator";
    case NetHandshakeReply::kBadShape:
      return "channel or number of streams differs; do all ranks have the same JCCL_* settings?";
    case NetHandshakeReply::kAlreadyConnected:
      return "this connection exists already";
    default:
      return "code=" + std::to_string(code) + " is not known; do all ranks run the same version of JCCL?";
  }
}

}  // namespace jccl
