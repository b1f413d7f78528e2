// The log ring: native code adds records, and a Java thread drains them into SLF4J. Native code never prints.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace jccl {

class Status;

enum class LogLevel : uint8_t { Trace = 0, Debug = 1, Info = 2, Warn = 3, Error = 4 };

// The rank and communicator to which records belong.
struct LogSubject {
  int rank = 0;
  std::string communicator;
};

struct LogRecord {
  LogLevel level = LogLevel::Info;
  int64_t epochNanos = 0;
  const char* subsystem = "";  // such as "net" or "shm"; must be a literal
  std::string text;
  std::shared_ptr<const LogSubject> subject;  // null: the record belongs to the process
};

// While a LogScope exists, records of its thread, and of threads that this thread starts, have the scope's subject. A
// thread finds its innermost scope through a plain pointer. A thread-local variable with a destructor would keep the
// library mapped until the thread ends, even after the library's class loader has been collected, and threads of
// applications end late or never.
class LogScope {
 public:
  explicit LogScope(std::shared_ptr<const LogSubject> subject)
      : subject_(std::move(subject)), before_(std::exchange(current_, this)) {}
  ~LogScope() { current_ = before_; }
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

  // Returns the subject of the innermost scope; null if there is none.
  static std::shared_ptr<const LogSubject> current() { return current_ == nullptr ? nullptr : current_->subject_; }

 private:
  static constinit thread_local const LogScope* current_;
  const std::shared_ptr<const LogSubject> subject_;
  const LogScope* const before_;
};

// Returns true if records of this level are kept. Check it before building an expensive text.
bool logEnabled(LogLevel level);
void setLogLevel(LogLevel lowest);

// Never blocks for long. If the ring is full, drops the oldest record and counts it.
void logMessage(LogLevel level, const char* subsystem, std::string text);

// Logs the failure as a warning, for code that has no caller to return it to. Logs nothing if `status` is ok.
void logFailure(const char* subsystem, const Status& status);

// Removes the oldest record and stores it in *record. Returns false if there is none.
bool takeLogRecord(LogRecord* record);
uint64_t droppedLogRecords();

}  // namespace jccl
