// CollNet for tests: paths of the plug-ins, environment variables that they read, and the process that simulates the
// switch.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/fd.h"
#include "collnet/collnet_library.h"
#include "plugin/net_abi.h"

namespace jccl::test {

inline constexpr std::array<const char*, 7> kCollNetPlugins = {
    JCCL_TEST_COLLNET_V6,  JCCL_TEST_COLLNET_V7,  JCCL_TEST_COLLNET_V8, JCCL_TEST_COLLNET_V9,
    JCCL_TEST_COLLNET_V10, JCCL_TEST_COLLNET_V11, JCCL_TEST_COLLNET_V12};

inline const char* collNetPlugin(int version) {
  return kCollNetPlugins[static_cast<size_t>(version - plugin::kOldestVersion)];
}

// Sets an environment variable that the plug-in reads, for the lifetime of this object.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
};

struct Fault : Variable {
  explicit Fault(const std::string& name) : Variable("JCCL_TEST_COLLNET_FAULT", name) {}
};

struct Devices : Variable {
  explicit Devices(int count) : Variable("JCCL_TEST_COLLNET_DEVICES", std::to_string(count)) {}
};

// The process of the switch. Ends with the test's process at the latest.
class SwitchProcess {
 public:
  SwitchProcess() {
    int in[2];
    int out[2];
    EXPECT_EQ(0, ::pipe2(in, O_CLOEXEC));
    EXPECT_EQ(0, ::pipe2(out, O_CLOEXEC));
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    // JCCL_TEST_EMULATOR names a command that runs the program if it was built for another processor.
    const char* const arguments[] = {"sh", "-c", "exec $JCCL_TEST_EMULATOR \"$0\"", JCCL_TEST_SWITCH, nullptr};
    EXPECT_EQ(0, ::posix_spawn(&process_, "/bin/sh", &actions, nullptr, const_cast<char**>(arguments), environ));
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    input_ = UniqueFd(in[1]);
    const UniqueFd output(out[0]);
    std::array<char, 16> port{};
    EXPECT_GT(::read(output.get(), port.data(), port.size() - 1), 0);
    ::setenv("JCCL_TEST_SWITCH", std::string(port.data(), ::strcspn(port.data(), "\n")).c_str(), 1);
  }
  ~SwitchProcess() { kill(); }
  SwitchProcess(const SwitchProcess&) = delete;
  SwitchProcess& operator=(const SwitchProcess&) = delete;

  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  pid_t process_ = -1;
  UniqueFd input_;
};

}  // namespace jccl::test
