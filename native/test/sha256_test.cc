// Tests of SHA-256 and HMAC-SHA-256 with the examples of their standards.
#include "base/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace jccl::sha256_test {
namespace {

std::string hex(const Sha256Digest& digest) {
  static const char* const digits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string hashOf(const std::string& text) { return hex(sha256(text.data(), text.size())); }

std::string macOf(const std::vector<std::uint8_t>& key, const std::string& text) {
  return hex(hmacSha256(key, text.data(), text.size()));
}

// FIPS 180-4 example values.
TEST(Sha256, HashesTheStandardExamples) {
  EXPECT_EQ("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", hashOf(""));
  EXPECT_EQ("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", hashOf("abc"));
  EXPECT_EQ("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            hashOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"));
  EXPECT_EQ("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", hashOf(std::string(1000000, 'a')));
}

TEST(Sha256, PartsHashLikeTheWhole) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (std::size_t part = 1; part < 140; ++part) {
    Sha256 hash;
    for (std::size_t at = 0; at < text.size(); at += part) {
      hash.update(text.data() + at, std::min(part, text.size() - at));
    }
    EXPECT_EQ(hashOf(text), hex(hash.finish())) << "part=" << part;
  }
}

// RFC 4231 test cases 1, 2, 3, 6 and 7.
TEST(HmacSha256, AgreesWithTheRfc) {
  EXPECT_EQ("b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            macOf(std::vector<std::uint8_t>(20, 0x0b), "Hi There"));
  EXPECT_EQ("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            macOf({'J', 'e', 'f', 'e'}, "what do ya want for nothing?"));
  EXPECT_EQ("773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            macOf(std::vector<std::uint8_t>(20, 0xaa), std::string(50, '\xdd')));
  EXPECT_EQ("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            macOf(std::vector<std::uint8_t>(131, 0xaa), "Test Using Larger Than Block-Size Key - Hash Key First"));
  EXPECT_EQ("9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            macOf(std::vector<std::uint8_t>(131, 0xaa),
                  "This is a test using a larger than block-size key and a larger than block-size data. The key needs "
                  "to be hashed before being used by the HMAC algorithm."));
}

TEST(HmacSha256, OneChangedBitIsDetected) {
  const std::vector<std::uint8_t> key(16, 1);
  Sha256Digest mac = hmacSha256(key, "payload", 7);
  Sha256Digest other = mac;
  EXPECT_TRUE(equalInConstantTime(mac.data(), other.data(), mac.size()));
  other[31] ^= 1;
  EXPECT_FALSE(equalInConstantTime(mac.data(), other.data(), mac.size()));
}

}  // namespace
}  // namespace jccl::sha256_test
