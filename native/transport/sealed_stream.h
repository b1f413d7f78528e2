// The encrypted bytes of a stream on their way to and from the kernel.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "base/status.h"
#include "crypto/noise.h"
#include "transport/record_memory.h"

namespace jccl {

class SealedStream {
 public:
  explicit SealedStream(std::unique_ptr<crypto::Records> records) : records_(std::move(records)) {}

  // Encrypts a record behind the unsent ones. Requires hasSpace().
  Status seal(std::span<const std::span<const uint8_t>> parts) {
    size_t bytes = 0;
    Status made = records_->seal(parts, sealed_.data() + sealedEnd_, &bytes);
    if (made) sealedEnd_ += bytes;
    return made;
  }

  // Returns true if a record of any length can be sealed before others are sent.
  bool hasSpace() const { return RecordMemory::kBytes - sealedEnd_ >= kMaxBytes; }

  bool hasUnsent() const { return sealedBegin_ < sealedEnd_; }
  std::span<const uint8_t> unsent() { return {sealed_.data() + sealedBegin_, sealedEnd_ - sealedBegin_}; }
  void noteSent(size_t bytes) {
    sealedBegin_ += bytes;
    if (hasUnsent()) return;
    sealedBegin_ = sealedEnd_ = 0;
    sealed_.giveBack();
  }

  // Returns memory for the next bytes from the kernel, at least enough for the record that is arriving.
  std::span<uint8_t> space() {
    if (RecordMemory::kBytes - arrivedBegin_ < kMaxBytes) {
      std::memmove(arrived_.data(), arrived_.data() + arrivedBegin_, arrivedEnd_ - arrivedBegin_);
      arrivedEnd_ -= arrivedBegin_;
      arrivedBegin_ = 0;
    }
    return {arrived_.data() + arrivedEnd_, RecordMemory::kBytes - arrivedEnd_};
  }
  void noteArrived(size_t bytes) { arrivedEnd_ += bytes; }

  // Returns RecordMemory::kBytes bytes for what open() decrypts.
  uint8_t* plain() { return plain_.data(); }
  // Gives back the memory for arriving records if there are none, and that of plain() if nobody needs it any more.
  void giveBack(bool plain) {
    if (!isCut()) arrived_.giveBack();
    if (plain) plain_.giveBack();
  }

  // Returns true if a whole record has arrived, or the beginning of something that is no record.
  bool hasRecord() {
    const size_t bytes = arrivedEnd_ - arrivedBegin_;
    return bytes >= crypto::Records::kLengthBytes && bytes >= recordBytes();
  }
  // Returns the number of bytes that open() writes; 0 if what has arrived is no record.
  size_t plainBytes() { return recordBytes() == 0 ? 0 : recordBytes() - crypto::Records::kOverheadBytes; }
  // Decrypts the next record. On failure, `plain` contains bytes that nobody may use.
  Status open(uint8_t* plain) {
    const uint8_t* record = arrived_.data() + arrivedBegin_;
    arrivedBegin_ += recordBytes();
    if (Status opened = records_->open(record, plain); !opened) return opened;
    if (arrivedBegin_ == arrivedEnd_) arrivedBegin_ = arrivedEnd_ = 0;
    return Status::ok();
  }
  // Returns true if a part of a record has arrived.
  bool isCut() const { return arrivedBegin_ < arrivedEnd_; }

 private:
  static constexpr size_t kMaxBytes = crypto::Records::kMaxBytes;

  size_t recordBytes() { return crypto::Records::bytesOf(arrived_.data() + arrivedBegin_); }

  const std::unique_ptr<crypto::Records> records_;
  RecordMemory sealed_;
  size_t sealedBegin_ = 0;
  size_t sealedEnd_ = 0;
  RecordMemory arrived_;
  size_t arrivedBegin_ = 0;
  size_t arrivedEnd_ = 0;
  RecordMemory plain_;
};

}  // namespace jccl
