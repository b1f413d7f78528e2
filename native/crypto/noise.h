// The handshake Noise_NNpsk0_25519_AESGCM_SHA256 of the Noise protocol framework (revision 34), and the records of its
// transport. io.jccl.wire.NoiseHandshake and Records do the same in Java.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "crypto/crypto_library.h"

namespace jccl::crypto {

inline constexpr size_t kTagBytes = 16;

// A CipherState of the framework (section 5.1): a key of AES-256-GCM, and the number of the next message.
class Cipher {
 public:
  Cipher(std::shared_ptr<const Library> library, const Key& key, bool encrypts);
  ~Cipher();
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;

  // Writes the encrypted message to `sealed`: as many bytes as `parts` have together, and the tag.
  Status seal(std::span<const uint8_t> associated, std::span<const std::span<const uint8_t>> parts, uint8_t* sealed);
  // Decrypts a message with its tag into `message`. On failure, `message` contains bytes that nobody may use.
  Status open(std::span<const uint8_t> associated, std::span<const uint8_t> sealed, uint8_t* message);
  // Replaces the key by the next one (section 4.2).
  Status rekey();

 private:
  Status begin(uint64_t nonce);
  Status setKey(const Key& key);

  const std::shared_ptr<const Library> library_;
  const bool encrypts_;
  Key key_;
  void* context_;
  uint64_t next_ = 0;
};

// What both ends derive from a handshake, without the library's contexts.
struct TransportKeys {
  Key sending{};
  Key receiving{};
};

// One end of the handshake. The initiator writes the first message and reads the second one.
class Handshake {
 public:
  static constexpr size_t kMessageBytes = sizeof(Key) + kTagBytes;  // of a message with an empty payload

  // `ephemeral` is this end's private key, fresh and random except in tests.
  Handshake(std::shared_ptr<const Library> library, bool initiator, const Key& preShared,
            std::span<const uint8_t> prologue, const Key& ephemeral);
  ~Handshake();
  Handshake(const Handshake&) = delete;
  Handshake& operator=(const Handshake&) = delete;

  // Sets *message to this end's message.
  Status write(std::span<const uint8_t> payload, std::vector<uint8_t>* message);
  // Reads the other end's message, whose payload has as many bytes as `payload`.
  Status read(std::span<const uint8_t> message, std::span<uint8_t> payload);
  TransportKeys split() const;
  const Key& hash() const { return hash_; }

 private:
  void mixHash(std::span<const uint8_t> data);
  void mixKey(std::span<const uint8_t> material);
  Status mixAgreement();
  std::array<Key, 3> derive(std::span<const uint8_t> material) const;

  const std::shared_ptr<const Library> library_;
  const bool initiator_;
  Key ephemeral_;
  Key theirs_{};
  Key hash_;
  Key chainingKey_;
  Key key_{};  // key of the next payload, whose nonce is 0
};

// Encrypts and decrypts the records of a connection: each is a length (2 bytes, big endian) and a transport message of
// this length. Both ends replace the key of a direction after every kRekeyRecords records. One thread may seal while
// another opens.
class Records {
 public:
  static constexpr size_t kLengthBytes = 2;
  static constexpr size_t kOverheadBytes = kLengthBytes + kTagBytes;
  static constexpr size_t kMaxPlainBytes = 65535 - kTagBytes;
  static constexpr size_t kMaxBytes = kLengthBytes + 65535;
  // As Records.REKEY_RECORDS of Java, which has the reason.
  static constexpr uint64_t kRekeyRecords = 1 << 20;

  Records(const std::shared_ptr<const Library>& library, const TransportKeys& keys,
          uint64_t rekeyRecords = kRekeyRecords)
      : sending_(library, keys.sending, true),
        receiving_(library, keys.receiving, false),
        rekeyRecords_(rekeyRecords) {}

  // Writes a record with the bytes of `parts`, at most kMaxPlainBytes together, to `record`, and returns its end.
  Status seal(std::span<const std::span<const uint8_t>> parts, uint8_t* record, size_t* recordBytes);

  // Returns the number of bytes of the record that begins with these kLengthBytes bytes; 0 if no record is so short.
  static size_t bytesOf(const uint8_t* record);
  // Decrypts a whole record of bytesOf() bytes into `plain`, which needs bytesOf() - kOverheadBytes bytes.
  Status open(const uint8_t* record, uint8_t* plain);

 private:
  Cipher sending_;
  Cipher receiving_;
  const uint64_t rekeyRecords_;
  uint64_t sent_ = 0;  // number of records with the current key
  uint64_t received_ = 0;
};

}  // namespace jccl::crypto
