// The schedules of leaders that exchange data in rounds (collectives/host_rounds.h). Each step has one partner.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collectives/host_rounds.h"
#include "collectives/ring.h"
#include "primitives/links.h"
#include "primitives/operation.h"

namespace jccl {

// Every schedule returns false after a failure. Then the result is incomplete, and must not be passed on.
template <class Primitives>
class RoundSchedule {
 public:
  // `recv` and `send` lead to the leaders of the other hosts, in the order of the hosts.
  RoundSchedule(Waiter& waiter, const HostRounds& rounds, RecvConnection* const* recv, SendConnection* const* send,
                uint8_t* space)
      : waiter_(waiter), rounds_(rounds), recv_(recv), send_(send), space_(space) {}

  // Adds up the inputs of all leaders, in the order of the hosts, so that all end with the same bits.
  bool allReduce(Transfer transfer, size_t at, size_t count) const {
    if (rounds_.rests()) {
      return with(rounds_.host + 1, transfer, [&](Primitives& p) {
        p.send(at, count);
        p.recv(at, count);
      });
    }
    bool done = true;
    if (rounds_.hasResting()) {
      done = with(rounds_.host - 1, transfer, [&](Primitives& p) { p.recvReduceCopy(at, at, count, false); });
      transfer.input = transfer.output;
    }
    for (int round = 0; done && round < rounds_.count; ++round) {
      done = with(rounds_.partner(round), transfer, [&](Primitives& p) {
        p.send(at, count);
        p.recvReduceCopy(at, at, count, round == rounds_.count - 1);
      });
      transfer.input = transfer.output;
    }
    return done && pass(transfer, at, count);
  }

  // Gathers the parts of all hosts in the output, which has this host's part. `begin(host)` returns where the part of a
  // host begins, begin(hosts) where the last part ends.
  template <class Begin>
  bool allGather(Transfer transfer, const Begin& begin) const {
    transfer.input = transfer.output;
    const ring::Part whole{0, begin(rounds_.hosts)};
    const auto partOf = [&](int host) { return ring::Part{begin(host), begin(host + 1) - begin(host)}; };
    if (rounds_.rests()) {
      const ring::Part own = partOf(rounds_.host);
      return with(rounds_.host + 1, transfer, [&](Primitives& p) {
        p.send(own.begin, own.count);
        p.recv(whole.begin, whole.count);
      });
    }
    bool done = true;
    if (rounds_.hasResting()) {
      const ring::Part theirs = partOf(rounds_.host - 1);
      done = with(rounds_.host - 1, transfer, [&](Primitives& p) { p.recv(theirs.begin, theirs.count); });
    }
    for (int round = 0; done && round < rounds_.count; ++round) {
      const ring::Part own = groupPart(rounds_.place(), round, begin);
      const ring::Part theirs = groupPart(rounds_.place() ^ 1 << round, round, begin);
      done = with(rounds_.partner(round), transfer, [&](Primitives& p) {
        p.send(own.begin, own.count);
        p.recv(theirs.begin, theirs.count);
      });
    }
    return done && pass(transfer, whole.begin, whole.count);
  }

  // Adds up the inputs of all leaders. Each host ends with the sum of its own part in the output, which has space for
  // all parts and is the input, too.
  template <class Begin>
  bool reduceScatter(const Transfer& transfer, const Begin& begin) const {
    const size_t whole = begin(rounds_.hosts);
    const auto partOf = [&](int host) { return ring::Part{begin(host), begin(host + 1) - begin(host)}; };
    if (rounds_.rests()) {
      const ring::Part own = partOf(rounds_.host);
      return with(rounds_.host + 1, transfer, [&](Primitives& p) {
        p.send(0, whole);
        p.recv(own.begin, own.count);
      });
    }
    bool done = true;
    if (rounds_.hasResting()) {
      done = with(rounds_.host - 1, transfer, [&](Primitives& p) { p.recvReduceCopy(0, 0, whole, false); });
    }
    for (int round = rounds_.count - 1; done && round >= 0; --round) {
      const ring::Part own = groupPart(rounds_.place(), round, begin);
      const ring::Part theirs = groupPart(rounds_.place() ^ 1 << round, round, begin);
      done = with(rounds_.partner(round), transfer, [&](Primitives& p) {
        p.send(theirs.begin, theirs.count);
        p.recvReduceCopy(own.begin, own.begin, own.count, round == 0);
      });
    }
    const ring::Part resting = rounds_.hasResting() ? partOf(rounds_.host - 1) : ring::Part{};
    return done && pass(transfer, resting.begin, resting.count);
  }

 private:
  // Executes steps whose only partner is the leader of `host`.
  template <class Steps>
  bool with(int host, const Transfer& transfer, const Steps& steps) const {
    const int link = host < rounds_.host ? host : host - 1;
    const Links links{recv_ + link, 1, send_ + link, 1, host < rounds_.host ? 1 : 0};
    Primitives primitives(waiter_, transfer, links, space_);
    steps(primitives);
    return !primitives.failed();
  }

  // Passes the result on to the host that rests, if there is one.
  bool pass(const Transfer& transfer, size_t at, size_t count) const {
    return !rounds_.hasResting() ||
           with(rounds_.host - 1, transfer, [&](Primitives& p) { p.sendFromOutput(at, count); });
  }

  // Returns the parts of the 2^round places with `place` that have exchanged data before that round.
  template <class Begin>
  ring::Part groupPart(int place, int round, const Begin& begin) const {
    const int group = HostRounds::groupOf(place, round);
    const size_t first = begin(rounds_.firstAt(group)), end = begin(rounds_.firstAt(group + (1 << round)));
    return {first, end - first};
  }

  Waiter& waiter_;
  HostRounds rounds_;
  RecvConnection* const* recv_;
  SendConnection* const* send_;
  uint8_t* space_;
};

}  // namespace jccl
