// Information that the two ends of a connection send each other before their queue pairs are connected.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "verbs/verbs_api.h"

namespace jccl::verbs {

inline constexpr uint32_t kMaxQueuePairs = 16;

//     0       4         6       8          9     10     11      12    14    16
//     +-------+---------+-------+----------+-----+------+-------+-----+-----+
//     | magic | version | bytes | link lay.| mtu | port | split | lid | qps |
//     +-------+---------+-------+----------+-----+------+-------+-----+-----+
//     16    32              40          44           48        112           176
//     +-----+---------------+-----------+------------+---------+-------------+
//     | gid | ring address  | ring rkey | ring bytes | device  | qp numbers  |
//     +-----+---------------+-----------+------------+---------+-------------+
//     176           240
//     +-------------+
//     | first PSNs  |
//     +-------------+
//
// The ring is memory that the other end writes: at the sender it contains the addresses of posted receives, at the
// receiver the headers of messages. Numbers are little-endian.
struct ConnectionInfo {
  static constexpr uint32_t kMagic = 0x4249434a;  // "JCIB"
  static constexpr uint16_t kVersion = 2;

  uint32_t magic = kMagic;
  uint16_t version = kVersion;
  uint16_t bytes = 240;
  LinkLayer linkLayer = LinkLayer::Unspecified;
  uint8_t mtu = 0;  // MTU of the port; the path uses the smaller MTU of both ends
  uint8_t port = 0;
  uint8_t split = 0;  // 1: every message is split over all queue pairs
  uint16_t lid = 0;
  uint16_t queuePairs = 0;
  Gid gid{};
  uint64_t ringAddress = 0;
  uint32_t ringRkey = 0;
  uint32_t ringBytes = 0;
  std::array<char, 64> device{};
  std::array<uint32_t, kMaxQueuePairs> qpNumbers{};
  std::array<uint32_t, kMaxQueuePairs> psns{};  // sequence number of the first packet that each queue pair sends
};
static_assert(sizeof(ConnectionInfo) == 240 && offsetof(ConnectionInfo, linkLayer) == 8 &&
              offsetof(ConnectionInfo, lid) == 12 && offsetof(ConnectionInfo, gid) == 16 &&
              offsetof(ConnectionInfo, ringAddress) == 32 && offsetof(ConnectionInfo, device) == 48 &&
              offsetof(ConnectionInfo, qpNumbers) == 112 && offsetof(ConnectionInfo, psns) == 176);

// Checks that the received information makes sense and that `own` can be connected to it. An error names what differs.
Status checkConnectionInfo(const ConnectionInfo& own, const ConnectionInfo& remote, uint32_t ringBytes);

}  // namespace jccl::verbs
