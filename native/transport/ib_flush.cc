#include "transport/ib_flush.h"

#include "base/log.h"
#include "transport/net.h"
#include "verbs/verbs_text.h"

namespace jccl {

Status IbFlush::make(const verbs::Adapter& adapter, const verbs::Completions& completions, uint8_t* landing,
                     std::unique_ptr<IbFlush>* flush) {
  std::unique_ptr<IbFlush> made(new IbFlush(adapter));
  const verbs::Port& port = adapter.port();
  const verbs::QueuePairShape shape = {kNetInFlight, 1, 0};
  Status status = verbs::Region::make(adapter.device(), landing, 1, verbs::kAccessLocalWrite, false, &made->landing_);
  if (status) status = verbs::QueuePairObject::make(adapter.device(), completions, shape, &made->qp_);
  if (status) status = made->qp_->initialise(adapter.path(), verbs::kAccessRemoteRead);
  if (!status) return status;
  verbs::RemoteEnd itself;
  itself.qpNumber = made->qp_->number();
  itself.mtu = port.attributes.activeMtu;
  itself.lid = port.isEthernet() ? 0 : port.attributes.lid;
  itself.gid = port.gid;
  itself.global = itself.lid == 0;
  itself.psn = made->qp_->sendPsn();
  status = made->qp_->connect(itself);
  if (status) status = made->qp_->start();
  if (!status) return status;
  logMessage(LogLevel::Info, "net",
             "ib: device=" + port.label + " qp=" + std::to_string(itself.qpNumber) +
                 ": receives into memory of the GPU, and flushes it by reads through itself");
  *flush = std::move(made);
  return Status::ok();
}

Status IbFlush::begin(uint64_t id, const void* data, uint32_t bytes, uint32_t rkey) {
  verbs::ScatterGather list{reinterpret_cast<uintptr_t>(landing_->address()), 1, landing_->lkey()};
  verbs::SendRequest request{};
  request.id = id;
  request.list = &list;
  request.listLength = 1;
  request.opcode = verbs::kWrRdmaRead;
  request.flags = verbs::kSendSignaled;
  request.rdma = {reinterpret_cast<uintptr_t>(data) + bytes - 1, rkey};
  return qp_->postSends(&request);
}

void IbFlush::complete(uint64_t sequence, const verbs::WorkCompletion& completion) {
  if (completion.status == verbs::kWcSuccess) {
    over_ = sequence + 1;
    return;
  }
  if (!failure_) return;  // later failures are consequences of the first
  qp_->noteFailure();
  const verbs::EndText itself = {adapter_.port().label, verbs::gidText(adapter_.port().gid), qp_->number()};
  failure_ = Status::transport(
      "flushing memory of the GPU failed: " +
      verbs::completionText(completion, itself, itself, adapter_.path().timeout, adapter_.path().retryCount));
}

Status IbFlush::test(uint64_t sequence, bool* done) const {
  *done = sequence < over_;
  return *done ? Status::ok() : failure_;
}

}  // namespace jccl
