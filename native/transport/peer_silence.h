// Whether the host at the other end of a TCP connection still answers.
#pragma once

#include <cstdint>
#include <string>

namespace jccl {

// A peer that reads late closes its window, and its host goes on to answer the kernel's probes: it is late and not gone.
class PeerSilence {
 public:
  // To be called every now and then. Has the host left what the kernel sent to it unanswered since `limitNanos` ago? Also
  // where nothing is sent, as keep-alive probes are to be answered.
  // `limitNanos` is at least kShortestNanos: a kernel answers probes of a closed window twice a second at most
  // (net.ipv4.tcp_invalid_ratelimit), and so not each of the first ones.
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
    uint8_t probes = 0;  // without an answer
  };
  static bool read(int socket, State* state);

  State heard_;  // when the last segment had come
  int64_t heardNanos_ = 0;
  bool owed_ = false;  // at the last call
};

}  // namespace jccl
