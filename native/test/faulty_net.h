// A simulated network inside one process that does what real ones do: it is late, delivers in parts and out of order, and breaks.
//
// The third implementation of transport/net.h, for tests. Every connection draws its faults from the seed, the two ranks
// and the channel, so a seed is a plan that can be had again; when threads run is still the kernel's choice.
//
//     sender's buffer ──parts, late──> wire ──parts, late, over garbage bytes──> receiver's buffer, or its posted address
//
// Each end touches its own buffers, and only from its own calls. A buffer that is posted to receive is filled with garbage
// bytes before its data comes, as it may hold anything until test() says that it has arrived.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "transport/net_transport.h"

namespace jccl::test {

struct NetFaults {
  uint64_t seed = 1;
  int64_t maxDelayNanos = 100'000;     // of a part, and of each completion
  int64_t maxHiccupNanos = 5'000'000;  // of one message in `hiccupOneIn`
  uint32_t hiccupOneIn = 100;
  bool loses =
      false;      // connections of one rank break after a number of messages, some at both ends, some at one or none
  int ranks = 1;  // who may be that rank
  bool registers = false;       // like verbs: reaches registered memory only
  bool reachesDevices = false;  // memory of GPUs, too: data is there once it has been flushed
  bool failsFlushes = false;    // after a number of messages
};

// A stream of numbers that is the same for the same seed everywhere.
class SeededRandom {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}
  uint64_t next();
  uint64_t below(uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  bool oneIn(uint64_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

// What all ranks share. Nets made by maker() keep it alive.
class FaultyNetwork {
 public:
  explicit FaultyNetwork(const NetFaults& faults);

  // For NetTransport::create or HostCommunicatorConfig::makeNet, of every rank.
  NetMaker maker() const;

  // How many connections have broken so far, and what the faults did to the others.
  uint64_t losses() const;
  uint64_t messages() const;
  uint64_t overtaken() const;  // messages complete at the receiver before an older one
  uint64_t inParts() const;
  uint64_t atPostedAddress() const;  // messages that went to the receiver-posted address
  uint64_t flushed() const;          // messages in memory of GPUs
  int64_t registered() const;        // ranges of memory that are registered at this moment

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace jccl::test
