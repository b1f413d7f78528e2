// A connected socket whose peer has proved the job's secret.
#pragma once

#include <memory>
#include <utility>

#include "base/fd.h"
#include "crypto/noise.h"

namespace jccl {

struct DataSocket {
  DataSocket() = default;
  DataSocket(UniqueFd socket,
             std::unique_ptr<crypto::Records> encryption = nullptr)  // NOLINT(google-explicit-constructor)
      : fd(std::move(socket)), records(std::move(encryption)) {}

  explicit operator bool() const { return !!fd; }

  UniqueFd fd;
  std::unique_ptr<crypto::Records> records;  // null: the bytes are not encrypted
};

}  // namespace jccl
