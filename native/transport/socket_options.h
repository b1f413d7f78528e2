// Options of data sockets.
#pragma once

#include "base/fd.h"
#include "base/status.h"
#include "transport/net_config.h"

namespace jccl {

// Opens a non-blocking TCP socket of the family with the job's buffer sizes. The sizes must be set before connect and
// listen, because the ends then agree on the TCP window scale. To a peer on the same host the send buffer is kept
// small: a large buffer only helps over a distance, and data that piles up leaves the caches before the peer reads it.
enum class Distance { Network, SameHost };
Status openDataSocket(int family, Distance distance, const NetConfig& config, UniqueFd* socket);

// Sets the options of a connected socket: no delay, keep-alive and the user time-out, so that a vanished host is
// noticed even while nothing is sent.
Status tuneDataSocket(int socket, const NetConfig& config);

// After this call the caller must find out whether the peer is alive: the kernel no longer ends the connection, however
// long the peer does not answer or read. (With a user time-out, the kernel also ends connections to a peer that answers
// and reads late; without one, it ends them after net.ipv4.tcp_retries2 retransmissions.)
bool keepOpen(int socket);

// Limits the pause between retransmissions to a second. While a peer does not answer, the kernel doubles the pause up
// to two minutes, and so, after an outage, may notice only after another such pause that the network works again.
// Returns false if the kernel cannot limit it (before Linux 6.15).
bool boundRepetitions(int socket);

// Returns what the errno of a data socket usually means, for users.
const char* socketHint(int error);

}  // namespace jccl
