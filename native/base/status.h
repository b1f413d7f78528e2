// Status codes shared with Java, and a status that carries its explanation.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace jccl {

// The values cross the JNI border: io.jccl.nativelib.NativeCommunicator names the same numbers.
enum class Code : int {
  Ok = 0,
  Invalid = -1,    // an argument or the order of calls is wrong
  Timeout = -2,    // the deadline of an operation passed
  Aborted = -3,    // somebody aborted the communicator
  Mismatch = -4,   // a peer runs another operation, or the same one with other arguments
  Transport = -5,  // a connection failed
  System = -6,     // a system call failed
  Internal = -7,   // a broken promise inside the library
  NoMemory = -8,   // memory could not be had
};

// What errno=error means; unlike std::strerror it may be called from any thread at any time.
inline std::string errorText(int error) {
  char buffer[128];
  return ::strerror_r(error, buffer, sizeof buffer);
}

// Why something failed: "name=value" facts, what was expected, and the remedy where there is one. Ok carries no text and
// allocates nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status ok() { return {}; }
  static Status invalid(std::string message) { return {Code::Invalid, std::move(message)}; }
  static Status transport(std::string message) { return {Code::Transport, std::move(message)}; }
  static Status internal(std::string message) { return {Code::Internal, std::move(message)}; }

  // A failed system call: "call: what, errno=N (text)".
  static Status system(const char* call, const std::string& what, int error = errno) {
    return {error == ENOMEM ? Code::NoMemory : Code::System,
            std::string(call) + ": " + what + ", errno=" + std::to_string(error) + " (" + errorText(error) + ")"};
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
