#include "engine/workers.h"

#include <algorithm>
#include <string>

namespace jccl {

Status Workers::provide(int channels) {
  while (static_cast<int>(workers_.size()) < channels - 1) {
    const int channel = static_cast<int>(workers_.size()) + 1;
    auto worker = std::make_unique<Worker>(holds_);
    Status opened = worker->open("jccl-ch" + std::to_string(channel), [this, channel] { job_(channel); });
    if (!opened) return opened;
    workers_.push_back(std::move(worker));
  }
  return Status::ok();
}

void Workers::start(int channels) {
  for (int i = 0; i < channels - 1; ++i) workers_[i]->start();
}

bool Workers::haveEnded(int channels) const {
  return std::all_of(workers_.begin(), workers_.begin() + channels - 1,
                     [](const auto& one) { return one->hasEnded(); });
}

bool Workers::join(int channels) {
  bool ended = true;
  for (int i = 0; i < channels - 1; ++i) ended = workers_[i]->join() && ended;
  return ended;
}

}  // namespace jccl
