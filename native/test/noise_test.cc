// Tests of the handshake and the records of encrypted data connections.
#include "crypto/noise.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

namespace jccl::crypto::noise_test {
namespace {

std::vector<uint8_t> hex(const std::string& text) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

Key key(const std::string& text) {
  const std::vector<uint8_t> bytes = hex(text);
  Key key;
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

// The vector of Noise_NNpsk0_25519_AESGCM_SHA256 in tests/vectors/cacophony.txt of github.com/mcginty/snow, which
// github.com/haskell-cryptography/cacophony has published. Also in NoiseTest.java.
const std::string kPrologue = "4a6f686e2047616c74";
const Key kPreShared = key("54686973206973206d7920417573747269616e20706572737065637469766521");
const Key kInitiator = key("893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a");
const Key kResponder = key("bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b");
const Key kHash = key("9f3b1f9afd7767767b5b9d1069844a6154fdbdcc36dfb3e31c0fffc5c973d530");

struct Message {
  std::string payload;
  std::string sealed;
};
const Message kFirst = {"4c756477696720766f6e204d69736573",
                        "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944"
                        "7c37a89fc17813788d30df2d59501d6066f5f8aecc3406bbd9829f2d24a531b1"};
const Message kSecond = {"4d757272617920526f746862617264",
                         "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843"
                         "2f29d79368ef9de4e1ae7a362fb05bf0ad668e026bf5714554497b3a720461"};
const Message kTransport[] = {
    {"462e20412e20486179656b", "7c01e898a6201f36aecee532e29cd0b7f8ffa29d3366ad0dce39a6"},
    {"4361726c204d656e676572", "a9ff535aace3db6a1da1a7fb00fe2de2622bb373abad9fb42c00e0"},
    {"4a65616e2d426170746973746520536179", "6cfc49a3e65472edc2d0152abe5ce950170a8a47c959f30bd48b5f0aacf29adbfd"},
    {"457567656e2042f6686d20766f6e2042617765726b",
     "9bc86e6d974ed21ba04604a94aa68de21677eb409ead070c0cd569b069ee19ba142aa4c1a9"}};

class NoiseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Status opened = Library::open(&library_);
    if (!opened) GTEST_SKIP() << opened.message();
  }

  // Makes the keys of both ends of a connection.
  void shake(TransportKeys* mine, TransportKeys* theirs) {
    Handshake initiator(library_, true, kPreShared, {}, kInitiator);
    Handshake responder(library_, false, kPreShared, {}, kResponder);
    std::vector<uint8_t> message;
    ASSERT_TRUE(initiator.write({}, &message));
    ASSERT_TRUE(responder.read(message, {}));
    ASSERT_TRUE(responder.write({}, &message));
    ASSERT_TRUE(initiator.read(message, {}));
    *mine = initiator.split();
    *theirs = responder.split();
  }

