#include "transport/peer_silence.h"

#include <linux/tcp.h>  // the one of libc knows fewer fields of tcp_info
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace jccl {

bool PeerSilence::read(int socket, State* state) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return false;
  if (bytes < offsetof(tcp_info, tcpi_segs_in) + sizeof info.tcpi_segs_in) return false;
  *state = {info.tcpi_segs_in, info.tcpi_total_retrans, info.tcpi_backoff, info.tcpi_probes};
  return true;
}

// Twice in a row, since an answer may be on its way at one call: to a closed window some kernels send the next probe only
// minutes after the last one was answered.
bool PeerSilence::lasts(int socket, int64_t nowNanos, int64_t limitNanos) {
  State state;
  if (!read(socket, &state)) return false;
  if (heardNanos_ == 0 || state.segmentsIn != heard_.segmentsIn) {
    heard_ = state;
    heardNanos_ = nowNanos;
    owed_ = false;
    return false;
  }
  const bool wasOwed = owed_;
  owed_ = state.probes > 0 || state.repeated != heard_.repeated || state.backoff > heard_.backoff;
  return owed_ && wasOwed && nowNanos - heardNanos_ >= limitNanos;
}

}  // namespace jccl
