// Compares the enums of C++, and the layouts of packed operations and choices, with the constants of Java. If a number
// differs, this file does not compile.
#include "base/code.h"
#include "base/types.h"
#include "engine/history.h"
#include "engine/operation.h"
#include "io_jccl_runtime_Signatures.h"
#include "io_jccl_tuning_Choice.h"
#include "jni/java_constants.h"
#include "primitives/wait_place.h"

#define SAME(constant, member) static_assert((constant) == static_cast<long>(member))

namespace jccl {
namespace {

SAME(JCCL_CODE(OK), Code::Ok);
SAME(JCCL_CODE(INVALID), Code::Invalid);
SAME(JCCL_CODE(TIMEOUT), Code::Timeout);
SAME(JCCL_CODE(ABORTED), Code::Aborted);
SAME(JCCL_CODE(MISMATCH), Code::Mismatch);
SAME(JCCL_CODE(TRANSPORT), Code::Transport);
SAME(JCCL_CODE(SYSTEM), Code::System);
SAME(JCCL_CODE(INTERNAL), Code::Internal);
SAME(JCCL_CODE(NO_MEMORY), Code::NoMemory);
SAME(JCCL_CODE(PAUSED), Code::Paused);

SAME(JCCL_NUMBER(ALL_REDUCE), Collective::AllReduce);
SAME(JCCL_NUMBER(REDUCE), Collective::Reduce);
SAME(JCCL_NUMBER(BROADCAST), Collective::Broadcast);
SAME(JCCL_NUMBER(ALL_GATHER), Collective::AllGather);
SAME(JCCL_NUMBER(REDUCE_SCATTER), Collective::ReduceScatter);
SAME(JCCL_NUMBER(ALL_TO_ALL), Collective::AllToAll);
SAME(JCCL_NUMBER(GATHER), Collective::Gather);
SAME(JCCL_NUMBER(SCATTER), Collective::Scatter);
SAME(JCCL_NUMBER(SEND_RECV), Collective::SendRecv);
SAME(JCCL_NUMBER(BARRIER), Collective::Barrier);
SAME(JCCL_NUMBER(SCAN), Collective::Scan);
SAME(JCCL_NUMBER(EXSCAN), Collective::Exscan);
SAME(JCCL_NUMBER(COLLECTIVES), kCollectiveCount);

SAME(JCCL_NUMBER(INT8), DataType::Int8);
SAME(JCCL_NUMBER(UINT8), DataType::Uint8);
SAME(JCCL_NUMBER(INT32), DataType::Int32);
SAME(JCCL_NUMBER(UINT32), DataType::Uint32);
SAME(JCCL_NUMBER(INT64), DataType::Int64);
SAME(JCCL_NUMBER(UINT64), DataType::Uint64);
SAME(JCCL_NUMBER(FLOAT16), DataType::Float16);
SAME(JCCL_NUMBER(BFLOAT16), DataType::Bfloat16);
SAME(JCCL_NUMBER(FLOAT32), DataType::Float32);
SAME(JCCL_NUMBER(FLOAT64), DataType::Float64);
SAME(JCCL_NUMBER(FLOAT8_E4M3), DataType::Float8E4m3);
SAME(JCCL_NUMBER(FLOAT8_E5M2), DataType::Float8E5m2);
SAME(JCCL_NUMBER(INT16), DataType::Int16);
SAME(JCCL_NUMBER(UINT16), DataType::Uint16);
SAME(JCCL_NUMBER(DATA_TYPES), kDataTypeCount);

SAME(JCCL_NUMBER(SUM), ReduceOp::Sum);
SAME(JCCL_NUMBER(PROD), ReduceOp::Prod);
SAME(JCCL_NUMBER(MIN), ReduceOp::Min);
SAME(JCCL_NUMBER(MAX), ReduceOp::Max);
SAME(JCCL_NUMBER(AVG), ReduceOp::Avg);
SAME(JCCL_NUMBER(BAND), ReduceOp::And);
SAME(JCCL_NUMBER(BOR), ReduceOp::Or);
SAME(JCCL_NUMBER(BXOR), ReduceOp::Xor);
SAME(JCCL_NUMBER(USER_REDUCTION), kUserReduction);

SAME(JCCL_NUMBER(RING), Algorithm::Ring);
SAME(JCCL_NUMBER(TREE), Algorithm::Tree);
SAME(JCCL_NUMBER(DIRECT), Algorithm::Direct);
SAME(JCCL_NUMBER(NVLS), Algorithm::Nvls);
SAME(JCCL_NUMBER(COLLNET_DIRECT), Algorithm::CollNetDirect);
SAME(JCCL_NUMBER(COLLNET_CHAIN), Algorithm::CollNetChain);
SAME(JCCL_NUMBER(ALGORITHMS), kAlgorithmCount);

SAME(JCCL_NUMBER(LL), Protocol::LL);
SAME(JCCL_NUMBER(LL128), Protocol::LL128);
SAME(JCCL_NUMBER(SIMPLE), Protocol::Simple);
SAME(JCCL_NUMBER(PROTOCOLS), kProtocolCount);

SAME(JCCL_NUMBER(P2P), TransportKind::P2p);
SAME(JCCL_NUMBER(SHM), TransportKind::Shm);
SAME(JCCL_NUMBER(PLUGIN), TransportKind::Plugin);
SAME(JCCL_NUMBER(IB), TransportKind::Ib);
SAME(JCCL_NUMBER(SOCKET), TransportKind::Socket);
SAME(JCCL_NUMBER(TRANSPORTS), kTransportKinds);

SAME(JCCL_NUMBER(CREDIT), WaitFor::Credit);
SAME(JCCL_NUMBER(DATA), WaitFor::Data);
SAME(JCCL_NUMBER(BUFFER_EXCHANGE), WaitFor::BufferExchange);
SAME(JCCL_NUMBER(COLLNET), WaitFor::CollNet);
SAME(JCCL_NUMBER(WAITS), kWaitForCount);

SAME(JCCL_NUMBER(ABSENT), OperationState::None);
SAME(JCCL_NUMBER(RUNNING), OperationState::Running);
SAME(JCCL_NUMBER(DONE), OperationState::Done);
SAME(JCCL_NUMBER(FAILED), OperationState::Failed);
SAME(JCCL_NUMBER(STATES), kOperationStateCount);

// Packing the largest value of one component shows the position and width of that component.
constexpr OperationCode kOperation = OperationCode::decode(-1);
SAME(io_jccl_runtime_Signatures_MASK, kOperation.collective);
SAME(io_jccl_runtime_Signatures_MASK, kOperation.type);
SAME(io_jccl_runtime_Signatures_MASK, kOperation.op);
SAME(io_jccl_runtime_Signatures_MASK, OperationCode({Collective{0xff}, DataType{0}, ReduceOp{0}}).encode());
SAME(io_jccl_runtime_Signatures_MASK << io_jccl_runtime_Signatures_TYPE_SHIFT,
     OperationCode({Collective{0}, DataType{0xff}, ReduceOp{0}}).encode());
SAME(io_jccl_runtime_Signatures_MASK << io_jccl_runtime_Signatures_OP_SHIFT,
     OperationCode({Collective{0}, DataType{0}, ReduceOp{0xff}}).encode());

SAME(io_jccl_runtime_Signatures_MASK, WireCode::decode(-1).packed);
SAME(io_jccl_runtime_Signatures_WIRE_STOCHASTIC << io_jccl_runtime_Signatures_WIRE_SHIFT,
     WireCode{WireCode::kStochastic}.encode());

SAME(JCCL_NUMBER(WIRE_BFLOAT16), WireFormat::Bfloat16);
SAME(JCCL_NUMBER(WIRE_FLOAT16), WireFormat::Float16);
SAME(JCCL_NUMBER(WIRE_FLOAT8_BLOCK), WireFormat::Float8Block);
SAME(JCCL_NUMBER(WIRE_INT8_BLOCK), WireFormat::Int8Block);
SAME(JCCL_NUMBER(WIRE_FORMATS), kWireFormatCount);

#define CHOICE(name) static_cast<int64_t>(io_jccl_tuning_Choice_##name)

SAME(CHOICE(FLAG_TRY_ZERO_COPY), Choice::kTryZeroCopy);
SAME(CHOICE(FLAG_ZERO_COPY_USED), Choice::kZeroCopyUsed);
SAME(CHOICE(FLAG_TWO_SHOT), Choice::kTwoShot);
SAME(CHOICE(FLAG_BY_HOSTS), Choice::kByHosts);
SAME(CHOICE(FLAG_TRY_COPIES), Choice::kTryCopies);
SAME(CHOICE(FLAG_IN_ROUNDS), Choice::kInRounds);

constexpr Choice kChoice = Choice::decode(-1);
SAME(CHOICE(ALGORITHM_MASK), kChoice.algorithm);
SAME(CHOICE(PROTOCOL_MASK), kChoice.protocol);
SAME(CHOICE(MAX_CHANNELS), kChoice.channels);
SAME(CHOICE(ALGORITHM_MASK), Choice({Algorithm{0xf}, Protocol{0}, 0, 0, 0}).encode());
SAME(CHOICE(PROTOCOL_MASK) << CHOICE(PROTOCOL_SHIFT), Choice({Algorithm{0}, Protocol{0xf}, 0, 0, 0}).encode());
SAME(CHOICE(MAX_CHANNELS) << CHOICE(CHANNELS_SHIFT), Choice({Algorithm{0}, Protocol{0}, 0xff, 0, 0}).encode());
SAME(CHOICE(FLAG_BY_HOSTS) << CHOICE(FLAGS_SHIFT),
     Choice({Algorithm{0}, Protocol{0}, 0, Choice::kByHosts, 0}).encode());
SAME(int64_t{1} << CHOICE(CHUNK_SHIFT), Choice({Algorithm{0}, Protocol{0}, 0, 0, 1}).encode());

}  // namespace
}  // namespace jccl
