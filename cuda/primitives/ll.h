// LL on the device: every thread waits for its own cells and moves their data. There is no fence and no barrier: the
// flag in a cell publishes it. layout.h draws the slot.
//
// A thread moves 8 bytes of payload at a time: cells 2u+1 and 2u+2, one aligned access of 16 bytes. The last thread
// moves cell 0, the check word.
#pragma once

#include <cstdint>

#include "cuda/primitives/links.h"
#include "cuda/primitives/move.h"

namespace jccl::device {

template <class E, int FlagBits>
class LLMover {
 public:
  JCCL_DEVICE LLMover(const BlockState& state, const Team& team, const LinkRange& links, const Reduction& reduction)
      : state_(state), team_(team), links_(links), reduction_(reduction) {}

  // Moves `bytes` from the receive links and `in` (null: none) to `out` (null: none) and the send links. Returns false
  // if this thread gave up because the operation has failed.
  JCCL_DEVICE bool run(const uint8_t* in, uint8_t* out, uint32_t bytes, uint32_t check, const ConnectionShape& shape) {
    const Waiter waiter(state_.wait);
    if (team_.thread == team_.threads - 1 && !moveCheck(waiter, check)) return false;
    for (uint32_t at = 8 * team_.thread; at < bytes; at += 8 * team_.threads) {
      if (!moveGranule(waiter, in, out, at, bytes - at < 8 ? bytes - at : 8)) return false;
    }
    for (int i = 0; i < links_.sendCount; ++i) scrub(state_.sent[links_.firstSend + i], bytes, shape);
    return true;
  }

 private:
  using Flags = LLFlags<FlagBits>;

  JCCL_DEVICE static uint64_t cell(uint32_t payload, uint64_t step) {
    return payload | uint64_t{Flags::flagOf(step)} << 32;
  }
  JCCL_DEVICE static uint64_t* cellAt(const SlotChunk& chunk, uint32_t index) {
    return reinterpret_cast<uint64_t*>(chunk.at) + index;
  }

  JCCL_DEVICE bool moveCheck(const Waiter& waiter, uint32_t check) const {
    for (int i = 0; i < links_.sendCount; ++i) {
      const SlotChunk& chunk = state_.sent[links_.firstSend + i];
      simt::storeCell(cellAt(chunk, 0), cell(check, chunk.step));
    }
    for (int i = 0; i < links_.recvCount; ++i) {
      const SlotChunk& chunk = state_.received[links_.firstRecv + i];
      const WaitPlace place = state_.recvs[links_.firstRecv + i].place(WaitFor::Data, Protocol::LL, chunk.step);
      uint64_t found = 0;
      const auto ready = [&] {
        found = simt::loadRelaxed(cellAt(chunk, 0));
        return static_cast<uint32_t>(found >> 32) == Flags::flagOf(chunk.step);
      };
      if (!waiter.wait(ready, place)) return false;
      if (static_cast<uint32_t>(found) != check) {
        waiter.fail(Code::Mismatch, place);
        return false;
      }
    }
    return true;
  }

  JCCL_DEVICE bool moveGranule(const Waiter& waiter, const uint8_t* in, uint8_t* out, uint32_t at,
                               uint32_t bytes) const {
    const uint64_t own = in == nullptr ? 0 : loadGranule(in + at, bytes);
    uint64_t result = own;
    if (links_.recvCount == 1 && in == nullptr) {
      if (!receive(waiter, 0, at, bytes, result)) return false;
    } else if (links_.recvCount > 0) {
      if (!reduce(waiter, own, in != nullptr, at, bytes, result)) return false;
    }
    if (out != nullptr) storeGranule(out + at, bytes, result);
    for (int i = 0; i < links_.sendCount; ++i) {
      const SlotChunk& chunk = state_.sent[links_.firstSend + i];
      uint64_t* to = cellAt(chunk, 1 + at / kLLPayloadBytes);
      const uint64_t first = cell(static_cast<uint32_t>(result), chunk.step);
      if (bytes > kLLPayloadBytes) {
        simt::storeCells(to, {first, cell(static_cast<uint32_t>(result >> 32), chunk.step)});
      } else {
        simt::storeCell(to, first);
      }
    }
    return true;
  }

  JCCL_DEVICE bool reduce(const Waiter& waiter, uint64_t own, bool hasOwn, uint32_t at, uint32_t bytes,
                          uint64_t& result) const {
    Accumulator<E> accumulator;
    bool begun = false;
    const auto add = [&](uint64_t word) {
      if (begun) {
        accumulator.fold(word, reduction_);
      } else {
        accumulator.load(word);
        begun = true;
      }
    };
    for (int i = 0; i <= links_.recvCount; ++i) {
      if (hasOwn && i == links_.ownPosition) add(own);
      if (i == links_.recvCount) break;
      uint64_t word = 0;
      if (!receive(waiter, i, at, bytes, word)) return false;
      add(word);
    }
    if (reduction_.divisor != 1) accumulator.divide(reduction_);
    result = accumulator.pack();
    return true;
  }

  JCCL_DEVICE bool receive(const Waiter& waiter, int link, uint32_t at, uint32_t bytes, uint64_t& word) const {
    const SlotChunk& chunk = state_.received[links_.firstRecv + link];
    const uint64_t* from = cellAt(chunk, 1 + at / kLLPayloadBytes);
    const uint32_t flag = Flags::flagOf(chunk.step);
    const bool two = bytes > kLLPayloadBytes;
    simt::Vec16 cells{};
    const auto ready = [&] {
      cells = simt::loadCells(from);
      return static_cast<uint32_t>(cells.low >> 32) == flag &&
             (!two || static_cast<uint32_t>(cells.high >> 32) == flag);
    };
    if (!waiter.wait(ready, state_.recvs[links_.firstRecv + link].place(WaitFor::Data, Protocol::LL, chunk.step)))
      return false;
    word = static_cast<uint32_t>(cells.low) | (two ? cells.high << 32 : 0);
    return true;
  }

  // Removes old flags from the cells of the slot that the step did not write: see LLFlags.
  JCCL_DEVICE void scrub(const SlotChunk& chunk, uint32_t bytes, const ConnectionShape& shape) const {
    if (!Flags::mustScrub(chunk.step)) return;
    const uint32_t written = 1 + (bytes + kLLPayloadBytes - 1) / kLLPayloadBytes;
    const uint64_t never = uint64_t{Flags::neverFlagOf(chunk.step)} << 32;
    for (uint32_t i = written + team_.thread; i < shape.llSlotBytes() / kLLCellBytes; i += team_.threads) {
      simt::storeCell(cellAt(chunk, i), never);
    }
  }

  const BlockState& state_;
  const Team& team_;
  const LinkRange& links_;
  const Reduction& reduction_;
};

}  // namespace jccl::device
