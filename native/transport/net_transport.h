// The network transport of one communicator: all its network connections, as the engine uses them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/progress_engine.h"
#include "base/status.h"
#include "primitives/connection.h"
#include "transport/net.h"
#include "transport/net_config.h"
#include "transport/net_error.h"
#include "transport/net_progress_engine.h"
#include "transport/progress_callback.h"
#include "transport/recv_proxy.h"
#include "transport/send_proxy.h"
#include "transport/user_memory.h"

namespace jccl {

// Makes a network whose objects run under the engine's lock. `controlEvents` watches sockets that listen or dial,
// `dataEvents` those that move data. An error states what this host lacks.
using NetMaker = std::function<Status(const NetConfig& config, EventSet& controlEvents, EventSet& dataEvents,
                                      std::unique_ptr<Net>* net)>;

// Use: create(), listen() (the info travels to the peers over the bootstrap), addPeer() for each rank that is reached
// by network, then sendConnection() and recvConnection() for each connection, in any order and at any time. A send
// connection is dialled when it is first used; a receive connection is made when the peer dials. The slots of both must
// outlive this object.
//
// poll(), waitForEvents(), kick(), failed() and error() may be called from any thread; all other methods by one thread
// at a time.
class NetTransport final : public ProgressEngine {
 public:
  // Uses sockets if `maker` is empty. The config that the maker receives lives as long as the transport.
  static Status create(const NetConfig& config, std::unique_ptr<NetTransport>* transport, const NetMaker& maker = {});
  ~NetTransport() override;
  // Closes and deletes the transport for its owner. If a network call never returns, the transport is kept for ever
  // instead.
  static void end(NetTransport* transport);

  // Listens on numeric addresses of this host. *info is opaque and at most NetListener::kMaxInfoBytes long.
  Status listen(const std::vector<std::string>& addresses, std::vector<uint8_t>* info);

  // Returns ok, or why the rank with this info cannot be reached, for instance for lack of a common address family.
  // Causes no traffic.
  Status probe(std::span<const uint8_t> info) const;

  // Sets the network devices of connections. Must be called before the first connection is made.
  void setPaths(const std::vector<NetPath>& paths);

  Status addPeer(int peer, std::span<const uint8_t> info);

  // Registers GPU memory that contains the deviceSlots of later connections, for the adapters that these connections
  // use. Must be called at most once, before the connections are made. After an error no GPU memory is registered.
  Status setDeviceMemory(const NetDeviceMemory& memory, const std::set<int>& adapters);

  // With `firstUse`, the connection is polled only after noteFirstUse() of *firstUse, which lives as long as this
  // object.
  Status sendConnection(int peer, int channel, const ConnectionMemory& memory, FirstUse** firstUse = nullptr);
  Status recvConnection(int peer, int channel, const ConnectionMemory& memory);

  // Makes a connection to `peer` on behalf of rank `from` of this host, over adapter number `adapter`. Its deviceSlots
  // are in `slots`, made by reachDeviceMemory(). If `ahead`, connectAhead() dials it; otherwise its first use does.
  Status forward(int from, int peer, int channel, int adapter, const ConnectionMemory& memory, NetMemory* slots,
                 bool ahead);
  Status reachDeviceMemory(const NetDeviceMemory& memory, const std::set<int>& adapters,
                           std::unique_ptr<NetMemory>* reached);
  // Returns the number of bytes sent on behalf of other ranks.
  uint64_t forwardedBytes();

  // Registers memory and allows `peer` to write into it over the receive connection of this channel. *exposed is what
  // the peer must know. Callbacks call this, which run under the engine's lock. The memory stays registered until
  // withdraw() with the number that this sets. An error means that the peer cannot write there.
  Status exposeLocked(int peer, int channel, void* address, size_t bytes, NetExposed* exposed, uint64_t* number);
  void withdraw(uint64_t number);

  // Runs the task under the lock under which callbacks run. On a network that is stuck, the task does not run.
  void run(const std::function<void()>& task);
  // Polls the callback like a connection. The transport keeps it alive.
  void addCallback(std::shared_ptr<ProgressCallback> callback);
  // Fails the transport because of an error of `peer` that its connections do not see. Any thread may call this.
  void fail(const Status& why, int peer) { errors_.set(why, peer); }

  // Returns the number of connections, in both directions, that are in use, so that every poll serves them.
  size_t active() { return engine_.active(); }

