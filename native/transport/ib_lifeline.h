// The TCP connection beside a verbs connection: what the ends tell each other, and the sign that the other still lives.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/status.h"
#include "transport/event_set.h"
#include "transport/socket_address.h"
#include "verbs/connection_info.h"

namespace jccl {

// Each end sends its ConnectionInfo once, and one goodbye byte when it closes. An end without goodbye is a death: unlike
// queue pairs, which go silent, the kernel says at once when a process is gone.
class IbLifeline : public EventHandler {
 public:
  IbLifeline(UniqueFd socket, int peer) : socket_(std::move(socket)), peer_(peer) {}
  ~IbLifeline() override;

  // From now on `events` tells of it, and no set that did before.
  Status watch(EventSet& events);

  Status tell(const verbs::ConnectionInfo& info);
  void sayGoodbye();

  // Reads what has come. An error: the other end is gone, or sends nonsense.
  Status progress(int* work);
  bool hasInfo() const { return infoBytes_ == sizeof info_; }
  const verbs::ConnectionInfo& info() const { return info_; }
  bool ended() const { return ended_; }

  std::string describe() const;
  void onEvents(uint32_t) override { readable_ = true; }

 private:
  UniqueFd socket_;
  const int peer_;
  EventSet* events_ = nullptr;
  verbs::ConnectionInfo info_;
  size_t infoBytes_ = 0;
  bool readable_ = true;
  bool ended_ = false;
};

}  // namespace jccl
