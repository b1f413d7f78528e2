#include "transport/shm_views.h"

#include <algorithm>
#include <string>

namespace jccl {
namespace {

// Number of views at the front that keep their order when used: most programs use few buffers again and again.
constexpr std::ptrdiff_t kUnmovedViews = 8;

}  // namespace

Status ShmViews::resolve(int peer, const ShmProcess& process, uint64_t segment, uint64_t offset, size_t bytes,
                         uint8_t** address) {
  auto found = std::find_if(views_.begin(), views_.end(),
                            [&](const View& view) { return view.peer == peer && view.segment == segment; });
  if (found == views_.end()) {
    dropFreed();
    View view{peer, segment, nullptr, 0};
    if (Status status = registry_->import(process, segment, 0, {}, &view.memory); !status) return status;
    if (views_.size() >= max_) views_.pop_back();
    found = views_.insert(views_.begin(), std::move(view));
  } else if (found - views_.begin() >= kUnmovedViews) {
    std::rotate(views_.begin(), found, found + 1);
    found = views_.begin();
  }
  found->lastUse = ++uses_;
  const ShmSegment& memory = *found->memory;
  if (offset > memory.bytes() || bytes > memory.bytes() - offset) {
    return Status::transport("shm: peer=" + std::to_string(peer) + " offset=" + std::to_string(offset) +
                             " bytes=" + std::to_string(bytes) + ": outside of its segment=" + std::to_string(segment) +
                             " of bytes=" + std::to_string(memory.bytes()));
  }
  *address = memory.address() + offset;
  return Status::ok();
}

// Unmaps segments that their owners have freed. The owner has freed their pages; only the mapping is left.
void ShmViews::dropFreed() {
  std::erase_if(views_, [&](const View& view) { return uses_ - view.lastUse >= inUse_ && !view.memory->isLive(); });
}

}  // namespace jccl
