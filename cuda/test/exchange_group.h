// The sends and receives of one rank in the order that the exchange kernel needs: by queue, with copies last.
#pragma once

#include <algorithm>
#include <vector>

#include "cuda/test/device_ranks.h"

namespace jccl::test {

using device::ExchangeLaunch;
using device::ExchangeQueue;
using device::ExchangeTask;

struct ExchangeGroup {
  std::vector<ExchangeTask> tasks;
  std::vector<ExchangeQueue> queues;
  std::vector<ExchangeTask> copies;

  void add(const std::vector<ExchangeTask>& queue, uint32_t window = 0) {
    if (queue.empty()) return;
    queues.push_back({static_cast<uint32_t>(tasks.size()), static_cast<uint32_t>(queue.size()), window});
    tasks.insert(tasks.end(), queue.begin(), queue.end());
  }

  // Returns the launch of all tasks. Called once, after the last task was added.
  ExchangeLaunch launchOf(const DeviceRanks& ranks, int rank, int channels, bool collective) {
    const Launch plain = ranks.launchOf(rank);
    ExchangeLaunch launch{};
    launch.rank = rank;
    launch.size = ranks.size();
    launch.channels = plain.channels;
    launch.channelCount = channels;
    launch.shape = plain.shape;
    launch.compact = exchangeShape(plain.shape, plain.size);
    launch.control = plain.control;
    launch.collectives = collective ? 1 : 0;
    for (auto* all : {&tasks, &copies}) {
      for (ExchangeTask& task : *all) {
        task.channels = task.connected = static_cast<uint8_t>(channels);
        if (all == &tasks) task.collective = collective ? 1 : 0;
      }
    }
    // Queues that send come first.
    launch.sendQueueCount =
        static_cast<uint32_t>(std::stable_partition(queues.begin(), queues.end(),
                                                    [&](const ExchangeQueue& queue) {
                                                      return tasks[queue.first].kind == ExchangeTask::Kind::Send;
                                                    }) -
                              queues.begin());
    launch.queues = queues.data();
    launch.queueCount = static_cast<uint32_t>(queues.size());
    launch.firstCopy = static_cast<uint32_t>(tasks.size());
    tasks.insert(tasks.end(), copies.begin(), copies.end());
    launch.tasks = tasks.data();
    launch.taskCount = static_cast<uint32_t>(tasks.size());
    return launch;
  }
};

}  // namespace jccl::test
