// The log ring: native code puts records in, a Java thread drains them into SLF4J. Nothing is ever printed here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace jccl {

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

// While one is there, what its thread logs, and what threads log that it starts meanwhile, has this subject.
class LogScope {
 public:
  explicit LogScope(std::shared_ptr<const LogSubject> subject) : before_(std::exchange(current_, std::move(subject))) {}
  ~LogScope() { current_ = std::move(before_); }
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;
  static const std::shared_ptr<const LogSubject>& current() { return current_; }

 private:
  static thread_local std::shared_ptr<const LogSubject> current_;
  std::shared_ptr<const LogSubject> before_;
};

// Is a record of this level enabled? Call it before building an expensive text.
bool logEnabled(LogLevel level);
void setLogLevel(LogLevel lowest);

// Never blocks for long and never fails; when the ring is full the oldest record is dropped and counted.
void logMessage(LogLevel level, const char* subsystem, std::string text);

// Takes the oldest record; false when there is none.
bool takeLogRecord(LogRecord* record);
uint64_t droppedLogRecords();

}  // namespace jccl
