// One channel of a communicator: its connections to every peer, its place in ring and tree, its own wait policy.
//
// One thread at a time runs a channel, so that nothing in it needs a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/mapped_memory.h"
#include "collectives/coll_net.h"
#include "collectives/direct.h"
#include "collectives/hosts.h"
#include "collectives/ring.h"
#include "collectives/tree.h"
#include "engine/coll_net_setup.h"
#include "engine/operation.h"
#include "primitives/connection.h"
#include "primitives/host_primitives.h"
#include "primitives/wait.h"

namespace jccl {

inline constexpr int kMaxTreeChildren = 3;

class Channel {
 public:
  Channel(int index, int rank, int size, WaitControl& control);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Plans may be set before the connections exist.
  void setRing(const std::vector<int>& order);
  void setTree(int up, const std::vector<int>& down);

  // Which host every rank is on, numbered from 0; without it there is one.
  void setHosts(const std::vector<int>& hostOf);

  // The leaders of all hosts and this rank's place among them (CollNetSetup), after setHosts; `maxBytes` is the most that the
  // network does at a time.
  Status setCollNet(const CollNetSetup::Group& group, size_t maxBytes);
  // Whether an operation with one count can go that way; the same on all ranks.
  bool collNetFits(Algorithm algorithm, OperationCode code) const;
  // Null where this rank leads its host in none.
  CollNetGroup* ownCollNetGroup() const { return collNet_.own; }

  bool hasRing() const { return !ringOrder_.empty(); }
  bool hasTree() const { return treeSet_; }
  // Peers that ring and tree connect to, as (peer, sends, receives).
  struct Need {
    int peer;
    bool send;
    bool recv;
  };
  std::vector<Need> needs() const;

  SendConnection& sendTo(int peer) { return sends_[peer]; }
  RecvConnection& recvFrom(int peer) { return recvs_[peer]; }
  ProgressRecord& record() { return record_; }
  Waiter& waiter() { return waiter_; }
  size_t scratchBytes() const { return scratchBytes_.load(std::memory_order_relaxed); }  // by any thread

  // Runs this channel's share. Failures show in the wait control. What depends on the channel is set in `transfer`.
  void run(const Operation& operation, Transfer& transfer);

 private:
  template <Protocol P>
  void runWith(const Operation& operation, Transfer& transfer);
  template <Protocol P>
  void runRing(const Operation& operation, const Transfer& transfer);
  template <Protocol P>
  void runTree(const Operation& operation, const Transfer& transfer);
  template <Protocol P>
  void runDirect(const Operation& operation, const Transfer& transfer);
  template <Protocol P>
  void runByHosts(const Operation& operation, const Transfer& transfer);
  // What a rank exchanges in an operation by hosts: a leader with its host's other ranks, then with the other leaders in the
  // order of their hosts; another rank with its leader.
  struct HostLinks {
    std::array<RecvConnection*, kMaxFanout> recv{};
    std::array<SendConnection*, kMaxFanout> send{};
    int leader = 0;
    int members = 0;
    int peers = 0;
    int hostsBefore = 0;

    Links fromMembers() { return {recv.data(), members, nullptr, 0, 0}; }
    Links toMembers() { return {nullptr, 0, send.data(), members, 0}; }
    Links betweenLeaders() {
      return {recv.data() + members, peers - members, send.data() + members, peers - members, hostsBefore};
    }
  };
  HostLinks hostLinks(int root);
  template <Protocol P>
  void reduceToAllByHosts(HostLinks& hosts, const HostsPlan& plan, const Transfer& transfer, uint8_t* space);
  template <Protocol P>
  void runWithRootByHosts(HostLinks& hosts, const HostsPlan& plan, const Operation& operation, const Transfer& transfer,
                          uint8_t* space);
  template <Protocol P>
  void gatherByHosts(HostLinks& hosts, const Operation& operation, const Transfer& transfer, uint8_t* space);
  template <Protocol P>
  void scatterByHosts(HostLinks& hosts, const Operation& operation, const Transfer& transfer, uint8_t* space);

  int ranksOfChunk(Collective collective) const;
  struct CollNetLinks;
  CollNetLinks collNetLinks(bool chain, int leader);
  CollNetPlan collNetPlan(const Operation& operation, const Transfer& transfer, const CollNetLinks& links) const;
  template <Protocol P>
  void runCollNet(const Operation& operation, const Transfer& transfer);

  bool runsByHosts(const Operation& operation, const Transfer& transfer) const;
  ring::Part ranksOf(int host) const;
  int leaderOf(int host, int root) const;
  bool sendsZeroCopy(const Operation& operation) const;
  bool allNet() const;
  PartPlan partsOf(const Operation& operation) const;
  template <Protocol P>
  bool scratch(int links, const Transfer& transfer, uint8_t*& space);

  int index_;
  int rank_;
  int size_;
  std::vector<SendConnection> sends_;
  std::vector<RecvConnection> recvs_;

  std::vector<int> ringOrder_;  // [i]: the rank i places after this one
  int ringPosition_ = 0;
  std::vector<int> hostOf_;  // by rank
  int hosts_ = 1;
  bool hostsFollow_ = true;  // the ranks of each follow each other
  MappedMemory hostMemory_;  // the sum of a leader's host, where its output is smaller
  CollNetSetup::Group collNet_;
  size_t collNetMaxBytes_ = 0;
  bool treeSet_ = false;
  int treeUp_ = -1;
  std::vector<int> treeDown_;

  // Pointers into sends_ and recvs_, in the order in which the schedules see them.
  RecvConnection* ringRecv_ = nullptr;
  SendConnection* ringSend_ = nullptr;
  std::vector<RecvConnection*> downRecv_, directRecv_;
  std::vector<SendConnection*> downSend_, directSend_;
  RecvConnection* upRecv_ = nullptr;
  SendConnection* upSend_ = nullptr;

  MappedMemory scratchMemory_;
  std::atomic<size_t> scratchBytes_{0};
  ProgressRecord record_;
  Waiter waiter_;
};

}  // namespace jccl
