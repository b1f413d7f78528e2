#include "test/faulty_net.h"

#include <map>

#include "test/faulty_connections.h"

namespace jccl::test {

uint64_t SeededRandom::next() {
  state_ += 0x9e3779b97f4a7c15u;
  return mix(state_);
}

// Dialled connections that wait for the listener of their rank.
struct Arrivals {
  std::mutex mutex;
  // Each connection is paired with the earliest time in ns at which the listener can accept it.
  std::vector<std::pair<int64_t, std::shared_ptr<Wire>>> waiting;
  WakeEvent wake;
};

struct FaultyNetwork::State {
  explicit State(const NetFaults& faults) : faults(faults) {}
  const NetFaults faults;
  Counters counters;
  std::mutex mutex;
  std::map<int, std::shared_ptr<Arrivals>> listeners;  // by rank
};

namespace {

class FaultyListener final : public NetListener {
 public:
  FaultyListener(std::shared_ptr<FaultyNetwork::State> state, int rank, std::shared_ptr<WakeEvent> wake, Alarm& alarm,
                 EventSet& controlEvents)
      : state_(std::move(state)), rank_(rank), wake_(std::move(wake)), alarm_(alarm), controlEvents_(controlEvents) {
    info_.assign(reinterpret_cast<const uint8_t*>(&rank), reinterpret_cast<const uint8_t*>(&rank + 1));
  }
  ~FaultyListener() override {
    controlEvents_.remove(arrivals_->wake.fd());
    {
      const std::lock_guard lock(state_->mutex);
      state_->listeners.erase(rank_);
    }
    const std::lock_guard lock(arrivals_->mutex);
    for (const auto& [when, wire] : arrivals_->waiting) {
      const std::lock_guard wireLock(wire->mutex);
      wire->cut(monotonicNanos());
    }
  }

  Status open() {
    if (Status added = controlEvents_.add(arrivals_->wake.fd(), &arrivals_->wake); !added) return added;
    const std::lock_guard lock(state_->mutex);
    state_->listeners[rank_] = arrivals_;
    return Status::ok();
  }

  const std::vector<uint8_t>& info() const override { return info_; }

  int progress(int64_t now) override {
    now_ = now;
    return 0;
  }

  Status accept(NetRoute* route, std::unique_ptr<NetRecvConnection>* connection) override {
    const std::lock_guard lock(arrivals_->mutex);
    auto& waiting = arrivals_->waiting;
    const auto ready = std::find_if(waiting.begin(), waiting.end(), [this](const auto& w) { return w.first <= now_; });
    if (ready == waiting.end()) return Status::ok();
    const std::shared_ptr<Wire> wire = std::move(ready->second);
    waiting.erase(ready);
    *route = wire->route;
    *connection = std::make_unique<FaultyRecvConnection>(wire, alarm_);
    const std::lock_guard wireLock(wire->mutex);
    wire->accepted = true;
    wire->receiverEvents = wake_;
    wire->ringBoth();
    return Status::ok();
  }

  int64_t nextDeadlineNanos() const override {
    const std::lock_guard lock(arrivals_->mutex);
    int64_t next = kNever;
    for (const auto& [when, wire] : arrivals_->waiting) next = std::min(next, when);
    return next;
  }

 private:
  const std::shared_ptr<FaultyNetwork::State> state_;
  const int rank_;
  const std::shared_ptr<WakeEvent> wake_;
  Alarm& alarm_;
  EventSet& controlEvents_;
  const std::shared_ptr<Arrivals> arrivals_ = std::make_shared<Arrivals>();
  std::vector<uint8_t> info_;
  int64_t now_ = 0;
};

class FaultyNet final : public Net {
 public:
  FaultyNet(std::shared_ptr<FaultyNetwork::State> state, int rank, EventSet& controlEvents, EventSet& dataEvents)
      : state_(std::move(state)), rank_(rank), controlEvents_(controlEvents), dataEvents_(dataEvents) {
    devices_.push_back({"simulated", "", "", 0, 1, 0, 0, static_cast<uint8_t>(NetPointer::Host)});
  }
  ~FaultyNet() override {
    dataEvents_.remove(wake_->fd());
    dataEvents_.remove(alarm_.fd());
  }

