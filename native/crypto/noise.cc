#include "crypto/noise.h"

#include <algorithm>
#include <cstring>

#include "base/sha256.h"

namespace jccl::crypto {
namespace {

// Constants of OpenSSL's evp.h.
constexpr int kGetTag = 0x10;  // EVP_CTRL_AEAD_GET_TAG
constexpr int kSetTag = 0x11;  // EVP_CTRL_AEAD_SET_TAG

constexpr uint64_t kRekeyNonce = UINT64_MAX;  // section 4.2: no message has it
constexpr char kName[] = "Noise_NNpsk0_25519_AESGCM_SHA256";
static_assert(sizeof kName - 1 == sizeof(Key), "a name of the length of a hash is not hashed");

Status cannot(const char* what) { return Status::internal(std::string("libcrypto: AES-256-GCM cannot ") + what); }

std::span<const uint8_t> bytesOf(const Key& key) { return key; }

}  // namespace

Cipher::Cipher(std::shared_ptr<const Library> library, const Key& key, bool encrypts)
    : library_(std::move(library)), encrypts_(encrypts), key_(key), context_(library_->newCipherContext()) {
  if (context_ != nullptr && !setKey(key)) {
    library_->freeCipherContext(context_);
    context_ = nullptr;
  }
}

Cipher::~Cipher() {
  library_->cleanse(key_.data(), key_.size());
  library_->freeCipherContext(context_);
}

Status Cipher::setKey(const Key& key) {
  key_ = key;
  const auto init = encrypts_ ? library_->encryptInit : library_->decryptInit;
  return init(context_, library_->aes256Gcm(), nullptr, key.data(), nullptr) == 1 ? Status::ok() : cannot("take a key");
}

// The nonce of AES-GCM is 4 zero bytes and the number, big endian (section 12.4).
Status Cipher::begin(uint64_t nonce) {
  if (context_ == nullptr) return {Code::NoMemory, "libcrypto: no memory for a cipher"};
  std::array<uint8_t, 12> iv{};
  for (int i = 0; i < 8; ++i) iv[4 + i] = static_cast<uint8_t>(nonce >> (56 - 8 * i));
  const auto init = encrypts_ ? library_->encryptInit : library_->decryptInit;
  return init(context_, nullptr, nullptr, nullptr, iv.data()) == 1 ? Status::ok() : cannot("take a nonce");
}

Status Cipher::seal(std::span<const uint8_t> associated, std::span<const std::span<const uint8_t>> parts,
                    uint8_t* sealed) {
  if (next_ == kRekeyNonce) return Status::internal("a key has encrypted all messages that it may");
  if (Status begun = begin(next_); !begun) return begun;
  int moved = 0;
  if (!associated.empty() &&
      library_->encryptUpdate(context_, nullptr, &moved, associated.data(), static_cast<int>(associated.size())) != 1) {
    return cannot("authenticate");
  }
  for (const std::span<const uint8_t>& part : parts) {
    if (part.empty()) continue;
    if (library_->encryptUpdate(context_, sealed, &moved, part.data(), static_cast<int>(part.size())) != 1) {
      return cannot("encrypt");
    }
    sealed += moved;
  }
  if (library_->encryptFinal(context_, sealed, &moved) != 1 ||
      library_->controlCipher(context_, kGetTag, static_cast<int>(kTagBytes), sealed) != 1) {
    return cannot("encrypt");
  }
  ++next_;
  return Status::ok();
}

Status Cipher::open(std::span<const uint8_t> associated, std::span<const uint8_t> sealed, uint8_t* message) {
  if (next_ == kRekeyNonce) return Status::internal("a key has decrypted all messages that it may");
  if (sealed.size() < kTagBytes) return Status::transport("an encrypted message is too short");
  if (Status begun = begin(next_); !begun) return begun;
  int moved = 0;
  if (!associated.empty() &&
      library_->decryptUpdate(context_, nullptr, &moved, associated.data(), static_cast<int>(associated.size())) != 1) {
    return cannot("authenticate");
  }
  const size_t bytes = sealed.size() - kTagBytes;
  if (bytes > 0 && library_->decryptUpdate(context_, message, &moved, sealed.data(), static_cast<int>(bytes)) != 1) {
    return cannot("decrypt");
  }
  std::array<uint8_t, kTagBytes> tag;
  std::memcpy(tag.data(), sealed.data() + bytes, tag.size());
  std::array<uint8_t, kTagBytes> rest;
  if (library_->controlCipher(context_, kSetTag, static_cast<int>(tag.size()), tag.data()) != 1 ||
      library_->decryptFinal(context_, rest.data(), &moved) != 1) {
    return Status::transport(
        "an encrypted message was changed, repeated or reordered on its way, or was encrypted with another secret");
  }
  ++next_;
  return Status::ok();
}

Status Cipher::rekey() {
  Cipher encrypting(library_, key_, true);
  if (Status begun = encrypting.begin(kRekeyNonce); !begun) return begun;
  constexpr Key kZeros{};
  Key next;
  int moved = 0;
  const int bytes = static_cast<int>(next.size());
  if (library_->encryptUpdate(encrypting.context_, next.data(), &moved, kZeros.data(), bytes) != 1 || moved != bytes) {
    return cannot("encrypt");
  }
  Status set = setKey(next);
  library_->cleanse(next.data(), next.size());
  return set;
}

Handshake::Handshake(std::shared_ptr<const Library> library, bool initiator, const Key& preShared,
                     std::span<const uint8_t> prologue, const Key& ephemeral)
    : library_(std::move(library)), initiator_(initiator), ephemeral_(ephemeral) {
  std::memcpy(hash_.data(), kName, hash_.size());
  chainingKey_ = hash_;
  mixHash(prologue);
  const std::array<Key, 3> keys = derive(bytesOf(preShared));
  chainingKey_ = keys[0];
  mixHash(bytesOf(keys[1]));
  key_ = keys[2];
}

Handshake::~Handshake() {
  for (Key* secret : {&ephemeral_, &chainingKey_, &key_}) library_->cleanse(secret->data(), secret->size());
}

void Handshake::mixHash(std::span<const uint8_t> data) {
  Sha256 digest;
  digest.update(hash_.data(), hash_.size());
  digest.update(data.data(), data.size());
  hash_ = digest.finish();
}

void Handshake::mixKey(std::span<const uint8_t> material) {
  const std::array<Key, 3> keys = derive(material);
  chainingKey_ = keys[0];
  key_ = keys[1];
}

// The token "ee": the agreement of both ephemeral keys.
Status Handshake::mixAgreement() {
  Key secret;
  if (Status agreed = library_->agree(ephemeral_, theirs_, &secret); !agreed) return agreed;
  mixKey(bytesOf(secret));
  library_->cleanse(secret.data(), secret.size());
  return Status::ok();
}

// HKDF of section 4.3, with three outputs; the first two do not depend on the number of outputs.
std::array<Key, 3> Handshake::derive(std::span<const uint8_t> material) const {
  const Key temporary = hmacSha256(chainingKey_, material.data(), material.size());
  std::array<Key, 3> keys;
  for (size_t i = 0; i < keys.size(); ++i) {
    HmacSha256 mac(temporary);
    if (i > 0) mac.update(keys[i - 1].data(), keys[i - 1].size());
    const auto number = static_cast<uint8_t>(i + 1);
    mac.update(&number, 1);
    keys[i] = mac.finish();
  }
  return keys;
}

Status Handshake::write(std::span<const uint8_t> payload, std::vector<uint8_t>* message) {
  Key mine;
  if (Status made = library_->publicOf(ephemeral_, &mine); !made) return made;
  mixHash(bytesOf(mine));
  mixKey(bytesOf(mine));
  if (!initiator_) {
    if (Status agreed = mixAgreement(); !agreed) return agreed;
  }
  message->resize(kMessageBytes + payload.size());
  std::memcpy(message->data(), mine.data(), mine.size());
  Cipher cipher(library_, key_, true);
  const std::array<std::span<const uint8_t>, 1> parts = {payload};
  if (Status sealed = cipher.seal(bytesOf(hash_), parts, message->data() + mine.size()); !sealed) return sealed;
  mixHash(std::span(*message).subspan(mine.size()));
  return Status::ok();
}

Status Handshake::read(std::span<const uint8_t> message, std::span<uint8_t> payload) {
  if (message.size() != kMessageBytes + payload.size()) {
    return Status::transport("handshake message bytes=" + std::to_string(message.size()) + ", expected " +
                             std::to_string(kMessageBytes + payload.size()));
  }
  std::memcpy(theirs_.data(), message.data(), theirs_.size());
  mixHash(bytesOf(theirs_));
  mixKey(bytesOf(theirs_));
  if (initiator_) {
    if (Status agreed = mixAgreement(); !agreed) return agreed;
  }
  const std::span<const uint8_t> sealed = message.subspan(theirs_.size());
  Cipher cipher(library_, key_, false);
  if (Status opened = cipher.open(bytesOf(hash_), sealed, payload.data()); !opened) return opened;
  mixHash(sealed);
  return Status::ok();
}

TransportKeys Handshake::split() const {
  const std::array<Key, 3> keys = derive({});
  return initiator_ ? TransportKeys{keys[0], keys[1]} : TransportKeys{keys[1], keys[0]};
}

Status Records::seal(std::span<const std::span<const uint8_t>> parts, uint8_t* record, size_t* recordBytes) {
  if (sent_ == rekeyRecords_) {
    if (Status changed = sending_.rekey(); !changed) return changed;
    sent_ = 0;
  }
  size_t bytes = kTagBytes;
  for (const std::span<const uint8_t>& part : parts) bytes += part.size();
  record[0] = static_cast<uint8_t>(bytes >> 8);
  record[1] = static_cast<uint8_t>(bytes);
  *recordBytes = kLengthBytes + bytes;
  ++sent_;
  return sending_.seal({}, parts, record + kLengthBytes);
}

size_t Records::bytesOf(const uint8_t* record) {
  const size_t bytes = size_t{record[0]} << 8 | record[1];
  return bytes <= kTagBytes ? 0 : kLengthBytes + bytes;
}

Status Records::open(const uint8_t* record, uint8_t* plain) {
  if (received_ == rekeyRecords_) {
    if (Status changed = receiving_.rekey(); !changed) return changed;
    received_ = 0;
  }
  ++received_;
  return receiving_.open({}, {record + kLengthBytes, bytesOf(record) - kLengthBytes}, plain);
}

}  // namespace jccl::crypto
