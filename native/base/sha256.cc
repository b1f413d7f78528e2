#include "base/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace jccl {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t loadBigEndian(const std::uint8_t* p) {
  return std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | std::uint32_t{p[3]};
}

void storeBigEndian(std::uint8_t* p, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) p[i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
}

}  // namespace

// The first 32 bits of the fractional parts of the square roots of the first 8 primes (FIPS 180-4, 5.3.3).
Sha256::Sha256()
    : state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19} {}

void Sha256::block(const std::uint8_t* data) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i) w[i] = loadBigEndian(data + 4 * i);
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> worked = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state_[i] += worked[i];
}

void Sha256::update(const void* data, std::size_t bytes) {
  auto* from = static_cast<const std::uint8_t*>(data);
  totalBytes_ += bytes;
  while (bytes > 0) {
    if (pendingBytes_ == 0 && bytes >= pending_.size()) {
      block(from);
      from += pending_.size();
      bytes -= pending_.size();
      continue;
    }
    const std::size_t taken = std::min(bytes, pending_.size() - pendingBytes_);
    std::memcpy(pending_.data() + pendingBytes_, from, taken);
    pendingBytes_ += taken;
    from += taken;
    bytes -= taken;
    if (pendingBytes_ == pending_.size()) {
      block(pending_.data());
      pendingBytes_ = 0;
    }
  }
}

Sha256Digest Sha256::finish() {
  const std::uint64_t bits = totalBytes_ * 8;
  const std::uint8_t one = 0x80;
  const std::uint8_t zero = 0;
  update(&one, 1);
  while (pendingBytes_ != 56) update(&zero, 1);
  std::array<std::uint8_t, 8> length;
  storeBigEndian(length.data(), static_cast<std::uint32_t>(bits >> 32));
  storeBigEndian(length.data() + 4, static_cast<std::uint32_t>(bits));
  update(length.data(), length.size());
  Sha256Digest digest;
  for (std::size_t i = 0; i < 8; ++i) storeBigEndian(digest.data() + 4 * i, state_[i]);
  return digest;
}

HmacSha256::HmacSha256(std::span<const std::uint8_t> key) {
  std::array<std::uint8_t, 64> innerPad{};
  if (key.size() > innerPad.size()) {
    const Sha256Digest shortened = sha256(key.data(), key.size());
    std::copy(shortened.begin(), shortened.end(), innerPad.begin());
  } else {
    std::copy(key.begin(), key.end(), innerPad.begin());
  }
  for (std::size_t i = 0; i < innerPad.size(); ++i) {
    outerPad_[i] = innerPad[i] ^ 0x5c;
    innerPad[i] ^= 0x36;
  }
  inner_.update(innerPad.data(), innerPad.size());
}

Sha256Digest HmacSha256::finish() {
  const Sha256Digest inside = inner_.finish();
  Sha256 outer;
  outer.update(outerPad_.data(), outerPad_.size());
  outer.update(inside.data(), inside.size());
  return outer.finish();
}

Sha256Digest sha256(const void* data, std::size_t bytes) {
  Sha256 hash;
  hash.update(data, bytes);
  return hash.finish();
}

Sha256Digest hmacSha256(std::span<const std::uint8_t> key, const void* data, std::size_t bytes) {
  HmacSha256 mac(key);
  mac.update(data, bytes);
  return mac.finish();
}

bool equalInConstantTime(const void* left, const void* right, std::size_t bytes) {
  auto* a = static_cast<const volatile std::uint8_t*>(left);
  auto* b = static_cast<const volatile std::uint8_t*>(right);
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < bytes; ++i) difference = static_cast<std::uint8_t>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

}  // namespace jccl
