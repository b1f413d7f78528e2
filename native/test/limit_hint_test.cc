// Tests of limit hints: messages about exhausted resources name the limit, its value and the remedy.
#include "base/limit_hint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/status.h"
#include "base/thread.h"
#include "test/forbidden_calls.h"

namespace jccl::limit_hint_test {
namespace {

class LimitHint : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/jccl-limits-XXXXXX";
    ASSERT_NE(nullptr, ::mkdtemp(name));
    root_ = name;
    write("proc/self/status", "Name:\tjava\nThreads:\t17\n");
    write("proc/sys/kernel/threads-max", "1000\n");
    write("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = root_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  LimitFiles files() const { return {root_ / "proc", root_ / "sys/fs/cgroup"}; }

  std::filesystem::path root_;
};

TEST_F(LimitHint, DescriptorsHaveTheirLimit) {
  rlimit limit{};
  ASSERT_EQ(0, ::getrlimit(RLIMIT_NOFILE, &limit));
  const std::string hint = limitHint("socket", EMFILE, files());
  EXPECT_NE(std::string::npos, hint.find("RLIMIT_NOFILE=" + std::to_string(limit.rlim_cur))) << hint;
  EXPECT_NE(std::string::npos, hint.find("ulimit -n")) << hint;
  EXPECT_NE(std::string::npos, Status::system("socket", "x", EMFILE).message().find(hint));
}

TEST_F(LimitHint, ThreadsHaveTheLimitsOfTheUserAndOfEveryCgroupOfVersion2) {
  write("proc/self/cgroup", "0::/kubepods/pod1\n");
  write("sys/fs/cgroup/kubepods/pod1/pids.max", "40\n");
  write("sys/fs/cgroup/kubepods/pod1/pids.current", "39\n");
  write("sys/fs/cgroup/kubepods/pids.max", "max\n");
  const std::string hint = limitHint("pthread_create", EAGAIN, files());
  EXPECT_NE(std::string::npos, hint.find("threads=17 RLIMIT_NPROC=")) << hint;
  EXPECT_NE(std::string::npos, hint.find("pids.current=39 pids.max=40 (")) << hint;
  EXPECT_EQ(std::string::npos, hint.find("pids.max=max")) << hint;
  EXPECT_NE(std::string::npos, hint.find("kernel.threads-max=1000")) << hint;
}

TEST_F(LimitHint, AContainerSeesItsCgroupOfVersion1AsTheRoot) {
  write("proc/self/cgroup", "8:pids:/docker/abc\n0::/\n");
  write("sys/fs/cgroup/pids/pids.max", "33\n");
  write("sys/fs/cgroup/pids/pids.current", "33\n");
  const std::string limits = threadLimits(files());
  EXPECT_NE(std::string::npos, limits.find("pids.current=33 pids.max=33 (" + (root_ / "sys/fs/cgroup/pids)").string()))
      << limits;
}

TEST_F(LimitHint, EphemeralPortsHaveTheirRange) {
  EXPECT_NE(std::string::npos, limitHint("bind", EADDRINUSE, files()).find("net.ipv4.ip_local_port_range=32768-60999"));
}

TEST_F(LimitHint, ErrorsAboutNoLimitGetNoHint) {
  EXPECT_EQ("", limitHint("connect", ECONNREFUSED, files()));
  EXPECT_EQ("", limitHint("recv", EAGAIN, files()));
  EXPECT_EQ("", limitHint("open", EACCES, files()));
}

TEST(RefusedThread, IsAnErrorThatNamesTheThreadAndTheLimits) {
  const int line = test::inProcessWithout({{SYS_clone3, 0, 0, EAGAIN}, {SYS_clone, 0, 0, EAGAIN}}, [] {
    std::thread thread;
    const Status started = startQuietThread(
        "jccl-test", [] {}, &thread);
    if (started || started.code() != Code::System) return __LINE__ & 127;
    for (const char* part : {"pthread_create: thread=jccl-test", "errno=11", "threads=", "RLIMIT_NPROC="}) {
      if (started.message().find(part) == std::string::npos) return __LINE__ & 127;
    }
    return thread.joinable() ? __LINE__ & 127 : 0;
  });
  if (line == -1) GTEST_SKIP() << "system calls cannot be forbidden here";
  EXPECT_EQ(0, line);
}

}  // namespace
}  // namespace jccl::limit_hint_test
