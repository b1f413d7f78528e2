// The information that a rank sends to its peers, so that they can connect.
//
//     0        4          8                   56           64             72            76       80           84
//     +--------+----------+-------------------+------------+--------------+-------------+--------+------------+------
//     | magic  | version  | shm process (48)  | segment id | offered id   | sockets len | ib len | plugin len | infos
//     |        |          |                   |            | 0: none      |             |        |            |
//     +--------+----------+-------------------+------------+--------------+-------------+--------+------------+------
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/networks.h"
#include "transport/shm_process.h"

namespace jccl {

struct ConnectInfo {
  ShmProcess process;
  uint64_t segment = 0;
  uint64_t offered = 0;  // the number that an attachment of the rank offers; 0: none
  Networks::Infos networks;

  std::vector<uint8_t> encode() const;
  // `networks` of *info then points into `bytes`.
  static Status decode(std::span<const uint8_t> bytes, ConnectInfo* info);
};

}  // namespace jccl
