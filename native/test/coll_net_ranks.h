// Ranks as threads whose hosts a network joins that reduces: a process simulates its switch.
#pragma once

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "test/rank_threads.h"
#include "transport/coll_net.h"

namespace jccl::test {

inline constexpr std::array<const char*, 7> kCollNetPlugins = {
    JCCL_TEST_COLLNET_V6,  JCCL_TEST_COLLNET_V7,  JCCL_TEST_COLLNET_V8, JCCL_TEST_COLLNET_V9,
    JCCL_TEST_COLLNET_V10, JCCL_TEST_COLLNET_V11, JCCL_TEST_COLLNET_V12};

inline const char* collNetPlugin(int version) {
  return kCollNetPlugins[static_cast<size_t>(version - plugin::kOldestVersion)];
}

// The process ends with this one, or when it is killed.
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
    const char* const arguments[] = {JCCL_TEST_SWITCH, nullptr};
    EXPECT_EQ(0, ::posix_spawn(&process_, JCCL_TEST_SWITCH, &actions, nullptr, const_cast<char**>(arguments), environ));
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

// Group g is led by rank g of each host, as far as it has so many.
class CollNetRanks {
 public:
  CollNetRanks(const std::vector<int>& hosts, int groups, const char* plugin,
               const std::function<void(CommunicatorConfig&)>& adjust = {},
               const CollNetLimits& limits = {kTimeoutNanos, kTimeoutNanos})
      : ranks(static_cast<int>(hosts.size()), groups, adjust) {
    const size_t size = hosts.size();
    const int last = *std::max_element(hosts.begin(), hosts.end());
    std::vector<std::vector<uint8_t>> offers(size);
    for (size_t rank = 0; rank < size; ++rank) {
      check(ranks[static_cast<int>(rank)].setHosts(hosts));
      check(CollNet::open(plugin, 7, limits, &nets.emplace_back()));
      offers[rank] = nets.back()->offer().encode();
    }
    check(CollNetOffer::common(offers, &common));
    for (int group = 0; group < groups; ++group) {
      std::vector<int>& leaders = groups_.emplace_back();
      for (int host = 0; host <= last; ++host) {
        std::vector<int> here;
        for (size_t rank = 0; rank < size; ++rank) {
          if (hosts[rank] == host) here.push_back(static_cast<int>(rank));
        }
        leaders.push_back(here[static_cast<size_t>(group) % here.size()]);
      }
      connect(group, leaders);
    }
    for (size_t rank = 0; rank < size; ++rank) {
      CollNetSetup setup;
      setup.common = common;
      for (int group = 0; group < groups; ++group) {
        setup.groups.push_back({groups_[static_cast<size_t>(group)], nets[rank]->group(group)});
      }
      check(ranks[static_cast<int>(rank)].setCollNet(setup));
    }
  }

  bool leads(int rank) const { return nets[static_cast<size_t>(rank)]->group(0) != nullptr; }

  // Before the communicators, which go first.
  std::vector<std::unique_ptr<CollNet>> nets;
  CollNetOffer common;
  RankThreads ranks;

 private:
  static void check(const Status& status) { EXPECT_TRUE(status.isOk()) << status.message(); }

  void connect(int group, const std::vector<int>& leaders) {
    std::vector<CollNetHandle> handles(leaders.size());
    for (size_t host = 0; host < leaders.size(); ++host) {
      check(nets[static_cast<size_t>(leaders[host])]->listen(group, &handles[host]));
    }
    std::vector<std::thread> threads;
    for (size_t host = 0; host < leaders.size(); ++host) {
      threads.emplace_back([&, host] {
        check(nets[static_cast<size_t>(leaders[host])]->connect(group, handles, static_cast<int>(host), kTimeoutNanos));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  std::vector<std::vector<int>> groups_;
};

}  // namespace jccl::test
