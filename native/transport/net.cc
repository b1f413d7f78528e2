#include "transport/net.h"

namespace jccl {
namespace {

Status hostOnly(const std::string& who) { return Status::invalid("net: " + who + " reaches memory of the host only"); }

}  // namespace

Status NetRecvConnection::flush(uint64_t, const NetBuffer&) { return hostOnly(describe()); }
Status NetRecvConnection::flushed(uint64_t, bool*) { return hostOnly(describe()); }

Status NetRecvConnection::expose(NetMemory&, uint32_t*) {
  return Status::transport("net: " + describe() + ": the sender cannot write into memory of this rank");
}

Status Net::registerDeviceMemory(const NetDeviceMemory&, const std::set<int>&, std::unique_ptr<NetMemory>*) {
  return hostOnly(name());
}

}  // namespace jccl
