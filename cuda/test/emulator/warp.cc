// Meetings of the lanes of a warp: in warp functions, and in storeLine and loadLine if the lanes are converged.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string>

#include "cuda/device/memory.h"
#include "cuda/test/emulator/machine_implementation.h"

namespace jccl::emulator {
namespace {

uint32_t bit(const Thread& thread) { return 1u << thread.lane; }

std::string hex(uint32_t mask) {
  char text[16];
  std::snprintf(text, sizeof(text), "0x%08x", mask);
  return text;
}

template <class Action>
void forLanes(const Warp& warp, uint32_t mask, Action action) {
  for (uint32_t left = mask; left != 0; left &= left - 1) action(*warp.lanes[std::countr_zero(left)]);
}

// Returns the lanes that the mask names: kFullMask names those that exist.
uint32_t checkedMask(const Thread& thread, uint32_t mask) {
  Machine::Implementation& machine = *context.machine;
  const Warp& warp = *thread.warp;
  const uint32_t named = mask == ~0u ? warp.existing : mask;
  if ((named & ~warp.existing) != 0) {
    machine.misuse(std::string(nameOf(thread.operation)) + " with mask " + hex(mask) + ": the warp has only lanes " +
                   hex(warp.existing));
  }
  if ((named & bit(thread)) == 0) {
    machine.misuse(std::string(nameOf(thread.operation)) + " with mask " + hex(mask) + " by lane " +
                   std::to_string(thread.lane) + ", which the mask does not name");
  }
  return named;
}

void checkPresent(const Thread& thread, uint32_t mask, uint32_t named) {
  const Warp& warp = *thread.warp;
  if ((named & warp.exited) != 0) {
    context.machine->misuse(std::string(nameOf(thread.operation)) + " with mask " + hex(mask) + ": lanes " +
                            hex(named & warp.exited) + " have left the kernel");
  }
}

size_t findMeeting(Warp& warp, const Thread& thread, uint32_t mask) {
  for (size_t i = 0; i < warp.meeting.size(); ++i) {
    WarpMeeting& other = warp.meeting[i];
    if ((other.mask & mask) == 0) continue;
    if (other.mask == mask && other.operation == thread.operation) return i;
    context.machine->misuse(std::string(nameOf(thread.operation)) + " with mask " + hex(mask) + " while lanes " +
                            hex(other.arrived) + " wait in " + nameOf(other.operation) + " with mask " +
                            hex(other.mask));
  }
  warp.meeting.emplace_back();
  warp.meeting.back().operation = thread.operation;
  warp.meeting.back().mask = mask;
  warp.meeting.back().arrived = 0;
  return warp.meeting.size() - 1;
}

void giveResults(const Warp& warp, const WarpMeeting& meeting) {
  if (meeting.operation == Operation::Shuffle) {
    forLanes(warp, meeting.mask, [&](Thread& lane) {
      const int source = meeting.sources[lane.lane];
      if (source < 0 || source >= 32 || (meeting.mask >> source & 1) == 0) {
        context.machine->misuse("shuffle with mask " + hex(meeting.mask) + ": lane " + std::to_string(lane.lane) +
                                " asks for the value of lane " + std::to_string(source));
      }
      lane.result = meeting.values[source];
    });
    return;
  }
  bool any = false, all = true;
  forLanes(warp, meeting.mask, [&](Thread& lane) {
    any |= meeting.values[lane.lane] != 0;
    all &= meeting.values[lane.lane] != 0;
  });
  const bool result = meeting.operation == Operation::Any ? any : all;
  forLanes(warp, meeting.mask, [&](Thread& lane) { lane.result = result; });
}

// Ends a line meeting: each waiting lane continues on its own.
void breakUp(Warp& warp, size_t i) {
  const LineMeeting meeting = warp.atLine[i];
  warp.atLine.erase(warp.atLine.begin() + static_cast<std::ptrdiff_t>(i));
  forLanes(warp, meeting.arrived, [&](Thread& lane) {
    lane.apart = true;
    lane.mates = 0;
    context.machine->ready(lane);
  });
}

// Moves the 16 bytes of a lane whose line came apart. Other threads may run before the move.
void moveApart(Thread& thread, void* address, uint64_t* value) {
  Machine::Implementation& machine = *context.machine;
  WeakMemory* weak = machine.weak();
  const bool loads = thread.operation == Operation::LoadLine;
  thread.mates = 0;
  machine.lineCameApart();
  for (uint32_t rounds = machine.random().below(4); rounds != 0; --rounds) machine.interrupt(thread);
  if (loads) {
    std::memcpy(value, address, sizeof(simt::Vec16));
    if (weak != nullptr) weak->load(thread, address, value, sizeof(simt::Vec16), false);
  } else if (weak != nullptr) {
    weak->store(thread, address, value, sizeof(simt::Vec16), false);
  } else if (std::memcmp(address, value, sizeof(simt::Vec16)) != 0) {
    std::memcpy(address, value, sizeof(simt::Vec16));
    context.changed = true;
  }
}

void checkParts(const LineMeeting& meeting) {
  const void* before = nullptr;
  bool rising = true;
  for (uint32_t left = meeting.mask; left != 0; left &= left - 1) {
    const void* address = meeting.addresses[std::countr_zero(left)];
    rising &= before < address;
    before = address;
  }
  if (rising) return;
  for (uint32_t left = meeting.mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    for (uint32_t rest = left & (left - 1); rest != 0; rest &= rest - 1) {
      if (meeting.addresses[lane] == meeting.addresses[std::countr_zero(rest)]) {
        context.machine->misuse("storeLine: two lanes store to the same place");
      }
    }
  }
}

void moveWhole(const Warp& warp, const LineMeeting& meeting) {
  if (meeting.operation == Operation::StoreLine) checkParts(meeting);
  WeakMemory* weak = context.machine->weak();
  if (weak != nullptr && meeting.operation == Operation::StoreLine) return weak->storeLines(warp, meeting);
  forLanes(warp, meeting.mask, [&](const Thread& lane) {
    void* address = meeting.addresses[lane.lane];
    uint64_t* value = meeting.values[lane.lane];
    if (meeting.operation == Operation::LoadLine) {
      std::memcpy(value, address, sizeof(simt::Vec16));
    } else if (std::memcmp(address, value, sizeof(simt::Vec16)) != 0) {
      std::memcpy(address, value, sizeof(simt::Vec16));
      context.changed = true;
    }
  });
  if (weak != nullptr) weak->loadLines(warp, meeting);
}

// Returns true if all named lanes met in the same warp function and none is known to have taken another path since.
bool mayBeConverged(const Thread& thread, uint32_t mask) {
  if ((thread.mates & mask) != mask || (thread.warp->exited & mask) != 0) return false;
  bool together = true;
  forLanes(*thread.warp, mask,
           [&](const Thread& lane) { together &= lane.meeting == thread.meeting && (lane.mates & mask) == mask; });
  return together;
}

}  // namespace

void partFromLine(Thread& thread, bool always) {
  Warp& warp = *thread.warp;
  if (warp.atLine.empty()) return;
  for (size_t i = 0; i < warp.atLine.size();) {
    const LineMeeting& other = warp.atLine[i];
    const bool named = (other.mask & ~other.arrived & bit(thread)) != 0;
    if (named && (always || other.meeting != thread.meeting || thread.calls > other.calls)) {
      breakUp(warp, i);
    } else {
      ++i;
    }
  }
}

void leaveMeetings(Thread& thread) {
  Machine::Implementation& machine = *context.machine;
  Block& block = *thread.block;
  partFromLine(thread, true);
  if (block.barriers[0].arrived != 0) {
    machine.misuse("a thread leaves the kernel while " + std::to_string(block.barriers[0].arrived) +
                   " of its block wait at syncBlock");
  }
  for (const WarpMeeting& meeting : thread.warp->meeting) {
    if ((meeting.mask & bit(thread)) != 0) {
      machine.misuse("lane " + std::to_string(thread.lane) + " leaves the kernel while lanes " + hex(meeting.arrived) +
                     " wait for it in " + nameOf(meeting.operation) + " with mask " + hex(meeting.mask));
    }
  }
  thread.warp->exited |= bit(thread);
}

uint64_t meetInWarp(unsigned mask, uint64_t value, int source) {
  Thread& thread = *context.thread;
  Machine::Implementation& machine = *context.machine;
  Warp& warp = *thread.warp;
  const uint32_t named = checkedMask(thread, mask);
  checkPresent(thread, mask, named);
  partFromLine(thread, true);
  const size_t i = findMeeting(warp, thread, named);
  WarpMeeting& meeting = warp.meeting[i];
  meeting.values[thread.lane] = value;
  meeting.sources[thread.lane] = source;
  meeting.arrived |= bit(thread);
  if (meeting.arrived != named) {
    thread.state = State::InWarp;
    thread.waitingMask = named;
    machine.switchAway(thread);
    return thread.result;
  }
  giveResults(warp, meeting);
  if (machine.weak() != nullptr && meeting.operation == Operation::SyncWarp) {
    std::vector<Thread*> met;
    forLanes(warp, named, [&](Thread& lane) { met.push_back(&lane); });
    machine.weak()->meet(met);
  }
  const uint64_t number = ++warp.meetings;
  forLanes(warp, named, [&](Thread& lane) {
    lane.meeting = number;
    lane.mates = named;
    lane.path = 0;
    lane.calls = 0;
    if (&lane != &thread) machine.ready(lane);
  });
  if (i + 1 != warp.meeting.size()) warp.meeting[i] = warp.meeting.back();
  warp.meeting.pop_back();
  return thread.result;
}

void meetAtLine(void* address, uint64_t* value, unsigned mask) {
  Thread& thread = *context.thread;
  Machine::Implementation& machine = *context.machine;
  Warp& warp = *thread.warp;
  const uint32_t named = checkedMask(thread, mask);
  LineMeeting* meeting = nullptr;
  if (!machine.options().splitLines && (thread.mates & named) == named) {
    for (LineMeeting& other : warp.atLine) {
      if (other.mask == named && other.operation == thread.operation && other.path == thread.path &&
          other.meeting == thread.meeting) {
        meeting = &other;
      }
    }
  }
  if (meeting == nullptr) {
    const bool others = std::any_of(warp.atLine.begin(), warp.atLine.end(),
                                    [&](const LineMeeting& other) { return (other.mask & named) != 0; });
    if (machine.options().splitLines || others || !mayBeConverged(thread, named)) {
      partFromLine(thread, true);
      return moveApart(thread, address, value);
    }
  }
  if (meeting == nullptr) {
    meeting = &warp.atLine.emplace_back();
    meeting->operation = thread.operation;
    meeting->mask = named;
    meeting->arrived = 0;
    meeting->meeting = thread.meeting;
    meeting->path = thread.path;
    meeting->calls = thread.calls;
  }
  meeting->addresses[thread.lane] = address;
  meeting->values[thread.lane] = value;
  meeting->arrived |= bit(thread);
  if (meeting->arrived != named) {
    thread.state = State::AtLine;
    thread.waitingMask = named;
    thread.apart = false;
    machine.switchAway(thread);
    if (thread.apart) moveApart(thread, address, value);
    return;
  }
  moveWhole(warp, *meeting);
  forLanes(warp, named, [&](Thread& lane) {
    if (&lane != &thread) machine.ready(lane);
  });
  warp.atLine.erase(warp.atLine.begin() + (meeting - warp.atLine.data()));
}

}  // namespace jccl::emulator
