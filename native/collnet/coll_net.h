// CollNet: collective operations that the network executes. A group has one rank of each host. A communicator has one
// group for each device of the plug-in that a host uses.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/call_watch.h"
#include "base/mapped_memory.h"
#include "base/status.h"
#include "base/types.h"
#include "collnet/coll_net_offer.h"
#include "collnet/collnet_library.h"
#include "plugin/net_abi.h"

namespace jccl {

using CollNetHandle = std::array<uint8_t, plugin::kHandleBytes>;

// Time limits for calls of a plug-in.
struct CollNetLimits {
  int64_t openNanos;  // limit for opening the plug-in, and for making a handle
  int64_t callNanos;  // limit for each call of a group during an operation
};

// This rank's place in one group. Operations begin in slots, each with memory to send from and to receive into. All
// members begin the same operations in the same order. holds(), failed() and error() may be called from any thread; all
// other methods by one thread at a time, which can be left behind (CallWatch).
class CollNetGroup {
 public:
  // Number of operations that can be in flight.
  static constexpr size_t kSlots = 4;

  CollNetGroup(std::shared_ptr<plugin::CollNetPlugin> plugin, void* comm, int members, int64_t limitNanos);
  // Takes bounded time; resources that the plug-in does not release in that time stay allocated.
  ~CollNetGroup();
  CollNetGroup(const CollNetGroup&) = delete;
  CollNetGroup& operator=(const CollNetGroup&) = delete;

  int members() const { return members_; }

  // Provides at least this much memory in each slot. No operation may be in flight. After an error the group has
  // failed.
  Status reserve(size_t sendBytes, size_t recvBytes);
  bool has(size_t sendBytes, size_t recvBytes) const {
    return sendBytes <= recvOffset_ && recvBytes <= slotBytes_ - recvOffset_;
  }
  uint8_t* sendMemory(size_t slot) { return memory_.base() + slot * slotBytes_; }
  uint8_t* recvMemory(size_t slot) { return sendMemory(slot) + recvOffset_; }

  void allReduce(size_t slot, size_t count, DataType type, ReduceOp op);
  // Gathers `bytes` bytes of each member.
  void allGather(size_t slot, size_t bytes);
  void reduceScatter(size_t slot, size_t bytes, DataType type, ReduceOp op);

  // Advances all operations without waiting. Returns true if the slot's operation is over: it has results, or the group
  // has failed.
  bool poll(size_t slot);

  // Returns true if a call has not returned in time and holds this thread for ever. The group has then failed, and is
  // never destroyed.
  bool holds(std::thread::id thread) { return isStuck() && watch_.holds(thread); }
  bool isStuck();

  bool failed() const { return failed_.load(std::memory_order_acquire); }
  Status error() const;

 private:
  enum class Kind : uint8_t { AllReduce, AllGather, ReduceScatter };
  struct Operation {
    Kind kind = Kind::AllReduce;
    size_t amount = 0;
    DataType type = DataType::Uint8;
    ReduceOp op = ReduceOp::Sum;
    bool over = true;
    void* request = nullptr;
  };

  void begin(size_t slot, const Operation& operation);
  Status provide(size_t sendBytes, size_t recvBytes);
  Status issue(size_t slot);
  Status progress();
  void fail(const Status& why);
  void release();

  const std::shared_ptr<plugin::CollNetPlugin> plugin_;
  void* const comm_;
  const int members_;
  const int64_t limitNanos_;
  CallWatch watch_;
  MappedMemory memory_;
  void* registration_ = nullptr;
  size_t slotBytes_ = 0;
  size_t recvOffset_ = 0;
  std::array<Operation, kSlots> operations_;
  std::deque<size_t> waiting_;  // slots whose operations the plug-in has not accepted
  std::deque<size_t> inFlight_;

  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;  // guards error_
  Status error_;
};

// A communicator's plug-in and its groups. For one thread at a time, except error().
class CollNet {
 public:
  // Opens the plug-in. An error states in one sentence why CollNet cannot be used.
  static Status open(const std::string& plugin, uint64_t commId, const CollNetLimits& limits,
                     std::unique_ptr<CollNet>* made);
  ~CollNet();
  CollNet(const CollNet&) = delete;
  CollNet& operator=(const CollNet&) = delete;

  const CollNetOffer& offer() const { return offer_; }
  // Returns the devices that can access host memory. The device at index i belongs to group i.
  const std::vector<plugin::DeviceProperties>& devices() const { return devices_; }

  // Makes the handle by which the other members connect to this rank in a group.
  Status listen(int group, CollNetHandle* handle);
  // Makes the group, in bounded time. `handles` contains the handles of the group's members; this rank has index
  // `member` in it.
  Status connect(int group, std::span<const CollNetHandle> handles, int member, int64_t timeoutNanos);
  // Returns null if this rank is no member of the group.
  CollNetGroup* group(int number) const;

  // Returns the error of a group that has failed, or ok.
  Status error() const;

 private:
  struct Place {
    void* listener = nullptr;
    std::unique_ptr<CollNetGroup> group;
  };
  CollNet(std::shared_ptr<plugin::CollNetPlugin> plugin, const CollNetLimits& limits)
      : plugin_(std::move(plugin)), limits_(limits) {}
  Status readOffer();
  Status bounded(const char* function, int64_t nanos, std::function<Status()> call);
  void closeListener(Place& place);

  const std::shared_ptr<plugin::CollNetPlugin> plugin_;
  const CollNetLimits limits_;
  CollNetOffer offer_;
  std::vector<plugin::DeviceProperties> devices_;
  std::vector<Place> places_;
  bool stuck_ = false;  // a call of the plug-in has not returned in time
};

}  // namespace jccl
