// The network interfaces of this host.
#pragma once

#include <string>
#include <vector>

#include "transport/net.h"
#include "transport/socket_address.h"

namespace jccl {

// Returns an entry for each address of the interfaces that are up.
std::vector<NetDevice> socketDevices();

// Returns the name of the interface that has this address; empty if none has it.
std::string interfaceOf(const SocketAddress& address);

}  // namespace jccl