  // Dials these send connections (peer, channel), and those that forward() made with `ahead`, now instead of on first
  // use. Waits until all have been answered, so that a broken network is known before any rank relies on it.
  Status connectAhead(const std::vector<std::pair<int, int>>& connections);

  int poll() override;
  bool hasEvents() const override { return net_->hasEvents(); }
  void waitForEvents(int64_t nanos) override { engine_.waitForEvents(nanos); }
  uint64_t polls() const { return engine_.polls(); }
  void kick() override { engine_.kick(); }
  void addUserMemory(const void* address, size_t bytes, bool written) override;
  void clearUserMemory() override;
  // Keeps memory registered, beginning with its first use in an operation, until `hasItsPages` returns false: the pages
  // at its addresses have changed. Returns a number for dropUserMemory(), or 0 if nothing is kept, for example because
  // the network needs no registration.
  uint64_t keepUserMemory(void* address, size_t bytes, std::function<bool()> hasItsPages);
  void dropUserMemory(uint64_t number);
  void revoke() override;

  // failed() returns true after the first error of any connection. error() returns that error and the rank it is about,
  // or -1.
  bool failed() const override { return errors_.isSet(); }
  Status error(int* peer) const { return errors_.get(peer); }

  bool mayBlock() const override { return mayBlock_; }
  bool holds(std::thread::id thread) override { return isStuck() && net_->watch()->holds(thread); }

  // isStuck() returns true if a call of the network will never return; the transport has then failed. That call may use
  // its arguments for ever, so objects that were passed to keep() live as long as this transport.
  bool isStuck();
  void keep(std::shared_ptr<const void> kept) { kept_.push_back(std::move(kept)); }

  // Waits until everything published has been sent, for at most `flushNanos` (0 for an aborted communicator). Then
  // sends all peers a FIN and ends the thread. The destructor calls close(0).
  void close(int64_t flushNanos);

 private:
  // Accepts connections of peers.
  class Acceptor final : public ProgressCallback {
   public:
    explicit Acceptor(NetTransport& owner) : owner_(owner) {}
    int poll(int64_t nowNanos) override;
    int64_t nextDeadlineNanos() const override;

   private:
    NetTransport& owner_;
  };
  using Key = std::pair<int, int>;  // peer, channel

  explicit NetTransport(const NetConfig& config) : config_(config), acceptor_(*this) {}
  Status checkKey(int peer, int channel) const;
  SendProxy::Dial dial(NetRoute route, const ConnectionMemory& memory);
  void attach(RecvProxy& receiver, std::unique_ptr<NetRecvConnection> connection);
  // Polls until `done` returns true or the transport has failed. Returns false if the deadline passed first.
  bool pollUntil(const std::function<bool()>& done, int64_t deadlineNanos);
  // Drains all connections (see NetConnection::drain) until the deadline. Succeeds only if the peers close at about the
  // same time.
  void drain(int64_t deadlineNanos);
  // Calls each(connection) for all connections, including those that arrived before recvConnection().
  template <class Each>
  void forConnections(Each&& each);

  const NetConfig config_;
  NetErrorLatch errors_;
  NetProgressEngine engine_;
  std::unique_ptr<Net> net_;
  std::unique_ptr<NetListener> listener_;
  Acceptor acceptor_;
  UserMemory userMemory_;
  std::unique_ptr<NetMemory> deviceMemory_;
  std::map<uint64_t, std::unique_ptr<NetMemory>> exposed_;  // by number
  uint64_t nextExposed_ = 1;
  std::map<int, std::vector<uint8_t>> peers_;
  std::map<Key, std::unique_ptr<SendProxy>> senders_;
  std::vector<std::unique_ptr<SendProxy>> forwards_;  // proxies that send on behalf of other ranks
  std::map<Key, FirstUse*> dormant_;                  // senders that are polled only from their first use on
  std::map<Key, std::unique_ptr<RecvProxy>> receivers_;
  std::map<Key, std::unique_ptr<NetRecvConnection>> early_;  // connections that were accepted before recvConnection()
  bool mayBlock_ = false;                                    // calls of the network may block; see NetProgressEngine
  bool closed_ = false;
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace jccl

template <>
struct std::default_delete<jccl::NetTransport> {
  void operator()(jccl::NetTransport* transport) const { jccl::NetTransport::end(transport); }
};
