// Ranks as threads on simulated hosts, connected by a CollNet.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "collnet/coll_net_channel.h"
#include "collnet/test/switch_process.h"
#include "test/rank_threads.h"

namespace jccl::test {

// On each host, the leader of group g is the rank whose local rank is g modulo the number of ranks of the host.
class CollNetRanks {
 public:
  CollNetRanks(const std::vector<int>& hosts, int groups, const char* plugin,
               const std::function<void(EngineConfig&)>& adjust = {},
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
      std::vector<CollNetChannel::Group> own;
      for (int group = 0; group < groups; ++group) {
        own.push_back({groups_[static_cast<size_t>(group)], nets[rank]->group(group)});
      }
      check(use(ranks[static_cast<int>(rank)], own, common));
    }
  }

  // Lets an engine use the groups, of which channel i uses the i-th.
  static Status use(Engine& engine, const std::vector<CollNetChannel::Group>& groups, const CollNetOffer& common) {
    std::vector<std::unique_ptr<AddedSchedule>> schedules(groups.size());
    for (size_t i = 0; i < groups.size(); ++i) {
      Status made = CollNetChannel::make(engine.channel(static_cast<int>(i)), groups[i], common, &schedules[i]);
      if (!made) return made;
    }
    return engine.addSchedules(std::move(schedules));
  }

  bool leads(int rank) const { return nets[static_cast<size_t>(rank)]->group(0) != nullptr; }

  // Declared before `ranks`, so that the communicators in `ranks` are destroyed before the CollNet objects that they
  // use.
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
