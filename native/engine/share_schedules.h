// Schedules over hosts in which every rank carries a share (host_shares.h). Channel::exchangeByShares has the all-to-all.
//
// In a reduction each rank first sums, for the ranks that it serves, the inputs of its host, and sends the sums. Then it
// adds the sums of its partners to the inputs of its host. In a gather each rank sends its part to its host's ranks and
// to its partners, and passes the parts of the ranks that it serves on to its host's ranks. An all-reduce does both.
//
// All ranks take the same steps for the same chunks, so the chunks of a connection arrive in the order in which they are
// awaited. The ranks of a host take turns for each rank that they serve: thus a connection inside a host never holds
// many chunks that nobody awaits yet, and no two ranks wait for each other's slots.
#pragma once

#include <algorithm>
#include <vector>

#include "collectives/ring.h"
#include "engine/host_shares.h"
#include "primitives/links.h"
#include "primitives/operation.h"
#include "primitives/wait.h"

namespace jccl {

// The connections of a rank, in the order of the members of HostShares with these names.
struct ShareLinks {
  std::vector<SendConnection*> toLocals, toServed;
  std::vector<SendConnection*> outward;  // to `locals`, then to `partners`
  std::vector<RecvConnection*> fromLocals, fromServed;
  // From partners on earlier hosts, from `locals`, and from partners on later hosts: the order of a reduction.
  std::vector<RecvConnection*> inward;

  ShareLinks() = default;
  ShareLinks(const HostShares& shares, std::vector<SendConnection>& sends, std::vector<RecvConnection>& recvs) {
    const auto add = [&](const std::vector<int>& ranks, auto& connections, auto& to) {
      for (const int rank : ranks) to.push_back(&connections[static_cast<size_t>(rank)]);
    };
    add(shares.locals, sends, toLocals);
    add(shares.locals, recvs, fromLocals);
    add(shares.served, sends, toServed);
    add(shares.served, recvs, fromServed);
    add(shares.locals, sends, outward);
    add(shares.partners, sends, outward);
    add(shares.partners, recvs, inward);
    inward.insert(inward.begin() + static_cast<std::ptrdiff_t>(shares.hostsBefore), fromLocals.begin(),
                  fromLocals.end());
  }
};

// The parts of an all-gather or reduce-scatter, cut into chunks. All parts have the same number of chunks; chunks after
// the end of a part are empty.
class RankParts {
 public:
  RankParts(const PartPlan& parts, int size, size_t chunkCount)
      : parts_(parts),
        chunkCount_(chunkCount),
        chunks_(std::max<size_t>(1, (ring::largestPart(parts, size) + chunkCount - 1) / chunkCount)) {}

  size_t chunks() const { return chunks_; }
  // Returns a chunk of a rank's part, counted from the start of the buffer that contains all parts.
  ring::Part of(int rank, size_t chunk) const { return cut(ring::partOf(parts_, rank), chunk); }
  // Returns the first element of the chunk in a buffer that contains only this rank's part.
  size_t inOwnBuffer(int rank, size_t chunk) const { return cut(ring::shareOfPart(parts_, rank), chunk).begin; }

 private:
  ring::Part cut(const ring::Part& part, size_t chunk) const {
    const size_t skip = std::min(part.count, chunk * chunkCount_);
    return {part.begin + skip, ring::clampTo(part.count, skip, chunkCount_)};
  }

  PartPlan parts_;
  size_t chunkCount_;
  size_t chunks_;
};

// The shards of an all-reduce, one for each rank, cut into chunks as RankParts.
class RankShards {
 public:
  RankShards(const ring::Part& whole, int size, size_t chunkCount)
      : whole_(whole),
        shard_(ring::evenly(whole.count, static_cast<size_t>(size), whole.count)),
        chunkCount_(chunkCount),
        chunks_(std::max<size_t>(1, (shard_ + chunkCount - 1) / chunkCount)) {}

