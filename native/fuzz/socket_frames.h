// Fuzz target: frames of data sockets that a member of the job could send by mistake or malice.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "test/net_pair.h"
#include "transport/socket_connection.h"

namespace jccl::fuzz {

// The receiver has two streams and expects two messages. Each buffer is a separate allocation, so that the address
// sanitizer detects accesses just outside it. The input consists of parts: a byte with the stream in its lowest bit and
// a length in its other bits, in units of 4 bytes, and the bytes to send.
inline void socketFrames(const uint8_t* data, size_t size) {
  static NetConfig config = [] {
    NetConfig made = test::configOf(0, 2, 2);
    made.stripeBytes = 64;
    return made;
  }();
  EventSet events;
  if (!events.open()) std::abort();
  std::array<UniqueFd, 2> sender;
  std::vector<DataSocket> sockets(2);
  for (size_t i = 0; i < 2; ++i) {
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) std::abort();
    sockets[i] = UniqueFd(pair[0]);
    sender[i].reset(pair[1]);
    ::fcntl(pair[1], F_SETFL, O_NONBLOCK);
  }
  constexpr std::array<uint32_t, kNetTags> kBytes = {100, 100, 400};
  std::vector<std::unique_ptr<uint8_t[]>> memory;
  SocketRecvConnection receiver(config, 1, events, nullptr, std::move(sockets), std::make_shared<SocketEagerPath>());
  if (!receiver.open()) std::abort();
  for (uint64_t sequence = 0; sequence < 2; ++sequence) {
    std::array<NetBuffer, kNetTags> byTag;
    for (size_t tag = 0; tag < kNetTags; ++tag) {
      memory.push_back(std::make_unique<uint8_t[]>(kBytes[tag]));
      byTag[tag] = NetBuffer{memory.back().get(), kBytes[tag], nullptr};
    }
    if (!receiver.irecv(sequence, byTag)) std::abort();
  }
  bool healthy = true;
  while (size > 0 && healthy) {
    const size_t stream = data[0] & 1;
    const size_t length = std::min<size_t>((data[0] >> 1) * 4u, size - 1);
    if (length > 0 && ::send(sender[stream].get(), data + 1, length, MSG_NOSIGNAL) < 0) break;
    data += 1 + length;
    size -= 1 + length;
    events.dispatch();
    int work = 0;
    healthy = receiver.progress(0, &work).isOk();
    for (uint64_t sequence = 0; sequence < 2 && healthy; ++sequence) {
      bool done = false;
      NetArrival arrival;
      if (receiver.test(sequence, &done, &arrival) && done && arrival.message.bytes > kBytes[arrival.message.tag]) {
        std::abort();
      }
      if (done) break;  // a message that is done must not be tested again
    }
  }
}

}  // namespace jccl::fuzz