  std::shared_ptr<const Library> library_;
};

std::vector<uint8_t> seal(Records& records, const std::vector<uint8_t>& text) {
  std::vector<uint8_t> record(text.size() + Records::kOverheadBytes);
  const std::array<std::span<const uint8_t>, 1> parts = {text};
  size_t bytes = 0;
  EXPECT_TRUE(records.seal(parts, record.data(), &bytes));
  EXPECT_EQ(record.size(), bytes);
  return record;
}

// Opens records until one is not whole or is refused.
std::vector<uint8_t> received(Records& records, const std::vector<uint8_t>& bytes) {
  std::vector<uint8_t> all;
  for (size_t at = 0; at + Records::kLengthBytes <= bytes.size();) {
    const size_t length = Records::bytesOf(bytes.data() + at);
    if (length == 0 || length > bytes.size() - at) break;
    std::vector<uint8_t> text(length - Records::kOverheadBytes);
    if (!records.open(bytes.data() + at, text.data())) break;
    all.insert(all.end(), text.begin(), text.end());
    at += length;
  }
  return all;
}

TEST_F(NoiseTest, BothEndsProduceThePublishedVector) {
  Handshake initiator(library_, true, kPreShared, hex(kPrologue), kInitiator);
  Handshake responder(library_, false, kPreShared, hex(kPrologue), kResponder);
  std::vector<uint8_t> message;
  std::vector<uint8_t> payload(kFirst.payload.size() / 2);
  ASSERT_TRUE(initiator.write(hex(kFirst.payload), &message));
  EXPECT_EQ(hex(kFirst.sealed), message);
  ASSERT_TRUE(responder.read(message, payload));
  EXPECT_EQ(hex(kFirst.payload), payload);
  payload.resize(kSecond.payload.size() / 2);
  ASSERT_TRUE(responder.write(hex(kSecond.payload), &message));
  EXPECT_EQ(hex(kSecond.sealed), message);
  ASSERT_TRUE(initiator.read(message, payload));
  EXPECT_EQ(hex(kSecond.payload), payload);
  EXPECT_EQ(kHash, initiator.hash());
  EXPECT_EQ(kHash, responder.hash());
  Records mine(library_, initiator.split());
  Records theirs(library_, responder.split());
  bool isMine = true;
  for (const Message& sent : kTransport) {
    const std::vector<uint8_t> record = seal(isMine ? mine : theirs, hex(sent.payload));
    EXPECT_EQ(hex(sent.sealed), std::vector<uint8_t>(record.begin() + Records::kLengthBytes, record.end()));
    EXPECT_EQ(hex(sent.payload), received(isMine ? theirs : mine, record));
    isMine = !isMine;
  }
}

// The second key is the first 32 bytes of AES-256-GCM of zeros with the nonce 2^64 - 1. Computed with the Python package
// cryptography 48 from a key whose bytes are 7.
TEST_F(NoiseTest, RekeyFollowsTheSpecification) {
  Key first{};
  first.fill(7);
  Cipher changed(library_, first, true);
  ASSERT_TRUE(changed.rekey());
  Cipher expected(library_, key("f590782fc76a17d3847d154b6418cbf8a061f73ed7fd25db47b2e9b0cfb4b7c3"), true);
  const std::vector<uint8_t> text(20, 1);
  const std::array<std::span<const uint8_t>, 1> parts = {text};
  std::vector<uint8_t> a(text.size() + kTagBytes), b(a.size());
  ASSERT_TRUE(changed.seal({}, parts, a.data()));
  ASSERT_TRUE(expected.seal({}, parts, b.data()));
  EXPECT_EQ(b, a);
}

TEST_F(NoiseTest, ChangedCutRepeatedAndReorderedRecordsAreRefusedAtEveryOffset) {
  TransportKeys mine, theirs;
  shake(&mine, &theirs);
  constexpr uint64_t kRekey = 2;
  std::vector<std::vector<uint8_t>> records, texts;
  Records sender(library_, mine, kRekey);
  for (size_t i = 0; i < 5; ++i) {
    texts.emplace_back(1 + 9 * i, static_cast<uint8_t>('a' + i));
    records.push_back(seal(sender, texts.back()));
  }
  const auto join = [](const std::vector<std::vector<uint8_t>>& parts) {
    std::vector<uint8_t> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  const std::vector<uint8_t> whole = join(records);
  // Returns the text of the records that end at or before an offset.
  const auto textBefore = [&](size_t offset) {
    std::vector<uint8_t> text;
    size_t end = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      end += records[i].size();
      if (end <= offset) text.insert(text.end(), texts[i].begin(), texts[i].end());
    }
    return text;
  };
  const auto receive = [&](const std::vector<uint8_t>& bytes) {
    Records receiver(library_, theirs, kRekey);
    return received(receiver, bytes);
  };
  ASSERT_EQ(join(texts), receive(whole));
  for (size_t offset = 0; offset < whole.size(); ++offset) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> flipped = whole;
      flipped[offset] ^= static_cast<uint8_t>(1 << bit);
      EXPECT_EQ(textBefore(offset), receive(flipped)) << "offset=" << offset;
    }
    EXPECT_EQ(textBefore(offset), receive({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(offset)}));
    std::vector<uint8_t> without = whole;
    without.erase(without.begin() + static_cast<ptrdiff_t>(offset));
    EXPECT_EQ(textBefore(offset), receive(without));
  }
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = 0; j < 5; ++j) {
      std::vector<std::vector<uint8_t>> repeated = records;
      repeated.insert(repeated.begin() + static_cast<ptrdiff_t>(j), records[i]);
      const size_t good = i == j || j == i + 1 ? i + 1 : j;
      EXPECT_EQ(join({texts.begin(), texts.begin() + static_cast<ptrdiff_t>(good)}), receive(join(repeated)))
          << "record " << i << " at " << j;
      if (i == j) continue;
      std::vector<std::vector<uint8_t>> swapped = records;
      std::swap(swapped[i], swapped[j]);
      EXPECT_EQ(join({texts.begin(), texts.begin() + static_cast<ptrdiff_t>(std::min(i, j))}), receive(join(swapped)));
    }
  }
  Records reflected(library_, mine, kRekey);
  EXPECT_TRUE(received(reflected, whole).empty()) << "each direction has its own key";
}