  size_t chunks() const { return chunks_; }
  ring::Part of(int rank, size_t chunk) const {
    const size_t skip = std::min(shard_, chunk * chunkCount_);
    const size_t begin = std::min(whole_.count, static_cast<size_t>(rank) * shard_ + skip);
    return {whole_.begin + begin, std::min({whole_.count - begin, shard_ - skip, chunkCount_})};
  }
  size_t inOwnBuffer(int rank, size_t chunk) const { return of(rank, chunk).begin; }

 private:
  ring::Part whole_;
  size_t shard_;
  size_t chunkCount_;
  size_t chunks_;
};

// Runs the operations of one channel. `Parts` is RankParts or RankShards.
template <class Primitives, class Parts>
class ShareSchedule {
 public:
  // `space` is scratch memory for the chunks of all other ranks.
  ShareSchedule(Waiter& waiter, int rank, const HostShares& shares, const ShareLinks& links, const Transfer& transfer,
                const Parts& parts, uint8_t* space)
      : waiter_(waiter),
        rank_(rank),
        shares_(shares),
        links_(links),
        transfer_(transfer),
        parts_(parts),
        space_(space) {
    local_.recv = links.fromLocals.data();
    local_.send = links.toLocals.data();
    local_.recvCount = local_.sendCount = static_cast<int>(shares.locals.size());
    outward_.send = links.outward.data();
    outward_.sendCount = static_cast<int>(links.outward.size());
    inward_.recv = links.inward.data();
    inward_.recvCount = static_cast<int>(links.inward.size());
    inward_.ownPosition = static_cast<int>(shares.hostsBefore + shares.place);
  }

  void allGather() {
    Primitives own(waiter_, transfer_, outward_, space_);
    Primitives locals(waiter_, transfer_, local_, space_);
    for (size_t step = 0; step < parts_.chunks() + kChunksAhead; ++step) {
      if (step < parts_.chunks()) {
        postServed(step);
        const ring::Part part = parts_.of(rank_, step);
        own.copySend(parts_.inOwnBuffer(rank_, step), part.begin, part.count);
        if (own.failed() || !receiveLocals(locals, step)) break;
      }
      if (step >= kChunksAhead && !passOn(locals, step - kChunksAhead)) break;
    }
    own.finish();
  }

  void reduceScatter() {
    Links toServed{nullptr, 0, links_.toServed.data(), static_cast<int>(links_.toServed.size()), 0};
    Primitives sums(waiter_, transfer_, toServed, space_);
    Primitives result(waiter_, transfer_, inward_, space_);
    Primitives locals(waiter_, transfer_, local_, space_);
    for (size_t step = 0; step < parts_.chunks() + kChunksAhead; ++step) {
      if (step < parts_.chunks() && !sumServed(locals, transfer_, step)) break;
      if (step < kChunksAhead) continue;
      const size_t chunk = step - kChunksAhead;
      if (!sendLocals(locals, chunk)) break;
      const ring::Part part = parts_.of(rank_, chunk);
      result.recvReduceCopy(part.begin, parts_.inOwnBuffer(rank_, chunk), part.count, true);
      if (result.failed()) break;
    }
    sums.finish();
  }

  void allReduce() {
    Transfer exact = transfer_;
    exact.zeroCopy = false;  // in place, results overwrite inputs that would still be sent
    Links through = inward_;
    through.send = outward_.send;
    through.sendCount = outward_.sendCount;
    Primitives result(waiter_, transfer_, through, space_);
    Primitives locals(waiter_, exact, local_, space_);
    for (size_t step = 0; step < parts_.chunks() + 2 * kChunksAhead; ++step) {
      if (step < parts_.chunks() && !sumServed(locals, exact, step)) break;
      if (step >= kChunksAhead && step < parts_.chunks() + kChunksAhead) {
        const size_t chunk = step - kChunksAhead;
        if (!sendLocals(locals, chunk)) break;
        const ring::Part part = parts_.of(rank_, chunk);
        result.recvReduceCopySend(part.begin, part.begin, part.count, true);
        if (result.failed() || !receiveLocals(locals, chunk)) break;
      }
      if (step >= 2 * kChunksAhead && !passOn(locals, step - 2 * kChunksAhead)) break;
    }
    result.finish();
  }

