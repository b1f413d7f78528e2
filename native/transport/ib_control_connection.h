// The out-of-band TCP connection beside a verbs connection: connect information, and detection of the other end's
// death.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/status.h"
#include "transport/event_set.h"
#include "transport/socket_address.h"
#include "verbs/connection_info.h"

namespace jccl {

// Each end sends its ConnectionInfo once, and a FIN byte when it closes. An end without a FIN is a death: queue pairs fall
// silent, but the kernel closes the sockets of a process at once.
class IbControlConnection : public EventHandler {
 public:
  IbControlConnection(UniqueFd socket, int peer) : socket_(std::move(socket)), peer_(peer) {}
  ~IbControlConnection() override;

  // From now on `events` watches it, and no set that did before.
  Status watch(EventSet& events);

  Status send(const verbs::ConnectionInfo& info);
  void sendFin();

  // Reads what has come. An error: the other end is gone, or sends something else.
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
