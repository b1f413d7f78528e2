// Which rank of which communicator uses which stream. Kernels of one stream run one after the other, so two ranks of a
// communicator on one stream would wait for each other for ever.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "base/status.h"

namespace jccl::device {

class StreamOwners {
 public:
  static StreamOwners& ofThisProcess() {
    static StreamOwners owners;
    return owners;
  }

  // `stream` is its streamId().
  Status claim(int device, uint64_t stream, const uint64_t token[2], int rank) {
    const std::lock_guard lock(mutex_);
    const auto [found, fresh] = owners_.try_emplace({device, stream, token[0], token[1]}, rank);
    if (fresh || found->second == rank) return Status::ok();
    return Status::invalid("stream=" + std::to_string(stream) + " device=" + std::to_string(device) +
                           ": rank=" + std::to_string(found->second) +
                           " of this communicator uses it, and kernels of one stream wait for each other; give rank=" +
                           std::to_string(rank) + " a stream of its own");
  }

  void release(const uint64_t token[2], int rank) {
    const std::lock_guard lock(mutex_);
    std::erase_if(owners_, [&](const auto& entry) {
      return std::get<2>(entry.first) == token[0] && std::get<3>(entry.first) == token[1] && entry.second == rank;
    });
  }

 private:
  std::mutex mutex_;
  std::map<std::tuple<int, uint64_t, uint64_t, uint64_t>, int> owners_;
};

}  // namespace jccl::device
