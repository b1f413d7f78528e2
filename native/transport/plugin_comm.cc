#include "transport/plugin_comm.h"

#include <algorithm>

#include "base/log.h"
#include "plugin/net_abi.h"

namespace jccl {

Status PluginComm::memory(PluginMemory& memory, void** handle) {
  const auto known = registered_.find(&memory);
  if (__builtin_expect(known != registered_.end(), 1)) {
    *handle = known->second;
    return Status::ok();
  }
  if (raw_ == nullptr) return Status::internal("plug-in: the communicator is closed");
  if (Status done = memory.registerWith(*plugin_, raw_, handle); !done) return done;
  registered_[&memory] = *handle;
  memory.users_.push_back(this);
  return Status::ok();
}

void PluginComm::forget(PluginMemory* memory) {
  const auto known = registered_.find(memory);
  if (known == registered_.end()) return;
  logFailure("net", plugin_->deregister(raw_, known->second));
  registered_.erase(known);
}

void PluginComm::close() {
  if (raw_ == nullptr) return;
  for (const auto& [memory, handle] : registered_) {
    logFailure("net", plugin_->deregister(raw_, handle));
    memory->users_.erase(std::remove(memory->users_.begin(), memory->users_.end(), this), memory->users_.end());
  }
  registered_.clear();
  logFailure("net", direction_ == Direction::Send ? plugin_->closeSend(raw_) : plugin_->closeReceive(raw_));
  raw_ = nullptr;
}

Status PluginMemory::registerWith(plugin::NetPlugin& plugin, void* comm, void** handle) const {
  if (dmabuf_) return plugin.registerDmaBuf(comm, address_, bytes_, dmabuf_.get(), handle);
  return plugin.registerMemory(comm, address_, bytes_, onDevice_ ? plugin::kPointerCuda : plugin::kPointerHost, handle);
}

PluginMemory::~PluginMemory() {
  for (PluginComm* user : users_) user->forget(this);
}

}  // namespace jccl
