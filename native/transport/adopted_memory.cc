#include "transport/adopted_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/page.h"
#include "transport/registration_refusal.h"

namespace jccl {
namespace {

// Number of bytes that are copied at a time. During the copy these bytes exist twice.
size_t stepBytes() { return std::max<size_t>(hugePageBytes(), size_t{2} << 20); }

std::string describe(const MallocChunk& chunk, size_t done) {
  return "registered memory bytes=" + std::to_string(chunk.bytes) + " done=" + std::to_string(done);
}

}  // namespace

Status AdoptedMemory::adopt(const MallocChunk& chunk, std::unique_ptr<AdoptedMemory>& memory) {
  std::unique_ptr<AdoptedMemory> made(new AdoptedMemory(chunk));
  const size_t huge = hugePageBytes();
  made->offset_ = huge == 0 ? 0 : reinterpret_cast<uintptr_t>(chunk.begin) % huge;
  made->segment_ = std::make_shared<ShmSegment>();
  ShmSegment& segment = *made->segment_;
  // The segment has one more page after the chunk, for the live flag.
  const size_t bytes = made->offset_ + chunk.bytes + pageBytes();
  if (Status status = ShmSegment::create("registered", bytes, ShmBacking::Memfd, &segment); !status) return status;
  const size_t end = made->offset_ + chunk.bytes;
  for (size_t at = made->offset_; at < end;) {
    const size_t next = std::min(end, (at / stepBytes() + 1) * stepBytes());
    uint8_t* const place = chunk.begin + (at - made->offset_);
    if (at % stepBytes() == 0 && next - at == stepBytes()) segment.takeHugePages(at, next - at);
    std::memcpy(segment.address() + at, place, next - at);
    if (::mmap(place, next - at, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, segment.fd(),
               static_cast<off_t>(at)) == MAP_FAILED) {
      return made->undo(at - made->offset_, Status::system("mmap", describe(chunk, at - made->offset_)));
    }
    at = next;
  }
  // The segment's own mapping is needed for the live flag only. Otherwise the chunk's pages in that mapping would count
  // a second time in the process's resident memory.
  ::madvise(segment.address(), segment.bytes(), MADV_DONTNEED);
  segment.markLive();
  made->check_ = MappingCheck(segment.fd(), static_cast<off_t>(made->offset_), chunk.begin, chunk.bytes);
  if (!made->check_.isMapped()) return made->undo(chunk.bytes, refusal::unknownMapping(chunk.begin, chunk.bytes));
  memory = std::move(made);
  return Status::ok();
}

// Undoes an adopt() that failed at offset `end`. Returns `why`, followed by the error of the undoing if there is one.
Status AdoptedMemory::undo(size_t end, const Status& why) const {
  const Status restored = restore(end);
  return restored ? why : Status(why.code(), why.message() + "; " + restored.message());
}

// Replaces the pages of [0, end) of the chunk by private pages with the same bytes.
Status AdoptedMemory::restore(size_t end) const {
  for (size_t at = 0; at < end;) {
    const size_t next = std::min(end, at + stepBytes());
    if (::mmap(chunk_.begin + at, next - at, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        MAP_FAILED) {
      return Status::system("mmap", describe(chunk_, at));
    }
    std::memcpy(chunk_.begin + at, segment_->address() + offset_ + at, next - at);
    ::fallocate(segment_->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset_ + at),
                static_cast<off_t>(next - at));
    at = next;
  }
  return Status::ok();
}

Status AdoptedMemory::giveBack(bool& freed) {
  freed = false;
  if (isolated_) {
    if (Status status = ShmSegment::isolatePages(chunk_.begin, chunk_.bytes); !status) return status;
    return segment_->discard(false);
  }
  switch (check_.lookUp()) {
    case MappingCheck::Answer::Unknown:
      return refusal::unknownMapping(chunk_.begin, chunk_.bytes);
    case MappingCheck::Answer::No:
      freed = true;
      break;
    case MappingCheck::Answer::Yes:
      if (Status status = restore(chunk_.bytes); !status) {
        isolated_ = true;  // some pages may be private, others not
        return status;
      }
  }
  return segment_->discard(false);
}

Status AdoptedMemory::isolate(size_t offset, size_t bytes) {
  const size_t page = pageBytes();
  const size_t begin = offset / page * page;
  const size_t end = (offset + bytes + page - 1) / page * page;
  if (!check_.isMapped() && !isolated_)
    return Status::invalid(describe(chunk_, 0) + ": it is not at its place any more");
  Status status = ShmSegment::isolatePages(chunk_.begin + begin, end - begin);
  isolated_ = isolated_ || status.isOk();
  return status;
}

}  // namespace jccl
