#include "transport/socket_stream.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstring>
#include <utility>

#include "transport/socket_options.h"

namespace jccl {
namespace {

constexpr size_t kFramesPerCall = 8;
// If more bytes of a frame than this are missing, only the next header is read ahead, so that little data is copied
// twice.
constexpr size_t kBulkBytes = 8192;

constexpr size_t kBufferBytes = 16384;

std::span<const uint8_t> bytesOf(const SocketFrame& frame) {
  return {reinterpret_cast<const uint8_t*>(&frame), sizeof frame};
}

}  // namespace

SocketStream::SocketStream(DataSocket socket, int peer, EventSet& events, uint32_t index, const NetConfig& config)
    : socket_(std::move(socket.fd)),
      sealing_(socket.records == nullptr ? nullptr : std::make_unique<SealedStream>(std::move(socket.records))),
      peer_(peer),
      events_(events),
      index_(index),
      pollsAfterData_(config.sharesCores ? 0 : config.pollsAfterData),
      looksAtMemory_(config.looksAtMemory),
      local_(SocketAddress::localOf(socket_.get())),
      remote_(SocketAddress::peerOf(socket_.get())),
      buffer_(sealing_ == nullptr ? kBufferBytes : 0) {}

SocketStream::~SocketStream() { events_.remove(socket_.get()); }

Status SocketStream::open() {
  keepOpen(socket_.get());  // the result is ignored: keepOpen fails in tests, which use sockets of other families
  return events_.add(socket_.get(), this);
}

void SocketStream::onEvents(uint32_t epollEvents) {
  const bool broken = (epollEvents & (EPOLLERR | EPOLLHUP)) != 0;
  if (broken || (epollEvents & (EPOLLIN | EPOLLRDHUP)) != 0) readable_ = true;
  if (broken || (epollEvents & EPOLLOUT) != 0) writable_ = true;
  if (broken || (epollEvents & EPOLLRDHUP) != 0) closing_ = true;
}

std::string SocketStream::describe() const {
  return "rank " + std::to_string(peer_) + " at " + remote_.toString() + " from " + local_.toString();
}

Status SocketStream::failed(const char* call, int error) const {
  return Status::transport("net: lost " + describe() + ": " + call + " errno=" + std::to_string(error) + " (" +
                           errorText(error) + "): " + socketHint(error));
}

Status SocketStream::closedWithoutFin() const {
  return Status::transport(
      "net: lost " + describe() +
      ": the connection was closed without a FIN message: the peer's process ended or was killed; see "
      "its log");
}

Status SocketStream::unsent() const {
  return Status::transport("net: " + describe() + " has closed the communicator while messages for it are unsent");
}

void SocketStream::sendFin() {
  if (sentFin_ || !queue_.empty()) return;
  sentFin_ = true;
  SocketFrame frame;
  frame.kind = SocketFrame::kFin;
  // Fails if the kernel's buffer is full. The peer then takes the end of the stream for the death of this process, as
  // it would without a FIN message.
  std::span<const uint8_t> bytes = bytesOf(frame);
  if (sealing_ != nullptr) {
    const std::array<std::span<const uint8_t>, 1> parts = {bytes};
    bytes = sealing_->seal(parts) ? sealing_->unsent() : std::span<const uint8_t>();
  }
  [[maybe_unused]] const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(socket_.get(), SHUT_WR);
}

Status SocketStream::checkAnswers(int64_t nowNanos, int64_t limitNanos) {
  if (!silence_.lasts(socket_.get(), nowNanos, limitNanos)) return Status::ok();
  return Status::transport("net: lost " + describe() + ": nothing was answered for " +
                           std::to_string(limitNanos / 1'000'000) + " ms: " + socketHint(ETIMEDOUT) +
                           PeerSilence::packetsLost(socket_.get()));
}

// Encrypts queued frames until the buffer for the kernel is full. Short frames share a record. The header of a long
// frame has a record of its own, so that the receiver can decrypt the data straight to its destination.
Status SocketStream::sealSome() {
  while (sealing_->hasSpace() && sealedFrames_ < queue_.size()) {
    std::array<std::span<const uint8_t>, 2 * kFramesPerCall> parts;
    size_t count = 0;
    if (const Queued& first = queue_[sealedFrames_]; first.frame.length > kBulkBytes) {
      const size_t sealed = frontSent_;
      if (sealed == 0) {
        parts[count++] = bytesOf(first.frame);
      } else {
        const size_t begin = sealed - sizeof first.frame;
        const size_t rest = first.frame.length - begin;
        parts[count++] = {first.data + begin, std::min(rest, crypto::Records::kMaxPlainBytes)};
      }
      frontSent_ += parts[0].size();
      if (frontSent_ == first.bytes()) {
        ++sealedFrames_;
        frontSent_ = 0;
      }
    } else {
      size_t space = crypto::Records::kMaxPlainBytes;
      while (sealedFrames_ < queue_.size() && count < parts.size()) {
        const Queued& next = queue_[sealedFrames_];
        if (next.frame.length > kBulkBytes || next.bytes() > space) break;
        parts[count++] = bytesOf(next.frame);
        parts[count++] = {next.data, next.frame.length};
        space -= next.bytes();
        ++sealedFrames_;
      }
    }
    if (Status sealed = sealing_->seal(std::span(parts).first(count)); !sealed) return sealed;
  }
  return Status::ok();
}

Status SocketStream::sendSome(size_t* moved) {
  if (sealing_ != nullptr) {
    if (!sealing_->hasUnsent()) {
      if (Status sealed = sealSome(); !sealed) return sealed;
    }
    const std::span<const uint8_t> bytes = sealing_->unsent();
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) sealing_->noteSent(static_cast<size_t>(sent));
    return sentSome("send", sent, moved);
  }
  std::array<iovec, 2 * kFramesPerCall> parts;
  size_t count = 0;
  size_t skip = frontSent_;
  for (size_t i = 0; i < queue_.size() && i < kFramesPerCall; ++i) {
    Queued& queued = queue_[i];
    if (skip < sizeof queued.frame) {
      parts[count++] = {reinterpret_cast<uint8_t*>(&queued.frame) + skip, sizeof queued.frame - skip};
      skip = 0;
    } else {
      skip -= sizeof queued.frame;
    }
    if (queued.frame.length > skip) {
      parts[count++] = {const_cast<uint8_t*>(queued.data) + skip, queued.frame.length - skip};
    }
    skip = 0;
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = count;
  return sentSome("sendmsg", ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT), moved);
}

