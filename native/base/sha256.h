// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104), by which data sockets prove that they know the job's secret.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace jccl {

using Sha256Digest = std::array<std::uint8_t, 32>;

/// A hash in progress: any number of update() calls, then one finish().
class Sha256 {
 public:
  Sha256();
  void update(const void* data, std::size_t bytes);
  Sha256Digest finish();

 private:
  void block(const std::uint8_t* data);

  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> pending_{};
  std::size_t pendingBytes_ = 0;
  std::uint64_t totalBytes_ = 0;
};

/// A keyed hash in progress. Keys longer than 64 bytes are hashed first, as the RFC says.
class HmacSha256 {
 public:
  explicit HmacSha256(std::span<const std::uint8_t> key);
  void update(const void* data, std::size_t bytes) { inner_.update(data, bytes); }
  Sha256Digest finish();

 private:
  Sha256 inner_;
  std::array<std::uint8_t, 64> outerPad_{};
};

Sha256Digest sha256(const void* data, std::size_t bytes);
Sha256Digest hmacSha256(std::span<const std::uint8_t> key, const void* data, std::size_t bytes);

/// Compares in constant time: the duration does not depend on the position of the first difference.
bool equalInConstantTime(const void* left, const void* right, std::size_t bytes);

}  // namespace jccl
