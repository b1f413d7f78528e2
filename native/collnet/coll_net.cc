#include "collnet/coll_net.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/limited_run.h"
#include "base/log.h"
#include "base/page.h"
#include "plugin/plugin_file.h"

namespace jccl {
namespace {

constexpr int64_t kCloseNanos = 5'000'000'000;

size_t wholePages(size_t bytes) { return (bytes + pageBytes() - 1) / pageBytes() * pageBytes(); }

// Runs a call of a plug-in that may never return, so `call` must own all that it uses.
Status runBounded(const std::string& what, int64_t nanos, std::function<Status()> call, bool* isStuck = nullptr) {
  const auto result = std::make_shared<Status>();
  bool isOver = false;
  const auto body = [result, call = std::move(call)] { *result = call(); };
  if (Status started = runWithin(nanos, "jccl-collnet", body, &isOver); !started) {
    return {started.code(), what + ": no thread to call it with: " + started.message()};
  }
  if (isOver) return *result;
  if (isStuck != nullptr) *isStuck = true;
  return Status::transport(what + " has not returned for millis=" + std::to_string(nanos / 1'000'000) +
                           "; is the switch reachable, and do all hosts run the plug-in?");
}

std::string describe(const plugin::CollNetPlugin& plugin) {
  return plugin::describePlugin("collnet", plugin.name(), plugin.file(), plugin.version());
}

}  // namespace

CollNetGroup::CollNetGroup(std::shared_ptr<plugin::CollNetPlugin> plugin, void* comm, int members, int64_t limitNanos)
    : plugin_(std::move(plugin)), comm_(comm), members_(members), limitNanos_(limitNanos), watch_(describe(*plugin_)) {}

bool CollNetGroup::isStuck() {
  if (!watch_.isStuck(monotonicNanos(), limitNanos_)) return false;
  if (!failed()) fail(watch_.error());
  return true;
}

CollNetGroup::~CollNetGroup() {
  // Operations in flight after a failure still use the memory. The memory is freed once the plug-in has closed the
  // group.
  struct Left {
    std::shared_ptr<plugin::CollNetPlugin> plugin;
    void* comm;
    void* registration;
    MappedMemory memory;
  };
  const auto left = std::make_shared<Left>(Left{plugin_, comm_, registration_, std::move(memory_)});
  logFailure("net", runBounded(describe(*plugin_) + ": closing a group, whose memory stays,", kCloseNanos, [left] {
               if (left->registration != nullptr)
                 logFailure("net", left->plugin->deregister(left->comm, left->registration));
               logFailure("net", left->plugin->closeColl(left->comm));
               left->memory = MappedMemory();
               return Status::ok();
             }));
}

void CollNetGroup::release() {
  if (registration_ != nullptr) {
    logFailure("net", watch_.around("deregMr", [&] { return plugin_->deregister(comm_, registration_); }));
  }
  registration_ = nullptr;
  memory_ = MappedMemory();
  slotBytes_ = recvOffset_ = 0;
}

Status CollNetGroup::reserve(size_t sendBytes, size_t recvBytes) {
  if (has(sendBytes, recvBytes)) return Status::ok();
  Status provided = provide(sendBytes, recvBytes);
  if (!provided) fail(provided);
  return provided;
}

Status CollNetGroup::provide(size_t sendBytes, size_t recvBytes) {
  const size_t send = wholePages(std::max(sendBytes, recvOffset_));
  const size_t recv = wholePages(std::max(recvBytes, slotBytes_ - recvOffset_));
  release();
  const size_t bytes = kSlots * (send + recv);
  if (Status mapped = MappedMemory::mapAnonymous(bytes, memory_); !mapped) return mapped;
  Status known =
      watch_.around("regMr", [&] { return plugin_->registerMemory(comm_, memory_.base(), bytes, &registration_); });
  if (!known) return known;
  slotBytes_ = send + recv;
  recvOffset_ = send;
  return Status::ok();
}

void CollNetGroup::allReduce(size_t slot, size_t count, DataType type, ReduceOp op) {
  begin(slot, {Kind::AllReduce, count, type, op, false, nullptr});
}

void CollNetGroup::allGather(size_t slot, size_t bytes) {
  begin(slot, {Kind::AllGather, bytes, DataType::Uint8, ReduceOp::Sum, false, nullptr});
}

void CollNetGroup::reduceScatter(size_t slot, size_t bytes, DataType type, ReduceOp op) {
  begin(slot, {Kind::ReduceScatter, bytes, type, op, false, nullptr});
}

void CollNetGroup::begin(size_t slot, const Operation& operation) {
  if (failed()) return;
  operations_[slot] = operation;
  waiting_.push_back(slot);
  if (Status moved = progress(); !moved) fail(moved);
}

Status CollNetGroup::issue(size_t slot) {
  Operation& one = operations_[slot];
  const plugin::CollNetPlugin::Data send{sendMemory(slot), registration_};
  const plugin::CollNetPlugin::Data recv{recvMemory(slot), registration_};
  switch (one.kind) {
    case Kind::AllReduce:
      return watch_.around("iallreduce", [&] {
        return plugin_->allReduce(comm_, send, recv, one.amount, one.type, one.op, &one.request);
      });
    case Kind::AllGather:
      return watch_.around("iallgather",
                           [&] { return plugin_->allGather(comm_, send, recv, one.amount, members_, &one.request); });
    case Kind::ReduceScatter:
      return watch_.around("ireducescatter", [&] {
        return plugin_->reduceScatter(comm_, send, recv, one.amount, members_, one.type, one.op, &one.request);
      });
  }
  return Status::internal("collnet: an unknown operation");
}

// Operations begin and end in order.
Status CollNetGroup::progress() {
  while (!waiting_.empty()) {
    const size_t slot = waiting_.front();
    if (Status issued = issue(slot); !issued) return issued;
    if (operations_[slot].request == nullptr) break;
    waiting_.pop_front();
    inFlight_.push_back(slot);
  }
  while (!inFlight_.empty()) {
    Operation& first = operations_[inFlight_.front()];
    bool done = false;
    Status tested = watch_.around("test", [&] { return plugin_->test(first.request, &done); });
    if (!tested) return tested;
    if (!done) break;
    first.request = nullptr;
    first.over = true;
    inFlight_.pop_front();
  }
  return Status::ok();
}

bool CollNetGroup::poll(size_t slot) {
  if (failed() || operations_[slot].over) return true;
  if (Status moved = progress(); !moved) fail(moved);
  return failed() || operations_[slot].over;
}

void CollNetGroup::fail(const Status& why) {
  {
    const std::lock_guard lock(mutex_);
    if (error_) error_ = why;
  }
  failed_.store(true, std::memory_order_release);
}

Status CollNetGroup::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

Status CollNet::open(const std::string& name, uint64_t commId, const CollNetLimits& limits,
                     std::unique_ptr<CollNet>* made) {
  const auto opened = std::make_shared<std::unique_ptr<CollNet>>();
  const Status result =
      runBounded("its init or a query of its devices", limits.openNanos, [name, commId, limits, opened] {
        std::shared_ptr<plugin::CollNetPlugin> plugin;
        if (Status found = plugin::openCollNetPlugin(name, &plugin); !found) return found;
        if (Status begun = plugin->init(commId); !begun) return begun;
        std::unique_ptr<CollNet> net(new CollNet(std::move(plugin), limits));
        if (Status read = net->readOffer(); !read) return read;
        *opened = std::move(net);
        return Status::ok();
      });
  if (!result) return {result.code(), "collnet plug-in \"" + name + "\": " + result.message()};
  *made = std::move(*opened);
  return Status::ok();
}

Status CollNet::readOffer() {
  int count = 0;
  if (Status counted = plugin_->devices(&count); !counted) return counted;
  if (count < 1 || count > CollNetOffer::kMaxDevices) {
    return {Code::System, "devices=" + std::to_string(count) + ", expected 1 to " +
                              std::to_string(CollNetOffer::kMaxDevices) + "; does a switch here reduce?"};
  }
  offer_.plugin = plugin_->name();
  offer_.gathers = plugin_->gathers();
  offer_.maxBytes = SIZE_MAX;
  for (int i = 0; i < count; ++i) {
    plugin::DeviceProperties device;
    if (Status read = plugin_->properties(i, &device); !read) return read;
    if (!device.reachesHost || device.maxCollectiveBytes == 0) continue;
    logMessage(LogLevel::Info, "net",
               "collnet plugin=" + plugin_->name() + " file=" + plugin_->file() + " version=" +
                   std::to_string(plugin_->version()) + " device=" + device.name + " pci=" + device.pciPath +
                   " speed_mbps=" + std::to_string(device.speedMbps) + " gathers=" + (offer_.gathers ? "yes" : "no"));
    device.number = i;
    devices_.push_back(device);
    offer_.maxBytes = std::min(offer_.maxBytes, device.maxCollectiveBytes);
    offer_.speedMbps += static_cast<uint32_t>(device.speedMbps);
    offer_.latencyMicros = std::max(offer_.latencyMicros, device.latencyMicros);
  }
  if (devices_.empty()) return {Code::System, "none of its devices reaches memory of the host"};
  offer_.devices = static_cast<int>(devices_.size());
  for (int type = 0; type < kDataTypeCount; ++type) {
    for (int op = 0; op < kReduceOpCount; ++op) {
      bool supported = false;
      Status asked = plugin_->supports(static_cast<DataType>(type), static_cast<ReduceOp>(op), &supported);
      if (!asked) return asked;
      if (supported) offer_.reductions[static_cast<size_t>(type)] |= static_cast<uint8_t>(1 << op);
    }
  }
  return Status::ok();
}

CollNet::~CollNet() {
  for (Place& place : places_) {
    if (place.group != nullptr && place.group->isStuck()) {
      logFailure("net", place.group->error());
      leaveBehind(place.group.release());
      stuck_ = true;
    }
    place.group.reset();
    closeListener(place);
  }
  if (stuck_) return;
  logFailure("net", bounded("finalize", kCloseNanos, [plugin = plugin_] {
               plugin->finalize();
               return Status::ok();
             }));
}

Status CollNet::bounded(const char* function, int64_t nanos, std::function<Status()> call) {
  return runBounded(describe(*plugin_) + ": " + function, nanos, std::move(call), &stuck_);
}

void CollNet::closeListener(Place& place) {
  if (place.listener == nullptr || stuck_) return;
  logFailure("net",
             bounded("closeListen", kCloseNanos, [plugin = plugin_, listener = std::exchange(place.listener, nullptr)] {
               return plugin->closeListen(listener);
             }));
}

Status CollNet::listen(int group, CollNetHandle* handle) {
  if (group < 0 || group >= offer_.devices) {
    return Status::invalid("group=" + std::to_string(group) +
                           ", expected a group below devices=" + std::to_string(offer_.devices));
  }
  const auto at = static_cast<size_t>(group);
  if (places_.size() <= at) places_.resize(at + 1);
  Place& place = places_[at];
  closeListener(place);
  struct Made {
    CollNetHandle handle{};
    void* listener = nullptr;
  };
  const auto made = std::make_shared<Made>();
  Status listening = bounded("listen", limits_.openNanos, [plugin = plugin_, device = devices_[at].number, made] {
    return plugin->listen(device, made->handle.data(), &made->listener);
  });
  if (!listening) return listening;
  *handle = made->handle;
  place.listener = made->listener;
  return Status::ok();
}

Status CollNet::connect(int group, std::span<const CollNetHandle> handles, int member, int64_t timeoutNanos) {
  const auto at = static_cast<size_t>(group);
  const auto size = static_cast<int>(handles.size());
  if (group < 0 || at >= places_.size() || places_[at].listener == nullptr || member < 0 || member >= size) {
    return Status::invalid("group=" + std::to_string(group) + " member=" + std::to_string(member) +
                           " members=" + std::to_string(size) + ", expected a group that listens, and a member of it");
  }
  Place& place = places_[at];
  struct Call {
    std::shared_ptr<plugin::CollNetPlugin> plugin;
    std::vector<CollNetHandle> handles;
    int member;
    void* listener;
    void* comm = nullptr;
  };
  const auto call =
      std::make_shared<Call>(Call{plugin_, {handles.begin(), handles.end()}, member, place.listener, nullptr});
  Status connected = bounded("connect", timeoutNanos, [call] {
    std::vector<void*> pointers;
    for (CollNetHandle& one : call->handles) pointers.push_back(one.data());
    return call->plugin->connect(pointers, call->member, call->listener, &call->comm);
  });
  closeListener(place);
  if (!connected) return connected;
  place.group = std::make_unique<CollNetGroup>(plugin_, call->comm, size, limits_.callNanos);
  return Status::ok();
}

CollNetGroup* CollNet::group(int number) const {
  const auto at = static_cast<size_t>(number);
  return number < 0 || at >= places_.size() ? nullptr : places_[at].group.get();
}

Status CollNet::error() const {
  for (const Place& place : places_) {
    if (place.group == nullptr || !place.group->failed()) continue;
    return place.group->error();
  }
  return Status::ok();
}

}  // namespace jccl
