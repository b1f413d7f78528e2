// Records which rank of which communicator uses which stream, so that ranks of one process cannot wait for each other
// for ever. Kernels of one stream run one after the other, and so do kernels of blocking streams and of the default
// stream. Streams also share hardware queues.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "base/status.h"
#include "cuda/runtime/device_api.h"

namespace jccl::device {

class StreamOwners {
 public:
  static StreamOwners& ofThisProcess() {
    static StreamOwners owners;
    return owners;
  }

  // Claims the stream for a rank. Returns an error with the remedy if kernels of another rank of the communicator would
  // wait for work on the stream.
  Status claim(int device, const StreamFacts& stream, const uint64_t token[2], int rank) {
    const std::lock_guard lock(mutex_);
    const auto key = std::tuple(device, stream.name.handle, token[0], token[1]);
    const auto known = owners_.find(key);
    if (known != owners_.end() && isAnother(known->second.stream.name, stream.name)) {
      owners_.erase(known);  // the stream that had this handle was destroyed
    } else if (known != owners_.end() && known->second.rank != rank) {
      return Status::invalid(
          describe(device, stream.name) + ": rank=" + std::to_string(known->second.rank) +
          " of this communicator uses it, and kernels of one stream wait for each other; give rank=" +
          std::to_string(rank) + " a stream of its own");
    } else if (known != owners_.end() && stream.name.id == 0) {
      return Status::ok();
    }
    for (const auto& [other, owner] : owners_) {
      const auto& [onDevice, handle, high, low] = other;
      if (onDevice != device || high != token[0] || low != token[1] || owner.rank == rank) continue;
      const bool wait = (stream.isDefault && owner.stream.blocking) || (stream.blocking && owner.stream.isDefault);
      if (wait) {
        return Status::invalid(describe(device, stream.name) + ": it and " + describe(device, owner.stream.name) +
                               " of rank=" + std::to_string(owner.rank) +
                               " are a default stream and a blocking one, whose kernels wait for each other; make "
                               "streams with cudaStreamNonBlocking (CU_STREAM_NON_BLOCKING)");
      }
    }
    owners_.insert_or_assign(key, Owner{rank, stream});
    return Status::ok();
  }

  void release(const uint64_t token[2], int rank) {
    const std::lock_guard lock(mutex_);
    std::erase_if(owners_, [&](const auto& entry) {
      return std::get<2>(entry.first) == token[0] && std::get<3>(entry.first) == token[1] && entry.second.rank == rank;
    });
  }

  // Returns the number of streams of a device that ranks of this process use.
  int countOn(int device) {
    const std::lock_guard lock(mutex_);
    std::set<uint64_t> streams;
    for (const auto& [key, owner] : owners_) {
      if (std::get<0>(key) == device) streams.insert(std::get<1>(key));
    }
    return static_cast<int>(streams.size());
  }

 private:
  struct Owner {
    int rank;
    StreamFacts stream;
  };

  // Returns true if two streams with one handle are different streams. A stream that was first seen during a capture
  // has no id.
  static bool isAnother(const StreamName& one, const StreamName& other) {
    return one.id != 0 && other.id != 0 && one.id != other.id;
  }
  static std::string describe(int device, const StreamName& stream) {
    return "stream=" + (stream.id != 0 ? std::to_string(stream.id) : "handle " + std::to_string(stream.handle)) +
           " device=" + std::to_string(device);
  }

  std::mutex mutex_;
  std::map<std::tuple<int, uint64_t, uint64_t, uint64_t>, Owner> owners_;  // by device, handle and token
};

}  // namespace jccl::device
