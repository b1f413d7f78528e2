// Writes and reads rows of numbers in the layouts of io.jccl.nativelib.Rows.
#pragma once

#include <jni.h>

#include <cstdint>
#include <span>
#include <vector>

#include "engine/diagnostics.h"
#include "engine/history.h"
#include "engine/staging.h"
#include "engine/transfer_history.h"
#include "jni/java_constants.h"
#include "jni/jni_support.h"

namespace jccl::jni {

static_assert(isLayout({JCCL_ROW(HISTORY_SEQUENCE), JCCL_ROW(HISTORY_FINGERPRINT), JCCL_ROW(HISTORY_OPERATION),
                        JCCL_ROW(HISTORY_ROOT), JCCL_ROW(HISTORY_COUNT), JCCL_ROW(HISTORY_STATE),
                        JCCL_ROW(HISTORY_BEGUN), JCCL_ROW(HISTORY_ENDED), JCCL_ROW(HISTORY_WAITED),
                        JCCL_ROW(HISTORY_WAITED_FOR), JCCL_ROW(HISTORY_CHOICE), JCCL_ROW(HISTORY_BYTES)},
                       JCCL_ROW(HISTORY_LENGTH)));

// Returns the row of an operation from the history; empty if the operation is not on record.
inline std::vector<int64_t> historyRow(const History& history, int64_t sequence) {
  HistoryRow found;
  if (!history.read(static_cast<uint64_t>(sequence), found)) return {};
  std::vector<int64_t> row(JCCL_ROW(HISTORY_LENGTH));
  row[JCCL_ROW(HISTORY_SEQUENCE)] = static_cast<int64_t>(found.sequence);
  row[JCCL_ROW(HISTORY_FINGERPRINT)] = static_cast<int64_t>(found.fingerprint);
  row[JCCL_ROW(HISTORY_OPERATION)] = found.code;
  row[JCCL_ROW(HISTORY_ROOT)] = found.root;
  row[JCCL_ROW(HISTORY_COUNT)] = static_cast<int64_t>(found.count);
  row[JCCL_ROW(HISTORY_STATE)] = static_cast<int64_t>(found.state);
  row[JCCL_ROW(HISTORY_BEGUN)] = found.begun;
  row[JCCL_ROW(HISTORY_ENDED)] = found.ended;
  row[JCCL_ROW(HISTORY_WAITED)] = found.waitedNanos;
  row[JCCL_ROW(HISTORY_WAITED_FOR)] = found.waitedFor;
  row[JCCL_ROW(HISTORY_CHOICE)] = found.choice;
  row[JCCL_ROW(HISTORY_BYTES)] = static_cast<int64_t>(found.bytes);
  return row;
}

static_assert(isLayout({JCCL_ROW(TRANSFERS_NUMBER), JCCL_ROW(TRANSFERS_AFTER), JCCL_ROW(TRANSFERS_STATE),
                        JCCL_ROW(TRANSFERS_SENDS), JCCL_ROW(TRANSFERS_TO), JCCL_ROW(TRANSFERS_SENT_BYTES),
                        JCCL_ROW(TRANSFERS_RECEIVES), JCCL_ROW(TRANSFERS_FROM), JCCL_ROW(TRANSFERS_RECEIVED_BYTES),
                        JCCL_ROW(TRANSFERS_BEGUN), JCCL_ROW(TRANSFERS_ENDED), JCCL_ROW(TRANSFERS_WAITED),
                        JCCL_ROW(TRANSFERS_WAITED_FOR)},
                       JCCL_ROW(TRANSFERS_LENGTH)));

// Returns the row of a group of sends and receives from the history; empty if the group is not on record.
inline std::vector<int64_t> transferRow(const TransferHistory& history, int64_t number) {
  TransferRow found;
  if (!history.read(static_cast<uint64_t>(number), found)) return {};
  std::vector<int64_t> row(JCCL_ROW(TRANSFERS_LENGTH));
  row[JCCL_ROW(TRANSFERS_NUMBER)] = static_cast<int64_t>(found.number);
  row[JCCL_ROW(TRANSFERS_AFTER)] = static_cast<int64_t>(found.after);
  row[JCCL_ROW(TRANSFERS_STATE)] = static_cast<int64_t>(found.state);
  row[JCCL_ROW(TRANSFERS_SENDS)] = found.sends;
  row[JCCL_ROW(TRANSFERS_TO)] = found.to;
  row[JCCL_ROW(TRANSFERS_SENT_BYTES)] = static_cast<int64_t>(found.sentBytes);
  row[JCCL_ROW(TRANSFERS_RECEIVES)] = found.receives;
  row[JCCL_ROW(TRANSFERS_FROM)] = found.from;
  row[JCCL_ROW(TRANSFERS_RECEIVED_BYTES)] = static_cast<int64_t>(found.receivedBytes);
  row[JCCL_ROW(TRANSFERS_BEGUN)] = found.begun;
  row[JCCL_ROW(TRANSFERS_ENDED)] = found.ended;
  row[JCCL_ROW(TRANSFERS_WAITED)] = found.waitedNanos;
  row[JCCL_ROW(TRANSFERS_WAITED_FOR)] = found.waitedFor;
  return row;
}

static_assert(isLayout({JCCL_ROW(WAIT_CHANNEL), JCCL_ROW(WAIT_PEER), JCCL_ROW(WAIT_TRANSPORT), JCCL_ROW(WAIT_FOR),
                        JCCL_ROW(WAIT_PROTOCOL), JCCL_ROW(WAIT_STEP), JCCL_ROW(WAIT_SEQUENCE), JCCL_ROW(WAIT_NANOS)},
                       JCCL_ROW(WAIT_LENGTH)));

// Returns one row for each wait.
inline std::vector<int64_t> waitRows(const std::vector<ChannelWait>& waits) {
  std::vector<int64_t> rows(waits.size() * JCCL_ROW(WAIT_LENGTH));
  int64_t* row = rows.data();
  for (const ChannelWait& wait : waits) {
    row[JCCL_ROW(WAIT_CHANNEL)] = wait.channel;
    row[JCCL_ROW(WAIT_PEER)] = wait.place.peer;
    row[JCCL_ROW(WAIT_TRANSPORT)] = static_cast<int64_t>(wait.place.transport);
    row[JCCL_ROW(WAIT_FOR)] = static_cast<int64_t>(wait.place.waitFor);
    row[JCCL_ROW(WAIT_PROTOCOL)] = static_cast<int64_t>(wait.place.protocol);
    row[JCCL_ROW(WAIT_STEP)] = static_cast<int64_t>(wait.place.step);
    row[JCCL_ROW(WAIT_SEQUENCE)] = static_cast<int64_t>(wait.sequence);
    row[JCCL_ROW(WAIT_NANOS)] = wait.waitedNanos;
    row += JCCL_ROW(WAIT_LENGTH);
  }
  return rows;
}

static_assert(isLayout({JCCL_ROW(STAGED_SEND_BLOCK), JCCL_ROW(STAGED_SEND_HEAD), JCCL_ROW(STAGED_SEND_SLOTS),
                        JCCL_ROW(STAGED_RECV_BLOCK), JCCL_ROW(STAGED_RECV_HEAD), JCCL_ROW(STAGED_RECV_SLOTS)},
                       JCCL_ROW(STAGED_LENGTH)));

// Appends one row for each element of `ends`.
inline void appendStaged(const std::vector<StagedEnds>& ends, std::vector<int64_t>& rows) {
  const auto address = [](const void* memory) { return reinterpret_cast<int64_t>(memory); };
  for (const StagedEnds& end : ends) {
    const size_t at = rows.size();
    rows.resize(at + JCCL_ROW(STAGED_LENGTH));
    int64_t* row = &rows[at];
    row[JCCL_ROW(STAGED_SEND_BLOCK)] = address(end.sendBlock);
    row[JCCL_ROW(STAGED_SEND_HEAD)] = address(end.sendHead);
    row[JCCL_ROW(STAGED_SEND_SLOTS)] = address(end.sendSlots);
    row[JCCL_ROW(STAGED_RECV_BLOCK)] = address(end.recvBlock);
    row[JCCL_ROW(STAGED_RECV_HEAD)] = address(end.recvHead);
    row[JCCL_ROW(STAGED_RECV_SLOTS)] = address(end.recvSlots);
  }
}

// Reads the rows that appendStaged wrote.
inline std::vector<StagedEnds> stagedEnds(std::span<const int64_t> rows) {
  std::vector<StagedEnds> ends;
  for (; rows.size() >= JCCL_ROW(STAGED_LENGTH); rows = rows.subspan(JCCL_ROW(STAGED_LENGTH))) {
    const auto memory = [&](size_t place) { return reinterpret_cast<uint8_t*>(rows[place]); };
    ends.push_back({.sendBlock = memory(JCCL_ROW(STAGED_SEND_BLOCK)),
                    .sendHead = memory(JCCL_ROW(STAGED_SEND_HEAD)),
                    .sendSlots = memory(JCCL_ROW(STAGED_SEND_SLOTS)),
                    .recvBlock = memory(JCCL_ROW(STAGED_RECV_BLOCK)),
                    .recvHead = memory(JCCL_ROW(STAGED_RECV_HEAD)),
                    .recvSlots = memory(JCCL_ROW(STAGED_RECV_SLOTS))});
  }
  return ends;
}

// Copies rows of kLength numbers, and passes each to `append`. Returns false if the last row is incomplete or the array
// cannot be read.
template <size_t kLength, typename Append>
bool readRows(JNIEnv* env, jintArray rows, Append&& append) {
  std::vector<int32_t> numbers;
  if (!copyInts(env, rows, numbers) || numbers.size() % kLength != 0) return false;
  for (size_t at = 0; at < numbers.size(); at += kLength) append(&numbers[at]);
  return true;
}

}  // namespace jccl::jni
