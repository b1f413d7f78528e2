// The result of a call: a code and, for a failure, an explanation.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/code.h"
#include "base/limit_hint.h"

namespace jccl {

// Describes an error number. Unlike std::strerror, safe to call from any thread at any time.
inline std::string errorText(int error) {
  char buffer[128];
  return ::strerror_r(error, buffer, sizeof buffer);
}

// The message of a failure states "name=value" facts, what was expected, and the remedy if there is one. Ok has no
// message and allocates nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status ok() { return {}; }
  static Status invalid(std::string message) { return {Code::Invalid, std::move(message)}; }
  static Status transport(std::string message) { return {Code::Transport, std::move(message)}; }
  static Status internal(std::string message) { return {Code::Internal, std::move(message)}; }

  // Describes a failed system call: "call: what, errno=N (text)", and the limit that was reached if `error` is about
  // one.
  static Status system(const char* call, const std::string& what, int error = errno) {
    return {error == ENOMEM ? Code::NoMemory : Code::System, std::string(call) + ": " + what +
                                                                 ", errno=" + std::to_string(error) + " (" +
                                                                 errorText(error) + ")" + limitHint(call, error)};
  }

  bool isOk() const { return code_ == Code::Ok; }
  explicit operator bool() const { return isOk(); }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::Ok;
  std::string message_;
};

}  // namespace jccl
