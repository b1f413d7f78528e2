// Reads sends and receives from the rows of io.jccl.nativelib.Rows in which Java passes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/exchange_tasks.h"
#include "jni/java_constants.h"

namespace jccl::jni {

static_assert(JCCL_ROW(TASK_SEND) == static_cast<int>(PointToPointTask::Kind::Send));
static_assert(JCCL_ROW(TASK_RECV) == static_cast<int>(PointToPointTask::Kind::Recv));
static_assert(isLayout({JCCL_ROW(TASK_KIND), JCCL_ROW(TASK_PEER), JCCL_ROW(TASK_TYPE), JCCL_ROW(TASK_ADDRESS),
                        JCCL_ROW(TASK_COUNT)},
                       JCCL_ROW(TASK_LENGTH)));

inline Status readTask(int64_t kind, int64_t peer, int64_t type, int64_t address, int64_t count,
                       PointToPointTask& task) {
  if ((kind != JCCL_ROW(TASK_SEND) && kind != JCCL_ROW(TASK_RECV)) || type < 0 || type >= kDataTypeCount || count < 0 ||
      peer < 0 || peer > INT32_MAX) {
    return Status::invalid("kind=" + std::to_string(kind) + " peer=" + std::to_string(peer) +
                           " type=" + std::to_string(type) + " count=" + std::to_string(count) +
                           ", expected kind 0 or 1, a rank, a known type, count >= 0");
  }
  const auto elements = static_cast<size_t>(count);
  const auto of = static_cast<DataType>(type);
  task = {static_cast<PointToPointTask::Kind>(kind), static_cast<int>(peer), reinterpret_cast<uint8_t*>(address),
          elements * sizeOf(of), messageFingerprint(of, elements)};
  return Status::ok();
}

inline Status readTasks(const std::vector<int64_t>& values, std::vector<PointToPointTask>& tasks) {
  constexpr size_t kLength = JCCL_ROW(TASK_LENGTH);
  if (values.size() % kLength != 0) {
    return Status::invalid("tasksLength=" + std::to_string(values.size()) + ", expected a multiple of " +
                           std::to_string(kLength));
  }
  for (size_t at = 0; at < values.size(); at += kLength) {
    const int64_t* row = &values[at];
    const Status read = readTask(row[JCCL_ROW(TASK_KIND)], row[JCCL_ROW(TASK_PEER)], row[JCCL_ROW(TASK_TYPE)],
                                 row[JCCL_ROW(TASK_ADDRESS)], row[JCCL_ROW(TASK_COUNT)], tasks.emplace_back());
    if (!read) return Status::invalid("task=" + std::to_string(at / kLength) + " " + read.message());
  }
  return Status::ok();
}

}  // namespace jccl::jni
