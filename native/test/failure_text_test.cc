// Tests of what a failed operation reports. A user must be able to act on it without a debug log.
#include <dirent.h>
#include <netinet/in.h>
#include <regex.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>
#include <thread>

#include "test/net_ranks.h"

namespace jccl::test::failure_text_test {
namespace {

constexpr size_t kCount = 256 * 1024;

// Returns true if a part of the text matches the extended regular expression.
bool matches(const std::string& text, const std::string& expression) {
  regex_t compiled;
  if (::regcomp(&compiled, expression.c_str(), REG_EXTENDED | REG_NOSUB) != 0) return false;
  const bool found = ::regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  ::regfree(&compiled);
  return found;
}

// Returns the connected IPv4 sockets of this process.
std::set<int> tcpSockets() {
  std::set<int> found;
  DIR* folder = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    sockaddr_storage peer{};
    socklen_t bytes = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0 && peer.ss_family == AF_INET)
      found.insert(fd);
  }
  ::closedir(folder);
  return found;
}

// Breaks a connection as a network does: the other end receives a reset. Calls the kernel directly, because the thread
// sanitizer would treat connect() as the creation of a descriptor that another thread uses.
void reset(int socket) {
  sockaddr nowhere{};
  nowhere.sa_family = AF_UNSPEC;
  ASSERT_EQ(0, ::syscall(SYS_connect, socket, &nowhere, sizeof nowhere));
}

void reduceUntilItFails(NetRanks& ranks, size_t rank, std::atomic<int>& rounds) {
  std::vector<float> data(kCount, 1);
  const Variant ring{"ring", Algorithm::Ring};
  while (ranks.allReduce(rank, ring, data.data(), data.data(), kCount) == Code::Ok) ++rounds;
}

TEST(FailureText, ABrokenConnectionIsReportedWithCallCodeRanksSequenceAndHint) {
  const std::set<int> before = tcpSockets();
  NetRanks ranks({0, 1});
  std::atomic<int> rounds[2] = {};
  std::thread other([&] { reduceUntilItFails(ranks, 1, rounds[1]); });
  std::thread breaker([&] {
    while (rounds[0] < 10 || rounds[1] < 10) std::this_thread::yield();
    for (const int socket : tcpSockets()) {
      if (before.count(socket) != 0) continue;
      reset(socket);
      break;
    }
  });
  reduceUntilItFails(ranks, 0, rounds[0]);
  other.join();
  breaker.join();

  int resets = 0;
  const std::string count = std::to_string(kCount);
  for (size_t rank = 0; rank < 2; ++rank) {
    const std::string text = ranks.communicators[rank]->lastError();
    const std::string mine = std::to_string(rank);
    const std::string peer = std::to_string(1 - rank);
    EXPECT_PRED2(
        matches, text,
        "^rank=" + mine + " sequence=[1-9][0-9]* collective=all_reduce type=float32 op=sum count=" + count + " ");
    // Expects the peer, both addresses, the call, its code with the text, and the hint. A rank can also learn of the
    // failure from its second connection, which the peer closes when the peer has failed.
    EXPECT_PRED2(
        matches, text,
        "peer=" + peer + " net: lost rank " + peer + " at 127[.]0[.]0[.]1:[0-9]+ from 127[.]0[.]0[.]1:[0-9]+: " +
            "([a-z]+ errno=[0-9]+ [(][A-Z][^)]+[)]: [a-z].+|the connection was closed without a FIN message: .+)");
    const bool wasReset =
        text.find("errno=104 (Connection reset by peer): the peer's process ended") != std::string::npos;
    resets += wasReset ? 1 : 0;
  }
  EXPECT_GE(resets, 1);
}

}  // namespace
}  // namespace jccl::test::failure_text_test