 private:
  // Number of chunks by which sends to other hosts run ahead of the receives that depend on them.
  static constexpr size_t kChunksAhead = 2;

  // In a gather, posts the places of a chunk of the served ranks, so that the network can write there directly.
  void postServed(size_t chunk) {
    for (size_t i = 0; i < shares_.served.size(); ++i) {
      const ring::Part part = parts_.of(shares_.served[i], chunk);
      const Links links = fromServed(i);
      Primitives served(waiter_, transfer_, links, space_);
      if (served.postsReceives()) served.postReceive(part.begin, part.count, std::min(chunk, kChunksAhead));
    }
  }

  // Passes a chunk of every served rank on to the ranks of this host, and receives what these pass on. Returns false
  // after a failure: then a later chunk must not take the place of one that is missing.
  bool passOn(Primitives& locals, size_t chunk) {
    for (size_t turn = 0; turn < shares_.mostServed; ++turn) {
      if (turn < shares_.served.size()) {
        const ring::Part part = parts_.of(shares_.served[turn], chunk);
        const Links links = fromServed(turn);
        Primitives served(waiter_, transfer_, links, space_);
        served.recvCopySend(part.begin, part.count);
        if (served.failed()) return false;
      }
      for (int i = 0; i < local_.recvCount; ++i) {
        const std::vector<int>& theirs = shares_.servedByLocals[static_cast<size_t>(i)];
        if (turn < theirs.size()) receive(locals, i, theirs[turn], chunk);
      }
    }
    return !locals.failed();
  }

  // Sends every served rank the sum of a chunk over this host, and the other ranks of this host what they need to do the
  // same. Returns false after a failure, like passOn().
  bool sumServed(Primitives& locals, const Transfer& transfer, size_t chunk) {
    for (size_t turn = 0; turn < shares_.mostServed; ++turn) {
      for (int i = 0; i < local_.sendCount; ++i) {
        const std::vector<int>& theirs = shares_.servedByLocals[static_cast<size_t>(i)];
        if (turn < theirs.size()) send(locals, i, theirs[turn], chunk);
      }
      if (turn >= shares_.served.size()) continue;
      const ring::Part part = parts_.of(shares_.served[turn], chunk);
      const Links links{local_.recv, local_.recvCount, &links_.toServed[turn], 1, static_cast<int>(shares_.place)};
      Primitives sum(waiter_, transfer, links, space_);
      sum.recvReduceSend(part.begin, part.count);
      if (sum.failed()) return false;
    }
    return !locals.failed();
  }

  bool sendLocals(Primitives& locals, size_t chunk) {
    for (int i = 0; i < local_.sendCount; ++i) send(locals, i, shares_.locals[static_cast<size_t>(i)], chunk);
    return !locals.failed();
  }

  bool receiveLocals(Primitives& locals, size_t chunk) {
    for (int i = 0; i < local_.recvCount; ++i) receive(locals, i, shares_.locals[static_cast<size_t>(i)], chunk);
    return !locals.failed();
  }

  void send(Primitives& locals, int link, int rank, size_t chunk) {
    const ring::Part part = parts_.of(rank, chunk);
    locals.sendTo(link, part.begin, part.count);
  }

  void receive(Primitives& locals, int link, int rank, size_t chunk) {
    const ring::Part part = parts_.of(rank, chunk);
    locals.recvFrom(link, part.begin, part.count);
  }

  // Connections that receive from a served rank and send to the ranks of this host.
  Links fromServed(size_t index) const { return {&links_.fromServed[index], 1, local_.send, local_.sendCount, 0}; }

  Waiter& waiter_;
  const int rank_;
  const HostShares& shares_;
  const ShareLinks& links_;
  const Transfer& transfer_;
  const Parts parts_;
  uint8_t* const space_;
  Links local_, outward_, inward_;
};

}  // namespace jccl
