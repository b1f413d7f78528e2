// All network connections of one communicator: what the engine calls.
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

// Makes a network whose objects run under the engine's lock: the first set watches what listens and dials, the second
// what moves data. An error states what is missing here.
using NetMaker = std::function<Status(const NetConfig& config, EventSet& controlEvents, EventSet& dataEvents,
                                      std::unique_ptr<Net>* net)>;

// Life: create, listen (the info goes to the peers over the bootstrap), addPeer for each rank reached by network, then
// sendConnection and recvConnection for each connection, in any order and at any time. Send connections are dialled
// when first used; receive connections come when the peer dials. The slots of both must outlive this object.
//
// poll(), waitForEvents(), kick(), failed() and error() may be called from any thread; the rest from one at a time.
class NetTransport final : public ProgressEngine {
 public:
  // Over sockets, unless another network is given. The config that the maker gets lives as long as the transport.
  static Status create(const NetConfig& config, std::unique_ptr<NetTransport>* transport, const NetMaker& maker = {});
  ~NetTransport() override;
  // What its owner ends it with: closes and deletes it, unless a call that never returns holds it; then it stays for ever.
  static void end(NetTransport* transport);

  // Numeric addresses of this host. *info is opaque and at most NetListener::kMaxInfoBytes.
  Status listen(const std::vector<std::string>& addresses, std::vector<uint8_t>* info);

  // Ok, or why the rank with this info cannot be reached (no common address family, for instance). No traffic.
  Status probe(std::span<const uint8_t> info) const;

  // The devices by which connections go; before the first one is made.
  void setPaths(const std::vector<NetPath>& paths);

  Status addPeer(int peer, std::span<const uint8_t> info);

  // Memory of a GPU in which connections have their deviceSlots, and the adapters that these go by. Once, before them; on an
  // error there is none.
  Status setDeviceMemory(const NetDeviceMemory& memory, const std::set<int>& adapters);

  // With `firstUse` the connection is polled only once that has been called; it lives as long as this object.
  Status sendConnection(int peer, int channel, const ConnectionMemory& memory, FirstUse** firstUse = nullptr);
  Status recvConnection(int peer, int channel, const ConnectionMemory& memory);

  // Sends for another rank of this host: a connection in its name, to a peer of this one, by an adapter with this number. Its
  // deviceSlots are in `slots`, made by reachDeviceMemory. With `ahead` connectAhead makes it, else its first use.
  Status forward(int from, int peer, int channel, int adapter, const ConnectionMemory& memory, NetMemory* slots,
                 bool ahead);
  Status reachDeviceMemory(const NetDeviceMemory& memory, const std::set<int>& adapters,
                           std::unique_ptr<NetMemory>* reached);
  // What has been sent for other ranks.
  uint64_t forwardedBytes();

  // How many connections, in either direction, every poll serves: those in use.
  size_t active() { return engine_.active(); }

  // Makes these send connections (peer, channel) now, instead of when they are first used, and those of others that asked for
  // it, and waits until all have been answered, so that a broken network is known before any rank relies on it.
  Status connectAhead(const std::vector<std::pair<int, int>>& connections);

  int poll() override;
  bool hasEvents() const override { return net_->hasEvents(); }
  void waitForEvents(int64_t nanos) override { engine_.waitForEvents(nanos); }
  void kick() override { engine_.kick(); }
  void addUserMemory(const void* address, size_t bytes, bool written) override;
  void clearUserMemory() override;
  // Keeps memory registered, from its first use in an operation on, as long as `hasItsPages` says that its addresses show the
  // same pages; for a network that needs that. Returns its number for dropUserMemory, or 0: there is nothing to keep.
  uint64_t keepUserMemory(void* address, size_t bytes, std::function<bool()> hasItsPages);
  void dropUserMemory(uint64_t number);
  void revoke() override;

  // The first error of any connection; the rank it is about, or -1.
  bool failed() const override { return errors_.isSet(); }
  Status error(int* peer) const { return errors_.get(peer); }

  bool mayBlock() const override { return mayBlock_; }
  bool holds(std::thread::id thread) override { return isStuck() && net_->watch()->holds(thread); }

  // Whether a call of the network will never return; it has failed then. What it was given stays with it: `kept` as well.
  bool isStuck();
  void keep(std::shared_ptr<const void> kept) { kept_.push_back(std::move(kept)); }

  // Waits until everything published has left (at most so long; 0 for an aborted communicator), sends all
  // peers a FIN and ends the thread. The destructor does it with 0.
  void close(int64_t flushNanos);

 private:
  // Lets connections in.
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
  // As the engine does; on a network that is stuck nothing runs.
  void run(const std::function<void()>& task);
  Status checkKey(int peer, int channel) const;
  SendProxy::Dial dial(NetRoute route, const ConnectionMemory& memory);
  void attach(RecvProxy& receiver, std::unique_ptr<NetRecvConnection> connection);
  // Until it is done, or has failed; false: the time is up.
  bool pollUntil(const std::function<bool()>& done, int64_t deadlineNanos);
  // Leaves nothing in flight, where the peers close at this time, too.
  void drain(int64_t deadlineNanos);
  // each(connection), also those that nobody receives from.
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
  std::map<int, std::vector<uint8_t>> peers_;
  std::map<Key, std::unique_ptr<SendProxy>> senders_;
  std::vector<std::unique_ptr<SendProxy>> forwards_;  // for other ranks
  std::map<Key, FirstUse*> dormant_;                  // senders that are polled from their first use on
  std::map<Key, std::unique_ptr<RecvProxy>> receivers_;
  std::map<Key, std::unique_ptr<NetRecvConnection>> early_;  // came before recvConnection()
  bool mayBlock_ = false;                                    // see NetProgressEngine
  bool closed_ = false;
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace jccl

template <>
struct std::default_delete<jccl::NetTransport> {
  void operator()(jccl::NetTransport* transport) const { jccl::NetTransport::end(transport); }
};
