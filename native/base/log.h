// The log ring: native code puts records in, a Java thread drains them into SLF4J. Nothing is ever printed here.
#pragma once

#include <cstdint>
#include <string>

namespace jccl {

enum class LogLevel : uint8_t { Trace = 0, Debug = 1, Info = 2, Warn = 3, Error = 4 };

struct LogRecord {
  LogLevel level = LogLevel::Info;
  int64_t epochNanos = 0;
  const char* subsystem = "";  // "net", "shm": a literal
  std::string text;
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
