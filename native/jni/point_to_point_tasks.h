// Point-to-point tasks as they cross the border: NativeCommunicator.TASK_LENGTH numbers each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/exchange_tasks.h"
#include "io_jccl_nativelib_NativeCommunicator.h"

namespace jccl::jni {

static_assert(io_jccl_nativelib_NativeCommunicator_TASK_SEND == static_cast<int>(PointToPointTask::Kind::Send));
static_assert(io_jccl_nativelib_NativeCommunicator_TASK_RECV == static_cast<int>(PointToPointTask::Kind::Recv));

inline Status readTask(int64_t kind, int64_t peer, int64_t type, int64_t address, int64_t count,
                       PointToPointTask& task) {
  if ((kind != io_jccl_nativelib_NativeCommunicator_TASK_SEND &&
       kind != io_jccl_nativelib_NativeCommunicator_TASK_RECV) ||
      type < 0 || type >= kDataTypeCount || count < 0 || peer < 0 || peer > INT32_MAX) {
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
  constexpr size_t kLength = io_jccl_nativelib_NativeCommunicator_TASK_LENGTH;
  if (values.size() % kLength != 0) {
    return Status::invalid("tasksLength=" + std::to_string(values.size()) + ", expected a multiple of " +
                           std::to_string(kLength));
  }
  for (size_t at = 0; at < values.size(); at += kLength) {
    const Status read =
        readTask(values[at], values[at + 1], values[at + 2], values[at + 3], values[at + 4], tasks.emplace_back());
    if (!read) return Status::invalid("task=" + std::to_string(at / kLength) + " " + read.message());
  }
  return Status::ok();
}

}  // namespace jccl::jni
