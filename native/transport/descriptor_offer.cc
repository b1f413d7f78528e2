#include "transport/descriptor_offer.h"

#include <fcntl.h>

#include <cstring>
#include <string>
#include <utility>

#include "transport/shm_client.h"
#include "transport/shm_registry.h"
#include "transport/shm_server.h"

namespace jccl {

Status DescriptorOffer::make(UniqueFd fd, std::unique_ptr<DescriptorOffer>& offer) {
  if (!fd) return Status::invalid("descriptor=-1: expected an open one");
  std::shared_ptr<ShmRegistry> registry;
  if (Status status = ShmRegistry::acquire(&registry); !status) return status;
  const uint64_t number = registry->addDescriptor(std::move(fd));
  offer.reset(new DescriptorOffer(std::move(registry), number));
  return Status::ok();
}

DescriptorOffer::~DescriptorOffer() { registry_->remove(number_); }

DescriptorOffer::Wire DescriptorOffer::wire() const {
  Wire wire;
  const ShmProcess::Wire process = registry_->process().encode();
  std::memcpy(wire.data(), process.data(), process.size());
  std::memcpy(wire.data() + process.size(), &number_, sizeof number_);
  return wire;
}

Status DescriptorOffer::fetch(std::span<const uint8_t> wire, UniqueFd& fd) {
  if (wire.size() != kWireBytes) {
    return Status::transport("descriptor: bytes=" + std::to_string(wire.size()) + ", expected bytes=" +
                             std::to_string(kWireBytes) + "; do all ranks run the same version of JCCL?");
  }
  ShmProcess peer;
  if (Status status = ShmProcess::decode(wire.first(ShmProcess::kWireBytes), &peer); !status) return status;
  uint64_t number = 0;
  std::memcpy(&number, wire.data() + ShmProcess::kWireBytes, sizeof number);
  std::shared_ptr<ShmRegistry> registry;
  if (Status status = ShmRegistry::acquire(&registry); !status) return status;
  if (!registry->isThisProcess(peer)) {
    if (Status status = registry->process().reachable(peer); !status) return status;
    return fetchShmDescriptor(peer, number, &fd);
  }
  const ShmOffer own = registry->offer(number);
  if (own.fd < 0) {
    return Status::transport("descriptor: number=" + std::to_string(number) + ": this process no longer offers it");
  }
  fd.reset(::fcntl(own.fd, F_DUPFD_CLOEXEC, 0));
  return fd ? Status::ok() : Status::system("fcntl(F_DUPFD_CLOEXEC)", "descriptor=" + std::to_string(own.fd));
}

}  // namespace jccl
