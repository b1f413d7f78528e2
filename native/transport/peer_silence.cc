#include "transport/peer_silence.h"

#include <linux/sockios.h>
#include <linux/tcp.h>  // libc's header lacks some fields of tcp_info
#include <netinet/in.h>
#include <sys/ioctl.h>
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

// Returns true only if an answer is due at two calls in a row, because at one call the answer may still be on its way.
// Some kernels send the next probe of a closed window only minutes after the last one was answered.
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

std::string PeerSilence::packetsLost(uint64_t acknowledgedBytes, uint32_t packets, uint32_t packetBytes,
                                     int queuedBytes) {
  const bool fullSized = packets > 0 && queuedBytes >= static_cast<int64_t>(packetBytes);
  if (acknowledgedBytes == 0 || !fullSized) return {};
  return "; acknowledged_bytes=" + std::to_string(acknowledgedBytes) + ", and none of " + std::to_string(packets) +
         " packets of packet_bytes=" + std::to_string(packetBytes) +
         " after them: if the host lives, the path drops full-sized packets (its MTU is smaller, and ICMP is "
         "filtered); "
         "see jccl doctor --peers";
}

std::string PeerSilence::packetsLost(int socket) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  int queued = 0;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return {};
  if (bytes < offsetof(tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked) return {};
  if (::ioctl(socket, SIOCOUTQ, &queued) != 0) return {};
  return packetsLost(info.tcpi_bytes_acked, info.tcpi_unacked, info.tcpi_snd_mss, queued);
}

}  // namespace jccl
