// Compares JCCL's declarations of libibverbs with those of its header, if that is installed.
#include <gtest/gtest.h>

#include "verbs/verbs_api.h"

#if __has_include(<infiniband/verbs.h>)

// The header is C, and JCCL's warnings reject it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <infiniband/verbs.h>
#pragma GCC diagnostic pop

namespace jccl::verbs::verbs_api_test {
namespace {

#define SAME_SIZE(Ours, Theirs) static_assert(sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs))
#define SAME_PLACE(Ours, ours, Theirs, theirs) static_assert(offsetof(Ours, ours) == offsetof(Theirs, theirs))

SAME_SIZE(Gid, ibv_gid);
SAME_SIZE(ContextOps, ibv_context_ops);
SAME_PLACE(ContextOps, pollCq, ibv_context_ops, poll_cq);
SAME_PLACE(ContextOps, requestNotify, ibv_context_ops, req_notify_cq);
SAME_PLACE(ContextOps, postSend, ibv_context_ops, post_send);
SAME_PLACE(ContextOps, postReceive, ibv_context_ops, post_recv);
SAME_PLACE(Context, ops, ibv_context, ops);
SAME_PLACE(Context, asyncFd, ibv_context, async_fd);
SAME_PLACE(Context, completionVectors, ibv_context, num_comp_vectors);
SAME_SIZE(ProtectionDomain, ibv_pd);
SAME_SIZE(MemoryRegion, ibv_mr);
SAME_PLACE(MemoryRegion, lkey, ibv_mr, lkey);
SAME_PLACE(MemoryRegion, rkey, ibv_mr, rkey);
SAME_SIZE(CompletionChannel, ibv_comp_channel);
SAME_PLACE(CompletionQueue, entries, ibv_cq, cqe);
SAME_PLACE(QueuePair, number, ibv_qp, qp_num);
SAME_PLACE(QueuePair, type, ibv_qp, qp_type);
SAME_SIZE(WorkCompletion, ibv_wc);
SAME_PLACE(WorkCompletion, status, ibv_wc, status);
SAME_PLACE(WorkCompletion, vendorError, ibv_wc, vendor_err);
SAME_PLACE(WorkCompletion, bytes, ibv_wc, byte_len);
SAME_PLACE(WorkCompletion, immediate, ibv_wc, imm_data);
SAME_PLACE(WorkCompletion, qpNumber, ibv_wc, qp_num);
SAME_PLACE(WorkCompletion, flags, ibv_wc, wc_flags);
SAME_SIZE(ScatterGather, ibv_sge);
SAME_SIZE(SendRequest, ibv_send_wr);
SAME_PLACE(SendRequest, flags, ibv_send_wr, send_flags);
SAME_PLACE(SendRequest, immediate, ibv_send_wr, imm_data);
SAME_PLACE(SendRequest, rdma.address, ibv_send_wr, wr.rdma.remote_addr);
SAME_PLACE(SendRequest, rdma.rkey, ibv_send_wr, wr.rdma.rkey);
SAME_PLACE(SendRequest, extended, ibv_send_wr, qp_type);
SAME_SIZE(ReceiveRequest, ibv_recv_wr);
SAME_SIZE(GlobalRoute, ibv_global_route);
SAME_PLACE(GlobalRoute, trafficClass, ibv_global_route, traffic_class);
SAME_SIZE(AddressHandle, ibv_ah_attr);
SAME_PLACE(AddressHandle, isGlobal, ibv_ah_attr, is_global);
SAME_PLACE(AddressHandle, port, ibv_ah_attr, port_num);
SAME_SIZE(QpCapabilities, ibv_qp_cap);
SAME_SIZE(QpInit, ibv_qp_init_attr);
SAME_PLACE(QpInit, type, ibv_qp_init_attr, qp_type);
SAME_SIZE(QpAttributes, ibv_qp_attr);
SAME_PLACE(QpAttributes, destination, ibv_qp_attr, dest_qp_num);
SAME_PLACE(QpAttributes, accessFlags, ibv_qp_attr, qp_access_flags);
SAME_PLACE(QpAttributes, address, ibv_qp_attr, ah_attr);
SAME_PLACE(QpAttributes, pkeyIndex, ibv_qp_attr, pkey_index);
SAME_PLACE(QpAttributes, maxReadAtomic, ibv_qp_attr, max_rd_atomic);
SAME_PLACE(QpAttributes, port, ibv_qp_attr, port_num);
SAME_PLACE(QpAttributes, timeout, ibv_qp_attr, timeout);
SAME_PLACE(QpAttributes, rnrRetry, ibv_qp_attr, rnr_retry);
SAME_SIZE(PortAttributes, ibv_port_attr);
SAME_PLACE(PortAttributes, lid, ibv_port_attr, lid);
SAME_PLACE(PortAttributes, linkLayer, ibv_port_attr, link_layer);
SAME_SIZE(DeviceAttributes, ibv_device_attr);
SAME_PLACE(DeviceAttributes, maxQueuePairs, ibv_device_attr, max_qp);
SAME_PLACE(DeviceAttributes, ports, ibv_device_attr, phys_port_cnt);
SAME_SIZE(AsyncEvent, ibv_async_event);
SAME_PLACE(AsyncEvent, type, ibv_async_event, event_type);

TEST(VerbsApi, NumbersEqualThoseOfTheHeader) {
  EXPECT_EQ(kPortActive, IBV_PORT_ACTIVE);
  EXPECT_EQ(static_cast<int>(LinkLayer::InfiniBand), IBV_LINK_LAYER_INFINIBAND);
  EXPECT_EQ(static_cast<int>(LinkLayer::Ethernet), IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(kAccessLocalWrite | kAccessRemoteWrite | kAccessRemoteRead,
            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
  EXPECT_EQ(kAccessRelaxedOrdering, IBV_ACCESS_RELAXED_ORDERING);
  EXPECT_EQ(kQpReliableConnected, IBV_QPT_RC);
  EXPECT_EQ(static_cast<int>(QpState::Reset), IBV_QPS_RESET);
  EXPECT_EQ(static_cast<int>(QpState::Init), IBV_QPS_INIT);
  EXPECT_EQ(static_cast<int>(QpState::ReadyToReceive), IBV_QPS_RTR);
  EXPECT_EQ(static_cast<int>(QpState::ReadyToSend), IBV_QPS_RTS);
  EXPECT_EQ(static_cast<int>(QpState::Error), IBV_QPS_ERR);
  EXPECT_EQ(kQpState | kQpAccessFlags | kQpPkeyIndex | kQpPort,
            IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT);
  EXPECT_EQ(
      kQpAddressVector | kQpPathMtu | kQpDestination | kQpReceivePsn | kQpMaxDestReadAtomic | kQpMinRnrTimer,
      IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  EXPECT_EQ(kQpTimeout | kQpRetryCount | kQpRnrRetry | kQpSendPsn | kQpMaxReadAtomic,
            IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  EXPECT_EQ(kWrRdmaWrite, IBV_WR_RDMA_WRITE);
  EXPECT_EQ(kWrRdmaWriteWithImm, IBV_WR_RDMA_WRITE_WITH_IMM);
  EXPECT_EQ(kWrRdmaRead, IBV_WR_RDMA_READ);
  EXPECT_EQ(kSendSignaled, unsigned{IBV_SEND_SIGNALED});
  EXPECT_EQ(kSendInline, unsigned{IBV_SEND_INLINE});
  EXPECT_EQ(kWcRdmaWrite, IBV_WC_RDMA_WRITE);
  EXPECT_EQ(kWcRecvRdmaWithImm, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(kWcWrFlushError, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(kWcRemoteAccessError, IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(kWcRetryExceeded, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(kWcRnrRetryExceeded, IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(kEventQpFatal, IBV_EVENT_QP_FATAL);
  EXPECT_EQ(kEventQpAccessError, IBV_EVENT_QP_ACCESS_ERR);
  EXPECT_EQ(kEventDeviceFatal, IBV_EVENT_DEVICE_FATAL);
  EXPECT_EQ(kEventPortActive, IBV_EVENT_PORT_ACTIVE);
  EXPECT_EQ(kEventPortError, IBV_EVENT_PORT_ERR);
  EXPECT_EQ(kEventGidChange, IBV_EVENT_GID_CHANGE);
  EXPECT_EQ(mtuBytes(kMinMtu), 256);
  EXPECT_EQ(mtuBytes(IBV_MTU_4096), 4096);
}

}  // namespace
}  // namespace jccl::verbs::verbs_api_test

#else

TEST(VerbsApi, NumbersEqualThoseOfTheHeader) { GTEST_SKIP() << "infiniband/verbs.h is not installed (libibverbs-dev)"; }

#endif
