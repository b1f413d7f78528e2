// The out-of-band TCP connection that accompanies a connection over verbs or a plug-in. Carries connect information and
// detects the death of the other end.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "transport/data_socket.h"
#include "transport/event_set.h"
#include "transport/socket_address.h"

namespace jccl {

// Each end can send its connect information once, with as many bytes as the other end expects. After that it sends
// notices, and a FIN byte when it closes. If the connection ends without a FIN, the other process has died. Queue pairs
// do not show this, but the kernel closes the sockets of a dead process at once.
class NetControlConnection : public EventHandler {
 public:
  NetControlConnection(DataSocket socket, int peer, size_t infoBytes)
      : socket_(std::move(socket.fd)), records_(std::move(socket.records)), peer_(peer), info_(infoBytes) {}
  ~NetControlConnection() override;

  // Adds the connection to `events` and removes it from the set that watched it before.
  Status watch(EventSet& events);

  template <class Info>
  Status send(const Info& info) {
    return send(&info, sizeof info);
  }
  void sendFin();

  // Sends a notice: a number, and its kind, which is less than kNoticeKinds. If the other end reads so little that the
  // kernel accepts no more, the notice is lost and the result is an error.
  static constexpr size_t kNoticeKinds = 7;
  Status notify(uint8_t kind, uint64_t value);
  // Returns the last notice of this kind that has arrived, and forgets it.
  std::optional<uint64_t> takeNotice(uint8_t kind) { return std::exchange(notices_[kind], std::nullopt); }

  // Ends the connection without a FIN.
  void cut();

  // Reads what has arrived. Fails if the other end is gone or sent something unexpected.
  Status progress(int* work);
  bool hasInfo() const { return received_ == info_.size(); }
  // Returns the other end's information, which has the size of Info. Requires hasInfo().
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
  ssize_t sendSome(const void* data, size_t bytes);
  Status receiveSome(uint8_t* to, size_t bytes, ssize_t* got);
  Status read(uint8_t byte);

  UniqueFd socket_;
  const std::unique_ptr<crypto::Records> records_;  // null: the bytes are not encrypted
  std::vector<uint8_t> unsent_;                     // records that the kernel has not accepted
  std::vector<uint8_t> sealed_;                     // the received part of the next record
  std::vector<uint8_t> plain_;                      // the bytes of the last record
  size_t plainTaken_ = 0;                           // number of bytes of plain_ that have been read
  const int peer_;
  EventSet* events_ = nullptr;
  std::vector<uint8_t> info_;
  size_t received_ = 0;
  std::array<std::optional<uint64_t>, kNoticeKinds> notices_;
  Notice notice_{};
  size_t noticeBytes_ = 0;  // received bytes of the notice that is arriving; 0: none is
  bool readable_ = true;
  bool ended_ = false;
};

}  // namespace jccl