  Status open() {
    if (Status added = dataEvents_.add(wake_->fd(), wake_.get()); !added) return added;
    return dataEvents_.add(alarm_.fd(), &alarm_);
  }

  const char* name() const override { return "faulty"; }
  const std::vector<NetDevice>& devices() const override { return devices_; }

  Status listen(const std::vector<std::string>&, std::unique_ptr<NetListener>* listener) override {
    auto made = std::make_unique<FaultyListener>(state_, rank_, wake_, alarm_, controlEvents_);
    if (Status opened = made->open(); !opened) return opened;
    *listener = std::move(made);
    return Status::ok();
  }

  Status connect(const NetRoute& route, std::span<const uint8_t> listenerInfo,
                 std::unique_ptr<NetSendConnection>* connection) override {
    if (Status known = reachable(listenerInfo); !known) return known;
    const std::lock_guard lock(state_->mutex);
    const auto listener = state_->listeners.find(route.to);
    if (listener == state_->listeners.end()) {
      return Status::transport("net: rank " + std::to_string(route.to) + ": no process listens there [simulated]");
    }
    auto wire = std::make_shared<Wire>(state_->faults, route, state_->counters);
    wire->senderEvents = wake_;
    const int64_t now = monotonicNanos();
    const int64_t letInAt = now + wire->delay();
    *connection = std::make_unique<FaultySendConnection>(wire, alarm_, letInAt + wire->delay());
    const std::lock_guard arriving(listener->second->mutex);
    listener->second->waiting.emplace_back(letInAt, std::move(wire));
    listener->second->wake.notify();
    return Status::ok();
  }

  Status reachable(std::span<const uint8_t> listenerInfo) const override {
    if (listenerInfo.size() == sizeof(int)) return Status::ok();
    return Status::transport("net: bytes=" + std::to_string(listenerInfo.size()) + ", expected 4 [simulated]");
  }

  bool needsRegisteredMemory() const override { return state_->faults.registers; }

  Status registerMemory(void* address, size_t bytes, NetAccess access, std::unique_ptr<NetMemory>* memory) override {
    *memory = std::make_unique<SimulatedMemory>(address, bytes, access, state_->counters, state_);
    return Status::ok();
  }

  Status registerDeviceMemory(const NetDeviceMemory& what, const std::set<int>& adapters,
                              std::unique_ptr<NetMemory>* memory) override {
    if (!state_->faults.reachesDevices) return Net::registerDeviceMemory(what, adapters, memory);
    *memory =
        std::make_unique<SimulatedMemory>(what.address, what.bytes, NetAccess::Write, state_->counters, state_, true);
    return Status::ok();
  }

 private:
  const std::shared_ptr<FaultyNetwork::State> state_;
  const int rank_;
  EventSet& controlEvents_;
  EventSet& dataEvents_;
  const std::shared_ptr<WakeEvent> wake_ = std::make_shared<WakeEvent>();
  Alarm alarm_;
  std::vector<NetDevice> devices_;
};

}  // namespace

FaultyNetwork::FaultyNetwork(const NetFaults& faults) : state_(std::make_shared<State>(faults)) {}

NetMaker FaultyNetwork::maker() const {
  return [state = state_](const NetConfig& config, EventSet& controlEvents, EventSet& dataEvents,
                          std::unique_ptr<Net>* net) {
    auto made = std::make_unique<FaultyNet>(state, config.rank, controlEvents, dataEvents);
    if (Status opened = made->open(); !opened) return opened;
    *net = std::move(made);
    return Status::ok();
  };
}

uint64_t FaultyNetwork::losses() const { return state_->counters.losses; }
uint64_t FaultyNetwork::messages() const { return state_->counters.messages; }
uint64_t FaultyNetwork::overtaken() const { return state_->counters.overtaken; }
uint64_t FaultyNetwork::inParts() const { return state_->counters.inParts; }
uint64_t FaultyNetwork::atPostedAddress() const { return state_->counters.atPostedAddress; }
uint64_t FaultyNetwork::flushed() const { return state_->counters.flushed; }
int64_t FaultyNetwork::registered() const { return state_->counters.registered; }

}  // namespace jccl::test
