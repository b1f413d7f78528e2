// Memory regions, completion queues and queue pairs of the fake adapters. The thread that posts a request also executes
// it. Like real adapters, the fake ones check keys, bounds, packet sequence numbers and the access rights of both ends,
// and fail the queue pairs when a right is missing. In addition they record which granted rights were ever needed.
#include "test/verbs/fake_transfers.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace jccl::verbs {
namespace {

constexpr int kLocalProtectionError = 4;

struct FakeChannel : CompletionChannel {
  CompletionQueue* queue = nullptr;
};

struct FakeQueue : CompletionQueue {
  std::deque<WorkCompletion> completions;
  bool armed = false;
};

struct FakeRegion : MemoryRegion {
  int granted = 0;
  int needed = 0;

  bool holds(uint64_t from, uint64_t length) const {
    const auto begin = reinterpret_cast<uintptr_t>(address);
    return from >= begin && length <= bytes && from - begin <= bytes - length;
  }
};

struct FakeQueuePair : QueuePair {
  QpState now = QpState::Reset;
  int granted = 0;
  int needed = 0;
  QpAttributes set{};
  std::deque<uint64_t> receives;
};

std::mutex mutex;  // guards all variables below
std::map<uint32_t, FakeRegion*> byLkey;
std::map<uint32_t, FakeRegion*> byRkey;
std::map<uint32_t, FakeQueuePair*> byNumber;
std::vector<uint32_t> firstPsns;
std::vector<FakeRegion> everRegistered;
std::string unneededRights;
uint32_t lastKey = 0;
uint32_t lastNumber = 0;

// Adds the right that ibv_reg_mr(3) demands along with remote write: local write.
int withImplied(int needed) { return (needed & kAccessRemoteWrite) != 0 ? needed | kAccessLocalWrite : needed; }

void noteUnneeded(const std::string& whose, int granted, int needed) {
  const int unneeded = granted & ~withImplied(needed) & ~kAccessRelaxedOrdering;
  if (unneeded == 0) return;
  unneededRights += whose;
  if ((unneeded & kAccessLocalWrite) != 0) unneededRights += " LOCAL_WRITE";
  if ((unneeded & kAccessRemoteWrite) != 0) unneededRights += " REMOTE_WRITE";
  if ((unneeded & kAccessRemoteRead) != 0) unneededRights += " REMOTE_READ";
  unneededRights += "\n";
}

// Appends a line for each region to the file that the environment variable FAKE_VERBS_LOG names, if it is set. Tests
// use it to observe other processes.
void noteRegion(const char* what, const MemoryRegion& region) {
  const char* path = std::getenv("FAKE_VERBS_LOG");  // NOLINT(concurrency-mt-unsafe)
  if (path == nullptr) return;
  std::ofstream(path, std::ios::app) << what << " bytes=" << region.bytes << std::endl;
}

FakeRegion* find(const std::map<uint32_t, FakeRegion*>& regions, uint32_t key, uint64_t address, uint64_t bytes) {
  const auto found = regions.find(key);
  return found != regions.end() && found->second->holds(address, bytes) ? found->second : nullptr;
}

// Copies by whole words if alignment and size permit, because the ends of a connection read whole words.
void copy(uint64_t to, uint64_t from, size_t bytes) {
  auto* out = reinterpret_cast<uint8_t*>(to);
  const auto* in = reinterpret_cast<const uint8_t*>(from);
  if ((to | from | bytes) % sizeof(uint64_t) != 0) {
    std::memcpy(out, in, bytes);
    return;
  }
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, in + at, sizeof word);
    std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(out + at)).store(word, std::memory_order_relaxed);
  }
}

void complete(CompletionQueue* cq, const WorkCompletion& completion) {
  auto* queue = static_cast<FakeQueue*>(cq);
  queue->completions.push_back(completion);
  if (!std::exchange(queue->armed, false)) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(queue->channel->fd, &one, sizeof one);
}

void enterError(FakeQueuePair& qp) {
  qp.now = QpState::Error;
  for (; !qp.receives.empty(); qp.receives.pop_front()) {
    WorkCompletion flushed{};
    flushed.id = qp.receives.front();
    flushed.status = kWcWrFlushError;
    flushed.qpNumber = qp.number;
    complete(qp.receiveCq, flushed);
  }
}

// Returns the queue pair that `qp` is connected to; null unless it receives and expects the packets of `qp`.
FakeQueuePair* otherEnd(const FakeQueuePair& qp) {
  const auto found = byNumber.find(qp.set.destination);
  if (found == byNumber.end()) return nullptr;
  FakeQueuePair* other = found->second;
  const bool receives = other->now == QpState::ReadyToReceive || other->now == QpState::ReadyToSend;
  const bool expects = other->set.destination == qp.number && other->set.receivePsn == qp.set.sendPsn;
  return receives && expects ? other : nullptr;
}

