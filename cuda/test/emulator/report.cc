// Describes in words where threads are.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "cuda/test/emulator/machine_implementation.h"

namespace jccl::emulator {
namespace {

constexpr size_t kMaxLines = 200;

std::string placeOf(const std::source_location& place) {
  if (place.line() == 0) return "nowhere";
  const char* file = place.file_name();
  if (const char* shorter = std::strstr(file, "/cuda/")) file = shorter + 1;
  return std::string(file) + ":" + std::to_string(place.line());
}

std::string placeOf(const Thread& thread) {
  return thread.operation == Operation::Begin ? "at the begin of the kernel" : placeOf(thread.place);
}

// Describes what a thread does, without its number.
std::string doingOf(const Thread& thread) {
  const std::string name = nameOf(thread.operation);
  switch (thread.state) {
    case State::Ready:
      return "can go on after " + name + ", " + placeOf(thread);
    case State::Spinning:
      return "wait in a loop, " + placeOf(thread) + ", for what they load at " + placeOf(thread.looked);
    case State::AtBarrier: {
      const Barrier& barrier = thread.block->barriers[thread.barrier];
      std::string call = name;
      if (thread.barrier != 0) {
        call.append("(").append(std::to_string(thread.barrier)).append(", ");
        call.append(std::to_string(thread.expected)).append(")");
      }
      return "wait at " + call + ", " + std::to_string(barrier.arrived) + " of " + std::to_string(barrier.expected) +
             " there, " + placeOf(thread);
    }
    case State::InWarp:
    case State::AtLine: {
      char mask[16];
      std::snprintf(mask, sizeof(mask), "0x%08x", thread.waitingMask);
      return "wait in " + name + " with mask " + mask + ", " + placeOf(thread);
    }
    case State::Exited:
      return "have left the kernel";
  }
  return "?";
}

std::string rangesOf(const std::vector<unsigned>& threads) {
  std::string text;
  for (size_t i = 0; i < threads.size();) {
    size_t end = i + 1;
    while (end < threads.size() && threads[end] == threads[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += std::to_string(threads[i]);
    if (end - i > 1) text.append("-").append(std::to_string(threads[end - 1]));
    i = end;
  }
  return text;
}

std::string describe(const Block& block) {
  std::vector<std::pair<std::string, std::vector<unsigned>>> groups;
  for (const Thread& thread : block.threads) {
    const std::string doing = doingOf(thread);
    const auto same = [&](const auto& group) { return group.first == doing; };
    auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) found = groups.insert(groups.end(), {doing, {}});
    found->second.push_back(thread.index);
  }
  std::string text;
  for (const auto& [doing, threads] : groups) {
    text.append("  ").append(block.launch->name).append(", block ").append(std::to_string(block.index));
    text.append(", threads ").append(rangesOf(threads)).append(": ").append(doing).append("\n");
  }
  return text;
}

}  // namespace

const char* nameOf(Operation operation) {
  static constexpr const char* names[] = {"begin",        "syncBlock",      "syncThreads",
                                          "syncOr",       "syncWarp",       "any",
                                          "all",          "shuffle",        "nanos",
                                          "pause",        "loadRelaxed",    "loadAcquire",
                                          "storeRelaxed", "storeRelease",   "addOrdered",
                                          "fence",        "loadCells",      "storeCells",
                                          "loadLine",     "storeLine",      "loadPeer",
                                          "storePeer",    "loadUser",       "storeUser",
                                          "loadReduced",  "storeMulticast", "releaseMulticast",
                                          "fenceAliases"};
  static_assert(std::size(names) == static_cast<size_t>(Operation::FenceAliases) + 1);
  return names[static_cast<size_t>(operation)];
}

std::string describe(const Thread& thread) {
  return thread.block->launch->name + ", block " + std::to_string(thread.blockIndex) + ", thread " +
         std::to_string(thread.index) + " in " + nameOf(thread.operation) + ", " + placeOf(thread);
}

std::string describe(const std::vector<std::unique_ptr<Launch>>& launches) {
  std::string text;
  for (const auto& launch : launches) {
    if (launch->blocksLeft == 0) continue;
    if (!launch->begun) {
      text.append("  ")
          .append(launch->name)
          .append(": waits for launch ")
          .append(std::to_string(launch->after))
          .append("\n");
    }
    for (const auto& block : launch->blocks) text += describe(*block);
  }
  size_t lines = 0, end = 0;
  while (lines < kMaxLines && end < text.size()) {
    end = text.find('\n', end) + 1;
    ++lines;
  }
  if (end < text.size()) text.replace(end, std::string::npos, "  ...\n");
  return text;
}

}  // namespace jccl::emulator
