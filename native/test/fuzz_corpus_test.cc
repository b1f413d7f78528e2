// Runs the fuzz targets on every input of their corpus (scripts/check-fuzz). No input may do harm.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "fuzz/handshake.h"
#include "fuzz/socket_frames.h"

namespace jccl::fuzz_corpus_test {
namespace {

int runAll(const std::string& name, void (*target)(const uint8_t*, size_t)) {
  int inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(JCCL_FUZZ_CORPUS) + "/" + name)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    target(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    ++inputs;
  }
  return inputs;
}

TEST(FuzzCorpus, FramesOfDataSocketsDoNoHarm) { EXPECT_GT(runAll("socket_frames_fuzz", fuzz::socketFrames), 10); }

TEST(FuzzCorpus, HandshakesOfDataSocketsDoNoHarm) { EXPECT_GT(runAll("handshake_fuzz", fuzz::handshake), 10); }

}  // namespace
}  // namespace jccl::fuzz_corpus_test
