// Settings of the network transport of one communicator.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crypto/crypto_library.h"
#include "transport/net_paths.h"
#include "verbs/adapter.h"

namespace jccl {

// Settings of InfiniBand verbs.
struct IbConfig {
  verbs::AdapterSettings adapter;
  int queuePairs = 1;      // number of queue pairs per connection; equal on all ranks
  bool splitData = false;  // splits every message over all queue pairs instead of alternating whole messages
};

struct NetConfig {
  int rank = 0;
  int size = 1;
  int channels = 1;                        // numbers of connections between two ranks in one direction
  std::array<uint8_t, 16> communicator{};  // id of the communicator, different for every split and every job
  std::vector<uint8_t> secret;             // known to every rank of the job and to no other process
  // encrypts all TCP connections; null: they are not encrypted. Null on all ranks or on none.
  std::shared_ptr<const crypto::Library> crypto;

  int streams = 1;  // number of TCP connections per connection; equal on all ranks
  int threads = 1;  // number of threads that move the data of all TCP connections, including the thread that polls
  uint32_t stripeBytes = 256 * 1024;  // smallest stripe of a message that is spread over streams
  int sendBufferBytes = 0;            // SO_SNDBUF; 0: the kernel chooses the size and grows it
  int receiveBufferBytes = 0;         // SO_RCVBUF; 0: the kernel chooses the size and grows it
  int pollsAfterData = 32;  // number of times to poll a stream that has just delivered data before it needs an event
  // True if this rank shares a core with others. Then no stream is polled: the data comes from a rank that perhaps waits
  // for this core, and one call asks for the events of all streams. With two ranks on each core, these polls made up a
  // quarter of the time of an all-reduce of 8 bytes between four hosts.
  bool sharesCores = false;
  // True if some peers share memory with this rank. Then streams are not polled after long messages: the next message is
  // far away, and the system calls delay each look at those peers' slots.
  std::shared_ptr<std::atomic<bool>> looksAtMemory = std::make_shared<std::atomic<bool>>(false);

  // limit of the time from the first attempt until the connection is authenticated
  int64_t connectTimeoutNanos = 20'000'000'000;
  // limit of the time from a client's connection until it has proved the secret
  int64_t handshakeTimeoutNanos = 3'000'000'000;
  int64_t peerTimeoutNanos = 15'000'000'000;  // time after which a host that leaves something unanswered counts as gone
  IbConfig ib;
  std::string plugin;  // the network plug-in: the value of JCCL_NET_PLUGIN
  NetDeviceNumbers devices;

  uint32_t maxHalfOpen = 128;  // largest number of clients that are connected and have not proved the secret
};

}  // namespace jccl