// Notes the result of a call that sends.
Status SocketStream::sentSome(const char* call, ssize_t sent, size_t* moved) {
  if (sent < 0 && errno == EAGAIN) {
    writable_ = false;
    return Status::ok();
  }
  if (sent < 0 && errno == EINTR) return Status::ok();
  if (sent < 0) return failed(call, errno);
  *moved = static_cast<size_t>(sent);
  return Status::ok();
}

// Returns how many frames the kernel has accepted completely, and notes how many bytes of the next frame it has
// accepted.
size_t SocketStream::finishedFrames(size_t moved) {
  if (sealing_ != nullptr) return sealing_->hasUnsent() ? 0 : std::exchange(sealedFrames_, 0);
  size_t sent = frontSent_ + moved;
  size_t frames = 0;
  while (frames < queue_.size() && sent >= queue_[frames].bytes()) sent -= queue_[frames++].bytes();
  frontSent_ = sent;
  return frames;
}

Status SocketStream::receive(Receiver& receiver, size_t budget, int* work) {
  if (eager()) {
    --pollsLeft_;
    readable_ = true;
  }
  size_t moved = 0;
  Step step = Step::Again;
  while (step == Step::Again) {
    if (inFrame_ && to_ == nullptr) {
      if (Status asked = receiver.place(frame_, *this, &to_); !asked) return asked;
      if (to_ == nullptr) break;
    }
    if (inFrame_ && missing_ > 0 && begin_ < end_) takeBuffered(&moved);
    if (inFrame_ && missing_ == 0) {
      inFrame_ = false;
      to_ = nullptr;
      receiver.placed(frame_);
      ++*work;
      if (moved >= budget) break;
    } else if (!inFrame_ && end_ - begin_ >= sizeof frame_) {
      if (Status taken = takeHeader(receiver, &step); !taken) return taken;
    } else {
      if (Status read = readSome(&step, &moved); !read) return read;
    }
  }
  if (moved > 0) {
    ++*work;
    const bool isFar = !inFrame_ && frame_.length > kBulkBytes && looksAtMemory_->load(std::memory_order_relaxed);
    pollsLeft_ = isFar ? 0 : pollsAfterData_;
  }
  if (sealing_ != nullptr) sealing_->giveBack(begin_ == end_);
  return Status::ok();
}