TEST_F(NoiseTest, AHundredThousandChangedHandshakesAreRefused) {
  std::mt19937 random(47);
  Handshake sender(library_, true, kPreShared, hex(kPrologue), kInitiator);
  std::vector<uint8_t> first, second;
  ASSERT_TRUE(sender.write({}, &first));
  Handshake answering(library_, false, kPreShared, hex(kPrologue), kResponder);
  ASSERT_TRUE(answering.read(first, {}));
  ASSERT_TRUE(answering.write({}, &second));
  int refused = 0;
  for (int i = 0; i < 100'000; ++i) {
    const bool isSecond = i % 4 == 0;
    std::vector<uint8_t> changed = isSecond ? second : first;
    switch (random() % 3) {
      case 0:
        changed[random() % changed.size()] ^= static_cast<uint8_t>(1 << random() % 8);
        break;
      case 1:
        for (uint8_t& byte : changed) byte = static_cast<uint8_t>(random());
        break;
      default:
        changed.resize(random() % changed.size());
    }
    if (isSecond) {
      Handshake initiator(library_, true, kPreShared, hex(kPrologue), kInitiator);
      std::vector<uint8_t> written;
      ASSERT_TRUE(initiator.write({}, &written));
      if (!initiator.read(changed, {})) ++refused;
    } else {
      Handshake responder(library_, false, kPreShared, hex(kPrologue), kResponder);
      if (!responder.read(changed, {})) ++refused;
    }
  }
  EXPECT_EQ(100'000, refused);
}

TEST_F(NoiseTest, APublicKeyOfSmallOrderIsRefused) {
  Key secret;
  const Status agreed = library_->agree(kInitiator, Key{}, &secret);
  EXPECT_NE(std::string::npos, agreed.message().find("public key that gives no secret")) << agreed.message();
}

TEST_F(NoiseTest, AMissingLibraryIsNamedWithTheRemedy) {
  const std::string names[] = {"libcrypto_missing.so.3", "libdl.so.2"};
  std::shared_ptr<const Library> library;
  const Status opened = Library::open(names, 2, &library);
  ASSERT_FALSE(opened);
  EXPECT_NE(std::string::npos, opened.message().find("libcrypto_missing.so.3")) << opened.message();
  EXPECT_NE(std::string::npos, opened.message().find("libdl.so.2: is older than OpenSSL 1.1.1")) << opened.message();
  EXPECT_NE(std::string::npos, opened.message().find("install OpenSSL")) << opened.message();
}

}  // namespace
}  // namespace jccl::crypto::noise_test
