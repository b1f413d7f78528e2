// What the network transport of one communicator needs to know.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "transport/net_paths.h"
#include "verbs/adapter.h"

namespace jccl {

// Over InfiniBand verbs.
struct IbConfig {
  verbs::AdapterSettings adapter;
  int queuePairs = 1;      // per connection; the same on all ranks
  bool splitData = false;  // every message over all of them, instead of whole messages alternately
};

struct NetConfig {
  int rank = 0;
  int size = 1;
  int channels = 1;
  std::array<uint8_t, 16> communicator{};  // its id, different for every split and every job
  std::vector<uint8_t> secret;             // known to every rank of the job, and to no other process

  int streams = 1;                    // TCP connections per connection; the same on all ranks
  int threads = 1;                    // that move the data of all TCP connections, a waiting thread among them
  uint32_t stripeBytes = 256 * 1024;  // a message is spread over streams in stripes of at least so much
  int sendBufferBytes = 0;            // SO_SNDBUF and SO_RCVBUF; 0: let the kernel choose and grow them
  int receiveBufferBytes = 0;
  int pollsAfterData = 32;  // how often a stream that has just delivered is polled for more without an event

  int64_t connectTimeoutNanos = 20'000'000'000;   // from the first attempt to a proven connection
  int64_t handshakeTimeoutNanos = 3'000'000'000;  // for one client that has connected and not proven itself
  int64_t peerTimeoutNanos = 15'000'000'000;      // a host that leaves something unanswered so long is gone
  IbConfig ib;
  std::string plugin;  // which network plug-in, as JCCL_NET_PLUGIN has it
  NetDeviceNumbers devices;

  uint32_t maxHalfOpen = 128;  // clients that have not proven themselves, at one time
};

}  // namespace jccl
