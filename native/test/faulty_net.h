// A simulated network inside one process, for tests: an implementation of transport/net.h with the faults of real
// networks. It delays messages, delivers them in parts and out of order, and breaks connections.
//
// Every connection draws its faults from the seed, the two ranks and the channel, so the same seed repeats the same
// faults. When threads run is still the kernel's choice.
//
//     sender's buffer ──parts, late──> wire ──parts, late, over garbage bytes──> receiver's buffer or posted address
//
// Each end accesses only its own buffers, and only during calls of its rank. A receive buffer is filled with garbage
// bytes before its data arrives, because it may contain anything until test() reports the message.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "transport/net_transport.h"

namespace jccl::test {

struct NetFaults {
  uint64_t seed = 1;
  int64_t maxDelayNanos = 100'000;     // longest delay of a part or a completion
  int64_t maxHiccupNanos = 5'000'000;  // longest delay of one in `hiccupOneIn` parts or completions
  uint32_t hiccupOneIn = 100;
  // Connections break after a number of messages. Most of these connections come from one rank. Both ends report the
  // loss, or one end, or none.
  bool loses = false;
  int ranks = 1;                // number of ranks; one of them, which the seed chooses, loses most of its connections
  bool registers = false;       // like verbs: reaches only registered memory
  bool reachesDevices = false;  // reaches GPU memory, too, where data becomes visible when it is flushed
  bool failsFlushes = false;    // flushes fail after a number of messages
};

// Random numbers that depend only on the seed, on every platform.
class SeededRandom {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}
  uint64_t next();
  uint64_t below(uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  bool oneIn(uint64_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

// The network that all ranks share. Nets made by maker() keep its state alive.
class FaultyNetwork {
 public:
  explicit FaultyNetwork(const NetFaults& faults);

  // Returns the function that every rank passes to NetTransport::create or sets as CommunicatorConfig::makeNet.
  NetMaker maker() const;

  // Counters of all connections since the network was made.
  uint64_t losses() const;  // connections that have broken
  uint64_t messages() const;
  uint64_t overtaken() const;        // messages that completed at the receiver before an older one
  uint64_t inParts() const;          // messages that left in parts
  uint64_t atPostedAddress() const;  // messages that went to the receiver-posted address
  uint64_t flushed() const;          // messages that were flushed to GPU memory
  int64_t registered() const;        // ranges of memory that are registered now

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace jccl::test
