// The interfaces of this host.
#pragma once

#include <string>
#include <vector>

#include "transport/net.h"
#include "transport/socket_address.h"

namespace jccl {

// Those that are up and have an address.
std::vector<NetDevice> socketDevices();

// The name of the one that has this address; empty if none has it.
std::string interfaceOf(const SocketAddress& address);

}  // namespace jccl