void SocketStream::moveToFront() {
  if (begin_ == 0) return;
  if (begin_ < end_) std::memmove(buffer(), buffer() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
}

void SocketStream::takeBuffered(size_t* moved) {
  const size_t bytes = std::min(missing_, end_ - begin_);
  std::memcpy(to_, buffer() + begin_, bytes);
  begin_ += bytes;
  to_ += bytes;
  missing_ -= bytes;
  *moved += bytes;
}

Status SocketStream::takeHeader(Receiver& receiver, Step* step) {
  std::memcpy(&frame_, buffer() + begin_, sizeof frame_);
  begin_ += sizeof frame_;
  if (frame_.magic == SocketFrame::kMagic && frame_.kind == SocketFrame::kFin && begin_ == end_) {
    ended_ = true;
    return Status::ok();
  }
  if (frame_.magic != SocketFrame::kMagic || frame_.kind != SocketFrame::kData || frame_.zero != 0 || ended_) {
    return Status::transport("net: " + describe() + " sent something that is no frame of this version of JCCL");
  }
  to_ = nullptr;
  if (Status asked = receiver.place(frame_, *this, &to_); !asked) return asked;
  inFrame_ = true;
  missing_ = frame_.length;
  if (to_ == nullptr) *step = Step::Stop;
  return Status::ok();
}

// Makes one call to the kernel: missing data goes straight to its destination, and the bytes that follow it go into
// buffer_. After a large frame only the next header is read ahead, since another large frame is likely.
Status SocketStream::readSome(Step* step, size_t* moved) {
  if (sealing_ != nullptr && sealing_->hasRecord()) return openRecord(moved);
  if (!readable_) {
    *step = Step::Stop;
    return Status::ok();
  }
  moveToFront();
  if (sealing_ != nullptr) {
    const std::span<uint8_t> space = sealing_->space();
    const ssize_t got = ::recv(socket_.get(), space.data(), space.size(), MSG_DONTWAIT);
    if (got > 0) sealing_->noteArrived(static_cast<size_t>(got));
    return received("recv", got, space.size(), step);
  }
  const size_t direct = inFrame_ ? missing_ : 0;
  const bool bulk = (inFrame_ ? direct : frame_.length) > kBulkBytes;
  const size_t ahead = (bulk ? sizeof(SocketFrame) : buffer_.size()) - end_;
  std::array<iovec, 2> parts = {iovec{to_, direct}, iovec{buffer_.data() + end_, ahead}};
  msghdr message{};
  message.msg_iov = direct > 0 ? parts.data() : parts.data() + 1;
  message.msg_iovlen = direct > 0 ? 2 : 1;
  const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
  if (Status read = received("recvmsg", got, direct + ahead, step); !read || got <= 0) return read;
  const size_t inPlace = std::min(direct, static_cast<size_t>(got));
  to_ += inPlace;
  missing_ -= inPlace;
  *moved += inPlace;
  end_ += static_cast<size_t>(got) - inPlace;
  return Status::ok();
}

// Decrypts a record that has arrived: to the destination of the frame if it has only data of this frame.
Status SocketStream::openRecord(size_t* moved) {
  const size_t bytes = sealing_->plainBytes();
  if (bytes == 0) return Status::transport("net: " + describe() + " sent something that is no encrypted record");
  const bool direct = inFrame_ && begin_ == end_ && bytes <= missing_;
  if (!direct) moveToFront();
  if (Status opened = sealing_->open(direct ? to_ : buffer() + end_); !opened) {
    return Status::transport("net: lost " + describe() + ": " + opened.message());
  }
  if (!direct) {
    end_ += bytes;
    return Status::ok();
  }
  to_ += bytes;
  missing_ -= bytes;
  *moved += bytes;
  return Status::ok();
}

// Handles the result of a call that receives.
Status SocketStream::received(const char* call, ssize_t got, size_t asked, Step* step) {
  if (got < 0 && errno == EINTR) return Status::ok();
  if (got < 0 && errno == EAGAIN) {
    readable_ = false;
    *step = Step::Stop;
    return Status::ok();
  }
  if (got < 0) return failed(call, errno);
  if (got == 0) {
    readable_ = false;
    *step = Step::Stop;
    finished_ = ended_ && !inFrame_ && begin_ == end_ && !(sealing_ != nullptr && sealing_->isCut());
    return finished_ ? Status::ok() : closedWithoutFin();
  }
  // Fewer bytes than requested: the kernel has no more, and an event will report new ones.
  if (static_cast<size_t>(got) < asked && !closing_) readable_ = false;
  return Status::ok();
}

}  // namespace jccl