// Checks the rights of a request and copies its data. Returns the status of its completion.
int moveData(const SendRequest& request, FakeQueuePair& other) {
  const bool reads = request.opcode == kWrRdmaRead;
  const int right = reads ? kAccessRemoteRead : kAccessRemoteWrite;
  if ((other.granted & right) == 0) return kWcRemoteAccessError;
  other.needed |= right;
  if (request.listLength == 0) return kWcSuccess;
  const ScatterGather& entry = *request.list;
  if ((request.flags & kSendInline) == 0) {
    FakeRegion* local = find(byLkey, entry.lkey, entry.address, entry.bytes);
    if (local == nullptr || (reads && (local->granted & kAccessLocalWrite) == 0)) return kLocalProtectionError;
    if (reads) local->needed |= kAccessLocalWrite;
  }
  FakeRegion* remote = find(byRkey, request.rdma.rkey, request.rdma.address, entry.bytes);
  if (remote == nullptr || (remote->granted & right) == 0) return kWcRemoteAccessError;
  remote->needed |= right;
  if (reads) {
    copy(entry.address, request.rdma.address, entry.bytes);
  } else {
    copy(request.rdma.address, entry.address, entry.bytes);
  }
  return kWcSuccess;
}

int execute(const SendRequest& request, FakeQueuePair& qp) {
  if (qp.now == QpState::Error) return kWcWrFlushError;
  FakeQueuePair* other = otherEnd(qp);
  if (other == nullptr) return kWcRetryExceeded;
  const int moved = moveData(request, *other);
  if (moved == kWcRemoteAccessError) enterError(*other);
  if (moved != kWcSuccess || request.opcode != kWrRdmaWriteWithImm) return moved;
  if (other->receives.empty()) return kWcRnrRetryExceeded;
  WorkCompletion arrived{};
  arrived.id = other->receives.front();
  arrived.opcode = kWcRecvRdmaWithImm;
  arrived.immediate = request.immediate;
  arrived.qpNumber = other->number;
  other->receives.pop_front();
  complete(other->receiveCq, arrived);
  return kWcSuccess;
}

int postSend(QueuePair* raw, SendRequest* requests, SendRequest** bad) {
  const std::lock_guard lock(mutex);
  auto& qp = *static_cast<FakeQueuePair*>(raw);
  for (SendRequest* one = requests; one != nullptr; one = one->next) {
    if (qp.now != QpState::ReadyToSend && qp.now != QpState::Error) {
      *bad = one;
      return EINVAL;
    }
    WorkCompletion done{};
    done.id = one->id;
    done.opcode = one->opcode == kWrRdmaRead ? 2 : kWcRdmaWrite;
    done.qpNumber = qp.number;
    done.status = execute(*one, qp);
    if (done.status != kWcSuccess || (one->flags & kSendSignaled) != 0) complete(qp.sendCq, done);
    if (done.status != kWcSuccess && qp.now != QpState::Error) enterError(qp);
  }
  return 0;
}

int postReceive(QueuePair* raw, ReceiveRequest* requests, ReceiveRequest**) {
  const std::lock_guard lock(mutex);
  auto& qp = *static_cast<FakeQueuePair*>(raw);
  for (ReceiveRequest* one = requests; one != nullptr; one = one->next) qp.receives.push_back(one->id);
  if (qp.now == QpState::Error) enterError(qp);
  return 0;
}

int pollCq(CompletionQueue* cq, int max, WorkCompletion* completions) {
  const std::lock_guard lock(mutex);
  auto& waiting = static_cast<FakeQueue*>(cq)->completions;
  const int count = std::min(max, static_cast<int>(waiting.size()));
  std::copy_n(waiting.begin(), count, completions);
  waiting.erase(waiting.begin(), waiting.begin() + count);
  return count;
}

int requestNotify(CompletionQueue* cq, int) {
  const std::lock_guard lock(mutex);
  static_cast<FakeQueue*>(cq)->armed = true;
  return 0;
}

}  // namespace

ContextOps fakeOperations() {
  ContextOps operations{};
  operations.pollCq = pollCq;
  operations.requestNotify = requestNotify;
  operations.postSend = postSend;
  operations.postReceive = postReceive;
  return operations;
}

FAKE MemoryRegion* ibv_reg_mr(ProtectionDomain* pd, void* address, size_t bytes, int access) {
  if ((access & kAccessRemoteWrite) != 0 && (access & kAccessLocalWrite) == 0) {
    errno = EINVAL;
    return nullptr;
  }
  const std::lock_guard lock(mutex);
  auto* region = new FakeRegion{};
  region->context = pd->context;
  region->pd = pd;
  region->address = address;
  region->bytes = bytes;
  region->lkey = ++lastKey;
  region->rkey = ++lastKey;
  region->granted = access;
  byLkey[region->lkey] = region;
  byRkey[region->rkey] = region;
  everRegistered.push_back(*region);
  noteRegion("registered", *region);
  return region;
}
FAKE Return ibv_dereg_mr(MemoryRegion* raw) {
  const std::lock_guard lock(mutex);
  auto* region = static_cast<FakeRegion*>(raw);
  noteRegion("deregistered", *region);
  noteUnneeded("region bytes=" + std::to_string(region->bytes), region->granted, region->needed);
  byLkey.erase(region->lkey);
  byRkey.erase(region->rkey);
  delete region;
  return 0;
}

