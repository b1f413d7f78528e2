// Offers a descriptor of memory other than the host's, such as a GPU's, to other processes of this host and user.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/fd.h"
#include "base/status.h"
#include "transport/shm_process.h"

namespace jccl {

class ShmRegistry;

// A descriptor, offered at the same socket as shared memory to every process that knows the result of wire(), until
// this object is destroyed.
//
//     0                     48              56
//     +---------------------+---------------+
//     | process, 48 bytes   | number (u64)  |
//     +---------------------+---------------+
class DescriptorOffer {
 public:
  static constexpr size_t kWireBytes = ShmProcess::kWireBytes + sizeof(uint64_t);
  using Wire = std::array<uint8_t, kWireBytes>;

  // Takes ownership of the descriptor.
  static Status make(UniqueFd fd, std::unique_ptr<DescriptorOffer>& offer);
  ~DescriptorOffer();
  DescriptorOffer(const DescriptorOffer&) = delete;
  DescriptorOffer& operator=(const DescriptorOffer&) = delete;

  Wire wire() const;
  // Gets a descriptor of the same memory for this process. Fails if there is no answer within 5 s, like
  // fetchShmDescriptor.
  static Status fetch(std::span<const uint8_t> wire, UniqueFd& fd);

 private:
  DescriptorOffer(std::shared_ptr<ShmRegistry> registry, uint64_t number)
      : registry_(std::move(registry)), number_(number) {}

  std::shared_ptr<ShmRegistry> registry_;
  uint64_t number_;
};

}  // namespace jccl
