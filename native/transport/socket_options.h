// How every data socket is set up.
#pragma once

#include "base/fd.h"
#include "base/status.h"
#include "transport/net_config.h"

namespace jccl {

// A non-blocking TCP socket of the family with the job's buffer sizes (they must be set before connect and listen, as
// the window scale is agreed then). To a peer on this same host the send buffer is kept small: there is no distance
// to bridge, and data that piles up leaves the caches before the peer reads it.
enum class Distance { Network, SameHost };
Status openDataSocket(int family, Distance distance, const NetConfig& config, UniqueFd* socket);

// Once connected: no delay, keep-alive and the user time-out, so that a host that vanished is noticed also while
// nothing is sent.
Status tuneDataSocket(int socket, const NetConfig& config);

// From here on the caller judges whether the peer lives: the kernel does not end the connection, however long the peer
// does not answer, or does not read. (With a user time-out it also ends connections to a peer that answers and reads late;
// without one, after net.ipv4.tcp_retries2 repetitions.)
bool keepOpen(int socket);

// The kernel doubles the pause between repetitions to a peer that does not answer, up to two minutes, and so notices only
// after as long again that a network is back. Bounds it by a second; false where the kernel cannot (before Linux 6.15).
bool boundRepetitions(int socket);

// What errno of a data socket usually means, for people.
const char* socketHint(int error);

}  // namespace jccl
