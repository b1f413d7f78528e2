#include "transport/malloc_chunk.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "base/page.h"
#include "transport/registration_refusal.h"

namespace jccl {
namespace {

// Flags in the size word of glibc's chunks. If kIsMapped is set, the two others must be 0.
constexpr size_t kFlags = 7;
constexpr size_t kIsMapped = 2;

constexpr size_t kHeaderBytes = 2 * sizeof(size_t);
// Size of the header that the JVM puts in front of its own memory while native memory tracking is on.
constexpr size_t kTrackingBytes = 16;

// Returns true if `header` is the header of a mapped chunk. The bytes at `header` may also be data of another
// allocation, so every value in them is checked.
bool isChunk(uintptr_t header, uintptr_t address, size_t bytes, MallocChunk& chunk) {
  const size_t page = pageBytes();
  if (header / page != address / page) return false;
  size_t words[2];  // [0]: number of bytes between the begin of the mapping and the header; [1]: size and flags
  std::memcpy(words, reinterpret_cast<const void*>(header), sizeof words);
  const size_t size = words[1] & ~kFlags;
  if ((words[1] & kFlags) != kIsMapped || words[0] > header % page) return false;
  const uintptr_t begin = header - words[0];
  if (begin % page != 0 || (size + words[0]) % page != 0) return false;
  const size_t used = address - header + bytes;
  if (size < used || size - used >= 2 * page) return false;
  chunk = {reinterpret_cast<uint8_t*>(begin), size + words[0]};
  return true;
}

// Returns true if the whole chunk is writable, private to this process, and not the mapping of a file.
bool isPrivate(std::ifstream& maps, const MallocChunk& chunk) {
  uintptr_t next = reinterpret_cast<uintptr_t>(chunk.begin);
  const uintptr_t end = next + chunk.bytes;
  for (std::string line; next < end && std::getline(maps, line);) {
    unsigned long long from = 0;
    unsigned long long to = 0;
    unsigned long long inode = 0;
    char rights[5] = {};
    if (std::sscanf(line.c_str(), "%llx-%llx %4s %*x %*x:%*x %llu", &from, &to, rights, &inode) != 4) return false;
    if (to <= next) continue;
    if (from > next || inode != 0 || std::strncmp(rights, "rw", 2) != 0 || rights[3] != 'p') return false;
    next = to;
  }
  return next >= end;
}

}  // namespace

Status MallocChunk::of(const void* address, size_t bytes, MallocChunk& chunk) {
  const auto at = reinterpret_cast<uintptr_t>(address);
#ifdef __GLIBC__
  if (at % pageBytes() >= kHeaderBytes &&
      (isChunk(at - kHeaderBytes, at, bytes, chunk) || isChunk(at - kHeaderBytes - kTrackingBytes, at, bytes, chunk))) {
    std::ifstream maps("/proc/self/maps");
    if (!maps) return refusal::unknownMapping(address, bytes);
    return isPrivate(maps, chunk) ? Status::ok() : refusal::notPrivate(address, bytes);
  }
#endif
  return refusal::notAlone(address, bytes);
}

}  // namespace jccl
