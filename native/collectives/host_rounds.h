// The partners of a host in schedules of rounds. In round k, each host exchanges data with the host whose place differs
// in bit k, so that after log2(n) rounds every host has the data of all. That takes fewer messages than if every host
// sent to every other, but more hops.
//
// Places are a power of two. If there are more hosts, the first ones share a place in pairs: the first host of a pair
// rests. It hands its data to the second one before the rounds, and gets the result after them.
#pragma once

namespace jccl {

struct HostRounds {
  int host = 0;
  int hosts = 1;
  int count = 0;  // number of rounds
  int pairs = 0;

  HostRounds(int ownHost, int allHosts) : host(ownHost), hosts(allHosts) {
    while (hosts >> (count + 1) > 0) ++count;
    pairs = hosts - places();
  }

  int places() const { return 1 << count; }
  bool rests() const { return host < 2 * pairs && host % 2 == 0; }
  // Returns true if the host before this one rests.
  bool hasResting() const { return host < 2 * pairs && host % 2 == 1; }
  int place() const { return host < 2 * pairs ? host / 2 : host - pairs; }
  int partner(int round) const { return activeAt(place() ^ 1 << round); }
  // Returns the host that takes part in the rounds.
  int activeAt(int place) const { return place < pairs ? 2 * place + 1 : place + pairs; }
  // Returns the first host of a place. The hosts of consecutive places have consecutive numbers.
  int firstAt(int place) const { return place < pairs ? 2 * place : place + pairs; }
  // Returns the first of the 2^round places whose data a host at `place` has before that round of an all-gather.
  static int groupOf(int place, int round) { return place >> round << round; }
};

// A binomial tree over hosts: a host sends to its child with the most hosts below it first.
struct HostTree {
  int root = 0;
  int hosts = 1;

  int placeOf(int host) const { return (host - root + hosts) % hosts; }
  int hostAt(int place) const { return (place + root) % hosts; }
  int parentOf(int host) const {
    const int place = placeOf(host);
    return hostAt(place & (place - 1));
  }
  template <class Body>
  void forChildrenOf(int host, const Body& body) const {
    const int place = placeOf(host);
    int step = 1;
    while (step < hosts && (place & step) == 0) step <<= 1;
    while ((step >>= 1) > 0) {
      if (place + step < hosts) body(hostAt(place + step));
    }
  }
};

}  // namespace jccl
