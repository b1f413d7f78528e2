// Finds out whether the host at the other end of a TCP connection still answers.
#pragma once

#include <cstdint>
#include <string>

namespace jccl {

// If a peer reads late, its TCP window closes, but its host still answers the kernel's probes: the peer is late, not
// gone.
class PeerSilence {
 public:
  // Returns true if the host has left unanswered, for `limitNanos`, what the kernel sent to it. Must be called
  // periodically. Also works if nothing is sent, because keep-alive probes must be answered. `limitNanos` must be at
  // least kShortestNanos: a kernel answers probes of a closed window at most twice a second
  // (net.ipv4.tcp_invalid_ratelimit), so it does not answer each of the first probes.
  static constexpr int64_t kShortestNanos = 2'000'000'000;
  bool lasts(int socket, int64_t nowNanos, int64_t limitNanos);

  // Describes the data on a silent connection if it shows that the path drops full-sized packets: earlier messages were
  // acknowledged, and at least one full-sized packet is not. Otherwise returns an empty text.
  static std::string packetsLost(int socket);
  static std::string packetsLost(uint64_t acknowledgedBytes, uint32_t packets, uint32_t packetBytes, int queuedBytes);

 private:
  struct State {
    uint32_t segmentsIn = 0;
    uint32_t repeated = 0;
    uint8_t backoff = 0;
    uint8_t probes = 0;  // number of unanswered probes
  };
  static bool read(int socket, State* state);

  State heard_;  // state after the last segment had arrived
  int64_t heardNanos_ = 0;
  bool owed_ = false;  // an answer was due at the previous call
};

}  // namespace jccl