FAKE CompletionChannel* ibv_create_comp_channel(Context* context) {
  auto* channel = new FakeChannel{};
  channel->context = context;
  channel->fd = ::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
  return channel;
}
FAKE Return ibv_destroy_comp_channel(CompletionChannel* channel) {
  ::close(channel->fd);
  delete static_cast<FakeChannel*>(channel);
  return 0;
}
FAKE CompletionQueue* ibv_create_cq(Context* context, int entries, void* cookie, CompletionChannel* channel, int) {
  auto* queue = new FakeQueue{};
  queue->context = context;
  queue->channel = channel;
  queue->cookie = cookie;
  queue->entries = entries;
  static_cast<FakeChannel*>(channel)->queue = queue;
  return queue;
}
FAKE Return ibv_destroy_cq(CompletionQueue* queue) {
  delete static_cast<FakeQueue*>(queue);
  return 0;
}
FAKE Return ibv_get_cq_event(CompletionChannel* channel, CompletionQueue** queue, void** cookie) {
  uint64_t count = 0;
  if (::read(channel->fd, &count, sizeof count) != sizeof count) return -1;
  *queue = static_cast<FakeChannel*>(channel)->queue;
  *cookie = (*queue)->cookie;
  return 0;
}
FAKE void ibv_ack_cq_events(CompletionQueue*, unsigned) {}

FAKE QueuePair* ibv_create_qp(ProtectionDomain* pd, QpInit* init) {
  const std::lock_guard lock(mutex);
  auto* qp = new FakeQueuePair{};
  qp->context = pd->context;
  qp->pd = pd;
  qp->sendCq = init->sendCq;
  qp->receiveCq = init->receiveCq;
  qp->number = ++lastNumber;
  qp->type = init->type;
  byNumber[qp->number] = qp;
  return qp;
}
FAKE Return ibv_modify_qp(QueuePair* raw, QpAttributes* attributes, int mask) {
  const std::lock_guard lock(mutex);
  auto& qp = *static_cast<FakeQueuePair*>(raw);
  if ((mask & kQpAccessFlags) != 0) qp.granted = static_cast<int>(attributes->accessFlags);
  if ((mask & kQpDestination) != 0) qp.set.destination = attributes->destination;
  if ((mask & kQpReceivePsn) != 0) qp.set.receivePsn = attributes->receivePsn;
  if ((mask & kQpSendPsn) != 0) {
    qp.set.sendPsn = attributes->sendPsn;
    firstPsns.push_back(attributes->sendPsn);
  }
  if ((mask & kQpState) == 0) return 0;
  qp.now = static_cast<QpState>(attributes->state);
  if (qp.now == QpState::Error) enterError(qp);
  if (qp.now == QpState::Reset) qp.receives.clear();
  return 0;
}
FAKE Return ibv_query_qp(QueuePair*, QpAttributes*, int, QpInit*) { return EOPNOTSUPP; }
FAKE Return ibv_destroy_qp(QueuePair* raw) {
  const std::lock_guard lock(mutex);
  auto* qp = static_cast<FakeQueuePair*>(raw);
  noteUnneeded("queue pair", qp->granted, qp->needed);
  byNumber.erase(qp->number);
  delete qp;
  return 0;
}

// For tests: lists the unneeded rights of destroyed regions and queue pairs, one line for each object that had any.
FAKE const char* fake_verbs_unneeded_rights() {
  const std::lock_guard lock(mutex);
  static std::string text;
  text = unneededRights;
  return text.c_str();
}
// For tests: how often memory that contains this address was registered.
FAKE size_t fake_verbs_registrations(const void* address) {
  const std::lock_guard lock(mutex);
  const auto holds = [&](const FakeRegion& one) { return one.holds(reinterpret_cast<uintptr_t>(address), 1); };
  return static_cast<size_t>(std::count_if(everRegistered.begin(), everRegistered.end(), holds));
}
// For tests: the number of existing regions that contain this address.
FAKE size_t fake_verbs_regions(const void* address) {
  const std::lock_guard lock(mutex);
  const auto holds = [&](const auto& one) { return one.second->holds(reinterpret_cast<uintptr_t>(address), 1); };
  return static_cast<size_t>(std::count_if(byLkey.begin(), byLkey.end(), holds));
}
// For tests: the number of queue pairs that were prepared to send.
FAKE size_t fake_verbs_senders() {
  const std::lock_guard lock(mutex);
  return firstPsns.size();
}
// For tests: the first packet sequence number of a queue pair that was prepared to send; `sender` is its index in the
// order of preparation.
FAKE uint32_t fake_verbs_first_psn(size_t sender) {
  const std::lock_guard lock(mutex);
  return firstPsns.at(sender);
}
// For tests: clears the records of unneeded rights, of senders and of registrations.
FAKE void fake_verbs_forget() {
  const std::lock_guard lock(mutex);
  unneededRights.clear();
  firstPsns.clear();
  everRegistered.clear();
}

}  // namespace jccl::verbs
