// OpenSSL's libcrypto, opened at run time. Only communicators that encrypt need it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace jccl::crypto {

using Key = std::array<uint8_t, 32>;

// Functions of libcrypto that OpenSSL 1.1.1 and 3 have in common. Types that only libcrypto knows are void*.
class Library {
 public:
  // Opens the library and checks that it has the algorithms. The library is never closed, because it keeps state for
  // each thread.
  static Status open(std::shared_ptr<const Library>* library);
  // Opens the first usable library of these names or paths.
  static Status open(const std::string* names, size_t count, std::shared_ptr<const Library>* library);

  // Returns for example "OpenSSL 3.0.19 27 Jan 2026".
  std::string version() const { return version_(0); }

  // Sets *secret to X25519 of a private and a public key. Fails if the public key has a small order (RFC 7748, section
  // 6.1), which no honest peer sends.
  Status agree(const Key& privateKey, const Key& publicKey, Key* secret) const;
  // Sets *publicKey to the public key of a private key.
  Status publicOf(const Key& privateKey, Key* publicKey) const;
  // Overwrites memory in a way that the compiler cannot remove.
  void cleanse(void* memory, size_t bytes) const { cleanse_(memory, bytes); }

  void* (*newCipherContext)() = nullptr;
  void (*freeCipherContext)(void*) = nullptr;
  const void* (*aes256Gcm)() = nullptr;
  int (*encryptInit)(void*, const void*, void*, const uint8_t*, const uint8_t*) = nullptr;
  int (*encryptUpdate)(void*, uint8_t*, int*, const uint8_t*, int) = nullptr;
  int (*encryptFinal)(void*, uint8_t*, int*) = nullptr;
  int (*decryptInit)(void*, const void*, void*, const uint8_t*, const uint8_t*) = nullptr;
  int (*decryptUpdate)(void*, uint8_t*, int*, const uint8_t*, int) = nullptr;
  int (*decryptFinal)(void*, uint8_t*, int*) = nullptr;
  int (*controlCipher)(void*, int, int, void*) = nullptr;

 private:
  Status find(void* handle);
  Status check() const;

  const char* (*version_)(int) = nullptr;
  void* (*newPrivateKey_)(int, void*, const uint8_t*, size_t) = nullptr;
  void* (*newPublicKey_)(int, void*, const uint8_t*, size_t) = nullptr;
  int (*publicKey_)(const void*, uint8_t*, size_t*) = nullptr;
  void (*freeKey_)(void*) = nullptr;
  void* (*newKeyContext_)(void*, void*) = nullptr;
  void (*freeKeyContext_)(void*) = nullptr;
  int (*deriveInit_)(void*) = nullptr;
  int (*deriveSetPeer_)(void*, void*) = nullptr;
  int (*derive_)(void*, uint8_t*, size_t*) = nullptr;
  void (*cleanse_)(void*, size_t) = nullptr;
  void (*clearErrors_)() = nullptr;
};

}  // namespace jccl::crypto
