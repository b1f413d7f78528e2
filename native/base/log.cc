#include "base/log.h"

#include <atomic>
#include <ctime>
#include <deque>
#include <mutex>
#include <utility>

#include "base/status.h"

namespace jccl {
namespace {

constexpr size_t kRingRecords = 1024;

struct Ring {
  std::mutex mutex;
  std::deque<LogRecord> records;
  uint64_t dropped = 0;
};

// Never destroyed: threads may log until the process has ended.
Ring& ring() {
  static Ring* const instance = new Ring();
  return *instance;
}

std::atomic<LogLevel> lowestLevel{LogLevel::Debug};

}  // namespace

constinit thread_local const LogScope* LogScope::current_ = nullptr;

bool logEnabled(LogLevel level) { return level >= lowestLevel.load(std::memory_order_relaxed); }

void setLogLevel(LogLevel lowest) { lowestLevel.store(lowest, std::memory_order_relaxed); }

void logMessage(LogLevel level, const char* subsystem, std::string text) {
  if (!logEnabled(level)) return;
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  LogRecord record = {level, int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec, subsystem, std::move(text),
                      LogScope::current()};
  Ring& to = ring();
  const std::lock_guard lock(to.mutex);
  if (to.records.size() == kRingRecords) {
    to.records.pop_front();
    ++to.dropped;
  }
  to.records.push_back(std::move(record));
}

void logFailure(const char* subsystem, const Status& status) {
  if (!status) logMessage(LogLevel::Warn, subsystem, status.message());
}

bool takeLogRecord(LogRecord* record) {
  Ring& from = ring();
  const std::lock_guard lock(from.mutex);
  if (from.records.empty()) return false;
  *record = std::move(from.records.front());
  from.records.pop_front();
  return true;
}

uint64_t droppedLogRecords() {
  Ring& from = ring();
  const std::lock_guard lock(from.mutex);
  return from.dropped;
}

}  // namespace jccl
