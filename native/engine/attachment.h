// What a part of JCCL adds to a communicator. docs/architecture.md explains parts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/networks.h"
#include "engine/staging.h"
#include "primitives/connection.h"

namespace jccl {

// One thread at a time may call these methods, except those of which the comment says otherwise. By default they do
// nothing.
class Attachment {
 public:
  virtual ~Attachment() = default;

  // Called before the connect information of this rank is sent, maybe more than once. Returns a number for the other
  // ranks of this host, which they receive with that information; 0 for none.
  virtual uint64_t announce(const Networks& /*networks*/) { return 0; }
  // Returns the memory of the connection to a peer on one channel if another rank moves its data; else null.
  virtual const ConnectionMemory* sendMemory(int /*peer*/, int /*channel*/) const { return nullptr; }
  // Called when all peers are connected. `network`: the network in use; null if there is none.
  virtual Status prepare(NetTransport* /*network*/) { return Status::ok(); }
  // Adds memory that kernels and the network use as long as the connections exist.
  virtual void addMemory(std::vector<std::shared_ptr<const void>>* /*all*/) const {}

  // Adds the counts of operations that this rank shares with others; called once, before startStaging().
  virtual void addCounts(StagingProxy::Sharing* /*sharing*/) {}
  // Start and stop threads that move data of kernels. `activity` exists until stopStaging().
  virtual Status startStaging(StagingActivity& /*activity*/) { return Status::ok(); }
  virtual void stopStaging() {}
  // Called after the last kernel of this rank.
  virtual void release() {}

  // Any thread may call the following methods.
  // Tells the ranks for which this rank moves data that it has ended, and why.
  virtual void end(const std::string& /*why*/) {}
  // Returns true if this rank's kernels must no longer wait for data.
  virtual bool failed() { return false; }
  // Returns the reason of a failure, or an empty string.
  virtual std::string error() const { return {}; }

  // Which ranks still use memory of this rank: none, only threads of this process (Here), or also other processes.
  enum class Users : uint8_t { None, Here, Elsewhere };
  virtual Users users() const { return Users::None; }
};

}  // namespace jccl
