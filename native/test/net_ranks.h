// Complete host ranks in one process, connected by a network: sockets, unless a test chooses another.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "engine/communicator.h"
#include "test/rank_threads.h"

namespace jccl::test {

inline constexpr OperationCode kSum{Collective::AllReduce, DataType::Float32, ReduceOp::Sum};

// An algorithm of all-reduce with its flags.
struct Variant {
  const char* name;
  Algorithm algorithm;
  uint16_t flags = 0;
};

// Ranks of one process on simulated hosts. Ranks of one host share memory; the network connects the others.
class NetRanks {
 public:
  explicit NetRanks(const std::vector<int>& hosts, TransportKind network = TransportKind::Socket,
                    const std::function<void(CommunicatorConfig&)>& adjust = {}) {
    const size_t size = hosts.size();
    std::vector<std::vector<uint8_t>> info(size);
    std::vector<int> order(size);
    std::iota(order.begin(), order.end(), 0);
    communicators.resize(size);
    for (size_t rank = 0; rank < size; ++rank) {
      CommunicatorConfig config;
      config.engine.rank = static_cast<int>(rank);
      config.engine.size = static_cast<int>(size);
      config.engine.localRanks = static_cast<int>(size);
      config.engine.cores = 2;
      config.secret.assign(16, 42);
      if (adjust) adjust(config);
      check(Communicator::create(config, communicators[rank]));
      check(communicators[rank]->connectInfo({"127.0.0.1"}, info[rank]));
    }
    for (size_t rank = 0; rank < size; ++rank) {
      for (size_t peer = 0; peer < size; ++peer) {
        if (peer == rank) continue;
        const TransportKind transport = hosts[rank] == hosts[peer] ? TransportKind::P2p : network;
        check(communicators[rank]->connect(static_cast<int>(peer), transport, info[peer]));
      }
      check(communicators[rank]->engine().setRing(0, order));
      check(communicators[rank]->engine().setHosts(hosts));
      // The tree is a chain.
      const int self = static_cast<int>(rank);
      const std::vector<int> down = rank + 1 < size ? std::vector{self + 1} : std::vector<int>{};
      check(communicators[rank]->engine().setTree(0, self - 1, down));
    }
  }

  Code allReduce(size_t rank, const Variant& variant, const float* send, float* recv, size_t count,
                 int64_t timeoutNanos = kTimeoutNanos) {
    return communicators[rank]->engine().run(kSum, choiceOf(variant.algorithm, Protocol::Simple, 1, 0, variant.flags),
                                             reinterpret_cast<uint64_t>(send), reinterpret_cast<uint64_t>(recv),
                                             static_cast<int64_t>(count), 0, timeoutNanos);
  }

  std::vector<std::unique_ptr<Communicator>> communicators;

 private:
  static void check(const Status& status) { EXPECT_TRUE(status.isOk()) << status.message(); }
};

}  // namespace jccl::test
