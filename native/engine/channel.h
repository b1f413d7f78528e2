// One channel of a communicator: its connections to all peers, its place in the ring and the tree, and its waiter.
//
// Only one thread at a time runs a channel, so a channel needs no lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/mapped_memory.h"
#include "collectives/direct.h"
#include "collectives/hosts.h"
#include "collectives/ring.h"
#include "collectives/tree.h"
#include "engine/added_schedule.h"
#include "engine/operation.h"
#include "engine/rank_hosts.h"
#include "engine/round_schedule.h"
#include "engine/share_schedules.h"
#include "primitives/connection.h"
#include "primitives/host_primitives.h"
#include "primitives/wait.h"
#include "primitives/wire_primitives.h"

namespace jccl {

inline constexpr int kMaxTreeChildren = 3;

class Channel {
 public:
  Channel(int index, int rank, int size, WaitControl& control);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // The ring and the tree may be set before the connections exist.
  void setRing(const std::vector<int>& order);
  void setTree(int up, const std::vector<int>& down);

  // Sets the hosts of all ranks. Without this call all ranks are on one host.
  void setHosts(RankHosts hosts);
  const RankHosts& hosts() const { return hosts_; }

  // Sets the schedule of all algorithms other than ring, tree and direct; null removes it.
  void add(std::unique_ptr<AddedSchedule> schedule) { added_ = std::move(schedule); }
  // Returns null if there is none.
  const AddedSchedule* added() const { return added_.get(); }

  int index() const { return index_; }
  int rank() const { return rank_; }
  int size() const { return size_; }

  bool hasRing() const { return !ringOrder_.empty(); }
  bool hasTree() const { return treeSet_; }
  // A peer with which the ring or the tree needs a connection: to send to it, to receive from it, or both.
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
  size_t scratchBytes() const { return scratchBytes_.load(std::memory_order_relaxed); }  // any thread may call this

  // Runs this channel's share of the operation. Sets the fields of `transfer` that depend on the channel. A failure is
  // recorded in the wait control.
  void run(const Operation& operation, Transfer& transfer);

  // Returns true if run() executes an all-to-all with equal counts, on one channel. All ranks get the same answer.
  bool exchangesByHosts(const Operation& operation) const;

  // Sets `space` to scratch memory for chunks of LL and LL128: one slice of each of `links` receive connections, and one
  // slice to send. Returns false, and records the failure, if there is no memory. Defined in channel_scratch.h.
  template <Protocol P>
  bool scratch(int links, const Transfer& transfer, uint8_t*& space);
  // Sets `space` to scratch memory of at least `bytes` bytes. Returns false, and records the failure, if there is none.
  bool scratch(size_t bytes, uint8_t*& space);

 private:
  template <class Primitives>
  void runWith(const Operation& operation, Transfer& transfer);
  template <class Primitives>
  void runRing(const Operation& operation, const Transfer& transfer);
  template <class Primitives>
  void runTree(const Operation& operation, const Transfer& transfer);
  template <class Primitives>
  void runDirect(const Operation& operation, const Transfer& transfer);
  template <class Primitives>
  void runByHosts(const Operation& operation, const Transfer& transfer);
  // A rank's connections in an operation by hosts (collectives/hosts.h). For a leader: first the other ranks of its
  // host, then the other leaders in the order of their hosts. For any other rank: only its leader.
  struct HostLinks {
    std::array<RecvConnection*, kMaxFanout> recv{};
    std::array<SendConnection*, kMaxFanout> send{};
    int leader = 0;
    int members = 0;
    int peers = 0;
    int hostsBefore = 0;

    Links fromMembers() { return {recv.data(), members, nullptr, 0, 0}; }
    Links toMembers() { return {nullptr, 0, send.data(), members, 0}; }
    Links all() { return {recv.data(), peers, send.data(), peers, 0}; }
    Links betweenLeaders() {
      return {recv.data() + members, peers - members, send.data() + members, peers - members, hostsBefore};
    }
  };
  // `alongTree`: a leader's links lead only to the leaders below it in a HostTree.
  HostLinks hostLinks(int root, bool alongTree);
  void add(int peer, HostLinks& links);
  HostLinks linksInside();  // to the other ranks of this rank's host, in rank order
  template <class Primitives>
  void runByLeaders(const Operation& operation, const Transfer& transfer);
  template <class Primitives>
  void reduceToAllByHosts(HostLinks& hosts, const HostsPlan& plan, const Transfer& transfer, uint8_t* space);
  template <class Primitives>
  void reduceToAllInRounds(HostLinks& hosts, const HostsPlan& plan, const Transfer& transfer, uint8_t* space);
  template <class Primitives>
  RoundSchedule<Primitives> roundsOf(const HostLinks& hosts, uint8_t* space);
  template <class Primitives>
  void runWithRootByHosts(HostLinks& hosts, const HostsPlan& plan, const Operation& operation, const Transfer& transfer,
                          bool alongTree, uint8_t* space);
  template <class Primitives>
  void gatherByHosts(HostLinks& hosts, const Operation& operation, const Transfer& transfer, bool inRounds,
                     uint8_t* space);
  template <class Primitives>
  void scatterByHosts(HostLinks& hosts, const Operation& operation, const Transfer& transfer, bool inRounds,
                      uint8_t* space);
  template <class Primitives>
  void exchangeByHosts(HostLinks& hosts, const Operation& operation, const Transfer& whole, uint8_t* space);
  template <class Primitives>
  void exchangeByShares(const Operation& operation, const Transfer& transfer, uint8_t* space);

  bool reserve(size_t bytes, MappedMemory& memory);
  size_t sliceCount(const Choice& choice, Protocol protocol, size_t elementBytes) const;
  template <class Primitives>
  bool scratchOf(int links, const Transfer& transfer, uint8_t*& space);
  bool runsByHosts(const Operation& operation) const;
  bool runsByShares(const Operation& operation, const Transfer& transfer) const;
  bool runsInRounds(const Operation& operation, const Transfer& transfer) const;
  int leaderOf(int host, int root) const;
  bool sendsZeroCopy(const Operation& operation) const;
  bool allNet() const;
  PartPlan partsOf(const Operation& operation) const;

  int index_;
  int rank_;
  int size_;
  std::vector<SendConnection> sends_;
  std::vector<RecvConnection> recvs_;

  std::vector<int> ringOrder_;  // [i]: the rank that is i places after this rank in the ring
  int ringPosition_ = 0;
  RankHosts hosts_;
  // empty if there is one host, or more ranks than a direct operation may have
  HostShares shares_;
  ShareLinks shareLinks_;
  // used by a leader: in a reduce-scatter for the sum of its host's inputs, in an all-to-all for what crosses hosts
  MappedMemory hostMemory_;
  std::unique_ptr<AddedSchedule> added_;
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
