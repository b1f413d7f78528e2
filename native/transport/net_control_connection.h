// The out-of-band TCP connection beside a connection over verbs or a plug-in: connect information, and detection of the
// other end's death.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "transport/event_set.h"
#include "transport/socket_address.h"

namespace jccl {

// Each end may send its information once, of as many bytes as the other expects, then notices, and a FIN byte when it closes. An end without
// a FIN is a death: queue pairs fall silent, but the kernel closes the sockets of a process at once.
class NetControlConnection : public EventHandler {
 public:
  NetControlConnection(UniqueFd socket, int peer, size_t infoBytes)
      : socket_(std::move(socket)), peer_(peer), info_(infoBytes) {}
  ~NetControlConnection() override;

  // From now on `events` watches it, and no set that did before.
  Status watch(EventSet& events);

  template <class Info>
  Status send(const Info& info) {
    return send(&info, sizeof info);
  }
  void sendFin();

  // A number, of a kind below kNoticeKinds. Where the other end reads so little that the kernel takes no more, it is lost.
  static constexpr size_t kNoticeKinds = 7;
  Status notify(uint8_t kind, uint64_t value);
  // The last one of this kind that has come and was not taken before.
  std::optional<uint64_t> takeNotice(uint8_t kind) { return std::exchange(notices_[kind], std::nullopt); }

  // Ends it without a FIN.
  void cut();

  // Reads what has come. An error: the other end is gone, or sends something else.
  Status progress(int* work);
  bool hasInfo() const { return received_ == info_.size(); }
  // Of as many bytes as the other end sends, which hasInfo() says are here.
  template <class Info>
  Info info() const {
    Info info;
    std::memcpy(&info, info_.data(), sizeof info);
    return info;
  }
  bool ended() const { return ended_; }

  std::string describe() const;
  void onEvents(uint32_t) override { readable_ = true; }

 private:
  struct Notice {
    uint8_t kind;
    std::array<uint8_t, sizeof(uint64_t)> value;
  };
  Status send(const void* info, size_t bytes);
  Status read(uint8_t byte);

  UniqueFd socket_;
  const int peer_;
  EventSet* events_ = nullptr;
  std::vector<uint8_t> info_;
  size_t received_ = 0;
  std::array<std::optional<uint64_t>, kNoticeKinds> notices_;
  Notice notice_{};
  size_t noticeBytes_ = 0;  // of the one that is coming
  bool readable_ = true;
  bool ended_ = false;
};

}  // namespace jccl
