// The log ring: native code puts records in, a Java thread drains them into SLF4J. Nothing is ever printed here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace jccl {

class Status;

enum class LogLevel : uint8_t { Trace = 0, Debug = 1, Info = 2, Warn = 3, Error = 4 };

// Whose record it is.
struct LogSubject {
  int rank = 0;
  std::string communicator;
};

struct LogRecord {
  LogLevel level = LogLevel::Info;
  int64_t epochNanos = 0;
  const char* subsystem = "";  // "net", "shm": a literal
  std::string text;
  std::shared_ptr<const LogSubject> subject;  // null: of the process
};

// While one is there, what its thread logs, and what threads log that it starts meanwhile, has this subject. A thread knows
// its scopes by a plain pointer: a variable of a thread with a destructor keeps the library mapped until the thread ends,
// also when the class loader that loaded it has long been collected, and threads of applications end late or never.
class LogScope {
 public:
  explicit LogScope(std::shared_ptr<const LogSubject> subject)
      : subject_(std::move(subject)), before_(std::exchange(current_, this)) {}
  ~LogScope() { current_ = before_; }
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

  // The subject of the innermost scope; null if there is none.
  static std::shared_ptr<const LogSubject> current() { return current_ == nullptr ? nullptr : current_->subject_; }

 private:
  static constinit thread_local const LogScope* current_;
  const std::shared_ptr<const LogSubject> subject_;
  const LogScope* const before_;
};

// Is a record of this level enabled? Call it before building an expensive text.
bool logEnabled(LogLevel level);
void setLogLevel(LogLevel lowest);

// Never blocks for long and never fails; when the ring is full the oldest record is dropped and counted.
void logMessage(LogLevel level, const char* subsystem, std::string text);

// A warning of a status that no caller is left to report; none where it is no failure.
void logFailure(const char* subsystem, const Status& status);

// Takes the oldest record; false when there is none.
bool takeLogRecord(LogRecord* record);
uint64_t droppedLogRecords();

}  // namespace jccl
