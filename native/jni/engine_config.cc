#include "jni/engine_config.h"

#include <sched.h>

#include <cstring>

#include "io_jccl_nativelib_EngineConfig.h"
#include "jni/java_constants.h"
#include "verbs/connection_info.h"

#define JAVA(name) io_jccl_nativelib_EngineConfig_##name

namespace jccl::jni {
namespace {

static_assert(isLayout({JAVA(RANK),
                        JAVA(SIZE),
                        JAVA(CHANNELS),
                        JAVA(SIMPLE_SLOT_BYTES),
                        JAVA(LL_SLOT_BYTES),
                        JAVA(LL128_SLOT_BYTES),
                        JAVA(LOCAL_RANKS),
                        JAVA(CORES),
                        JAVA(SPIN_NANOS),
                        JAVA(STREAMS_PER_CONNECTION),
                        JAVA(COMM_ID_HI),
                        JAVA(COMM_ID_LO),
                        JAVA(SECRET_0),
                        JAVA(SECRET_1),
                        JAVA(SECRET_2),
                        JAVA(SECRET_3),
                        JAVA(CONNECT_TIMEOUT_NANOS),
                        JAVA(RANK_PLACEMENT),
                        JAVA(IB_USED),
                        JAVA(IB_GID_INDEX),
                        JAVA(IB_ROCE_VERSION),
                        JAVA(IB_IPV6),
                        JAVA(IB_TIMEOUT),
                        JAVA(IB_RETRY_COUNT),
                        JAVA(IB_TRAFFIC_CLASS),
                        JAVA(IB_SERVICE_LEVEL),
                        JAVA(IB_PKEY_INDEX),
                        JAVA(IB_QUEUE_PAIRS),
                        JAVA(IB_SPLIT_DATA),
                        JAVA(IB_RELAXED_ORDERING),
                        JAVA(PEER_TIMEOUT_NANOS),
                        JAVA(SOCKET_THREADS),
                        JAVA(SHARING_RANKS),
                        JAVA(SHARED_CORES),
                        JAVA(RECORDED_OPERATIONS),
                        JAVA(ENCRYPTED)},
                       JAVA(LENGTH)));
static_assert(isLayout({JAVA(TEXT_IB_LIBRARY), JAVA(TEXT_IB_HCA), JAVA(TEXT_NET_DEVICES), JAVA(TEXT_NET_PLUGIN),
                        JAVA(TEXT_COMMUNICATOR)},
                       JAVA(TEXTS)));

constexpr int64_t kMaxRanks = 1 << 16;
constexpr int64_t kMaxChannels = 32;
constexpr int64_t kMaxRecordedOperations = 1 << 20;
constexpr int64_t kMaxSocketThreads = 16;
constexpr int64_t kMinSlotBytes = 256;
constexpr int64_t kMaxSlotBytes = 1 << 26;

int coresOfThisProcess() {
  cpu_set_t cpus;
  return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
}

Status range(const char* name, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return Status::ok();
  return Status::invalid(std::string(name) + "=" + std::to_string(value) + ", expected " + std::to_string(min) +
                         " to " + std::to_string(max));
}

Status readIb(const std::vector<int64_t>& values, const std::vector<std::string>& texts, CommunicatorConfig& config) {
  for (const Status& status :
       {range("ibGidIndex", values[JAVA(IB_GID_INDEX)], -1, UINT8_MAX),
        range("ibRoceVersion", values[JAVA(IB_ROCE_VERSION)], 1, 2),
        range("ibTimeout", values[JAVA(IB_TIMEOUT)], 0, 31), range("ibRetryCount", values[JAVA(IB_RETRY_COUNT)], 0, 7),
        range("ibTrafficClass", values[JAVA(IB_TRAFFIC_CLASS)], 0, UINT8_MAX),
        range("ibServiceLevel", values[JAVA(IB_SERVICE_LEVEL)], 0, 15),
        range("ibPkeyIndex", values[JAVA(IB_PKEY_INDEX)], 0, UINT16_MAX),
        range("ibQueuePairs", values[JAVA(IB_QUEUE_PAIRS)], 1, verbs::kMaxQueuePairs)}) {
    if (!status) return status;
  }
  const auto number = [&](int index) { return static_cast<int>(values[static_cast<size_t>(index)]); };
  config.usesIb = values[JAVA(IB_USED)] != 0;
  config.ib.queuePairs = number(JAVA(IB_QUEUE_PAIRS));
  config.ib.splitData = values[JAVA(IB_SPLIT_DATA)] != 0;
  verbs::AdapterSettings& adapter = config.ib.adapter;
  adapter.library = texts[JAVA(TEXT_IB_LIBRARY)];
  adapter.hca = texts[JAVA(TEXT_IB_HCA)];
  adapter.gidIndex = number(JAVA(IB_GID_INDEX));
  adapter.roceVersion = number(JAVA(IB_ROCE_VERSION));
  adapter.ipv6 = values[JAVA(IB_IPV6)] != 0;
  adapter.timeout = number(JAVA(IB_TIMEOUT));
  adapter.retryCount = number(JAVA(IB_RETRY_COUNT));
  adapter.trafficClass = number(JAVA(IB_TRAFFIC_CLASS));
  adapter.serviceLevel = number(JAVA(IB_SERVICE_LEVEL));
  adapter.pkeyIndex = number(JAVA(IB_PKEY_INDEX));
  adapter.relaxedOrdering = values[JAVA(IB_RELAXED_ORDERING)] != 0;
  return Status::ok();
}

}  // namespace

Status readConfig(const std::vector<int64_t>& values, const std::vector<std::string>& texts,
                  CommunicatorConfig& config) {
  if (values.size() != JAVA(LENGTH)) {
    return Status::invalid("configLength=" + std::to_string(values.size()) + ", expected " +
                           std::to_string(JAVA(LENGTH)));
  }
  if (texts.size() != JAVA(TEXTS)) {
    return Status::invalid("textsLength=" + std::to_string(texts.size()) + ", expected " + std::to_string(JAVA(TEXTS)));
  }
  if (Status status = readIb(values, texts, config); !status) return status;
  config.plugin = texts[JAVA(TEXT_NET_PLUGIN)];
  Status numbered = NetDeviceNumbers::parse(texts[JAVA(TEXT_NET_DEVICES)], &config.netDevices);
  if (!numbered) return numbered;
  EngineConfig& c = config.engine;
  const auto slot = [&](int index, uint32_t fallback) {
    return values[index] == 0 ? int64_t{fallback} : values[index];
  };
  const int64_t simple = slot(JAVA(SIMPLE_SLOT_BYTES), c.simpleSlotBytes);
  const int64_t ll = slot(JAVA(LL_SLOT_BYTES), c.llSlotBytes);
  const int64_t ll128 = slot(JAVA(LL128_SLOT_BYTES), c.ll128SlotBytes);
  for (const Status& status :
       {range("size", values[JAVA(SIZE)], 1, kMaxRanks), range("rank", values[JAVA(RANK)], 0, values[JAVA(SIZE)] - 1),
        range("channels", values[JAVA(CHANNELS)], 1, kMaxChannels),
        range("socketThreads", values[JAVA(SOCKET_THREADS)], 0, kMaxSocketThreads),
        range("recordedOperations", values[JAVA(RECORDED_OPERATIONS)], 0, kMaxRecordedOperations),
        range("simpleSlotBytes", simple, kMinSlotBytes, kMaxSlotBytes),
        range("llSlotBytes", ll, kMinSlotBytes, kMaxSlotBytes),
        range("ll128SlotBytes", ll128, kMinSlotBytes, kMaxSlotBytes)}) {
    if (!status) return status;
  }
  c.rank = static_cast<int>(values[JAVA(RANK)]);
  config.logSubject = std::make_shared<LogSubject>(LogSubject{c.rank, texts[JAVA(TEXT_COMMUNICATOR)]});
  c.size = static_cast<int>(values[JAVA(SIZE)]);
  c.channels = static_cast<int>(values[JAVA(CHANNELS)]);
  c.simpleSlotBytes = static_cast<uint32_t>(simple);
  c.llSlotBytes = static_cast<uint32_t>(ll);
  c.ll128SlotBytes = static_cast<uint32_t>(ll128);
  c.localRanks = static_cast<int>(values[JAVA(LOCAL_RANKS)]);
  c.cores = values[JAVA(CORES)] > 0 ? static_cast<int>(values[JAVA(CORES)]) : coresOfThisProcess();
  c.sharingRanks = static_cast<int>(values[JAVA(SHARING_RANKS)]);
  c.sharedCores = static_cast<int>(values[JAVA(SHARED_CORES)]);
  c.spinNanos = values[JAVA(SPIN_NANOS)];
  c.placesRanks = values[JAVA(RANK_PLACEMENT)] != 0;
  c.recordedOperations = static_cast<uint64_t>(values[JAVA(RECORDED_OPERATIONS)]);
  c.token[0] = static_cast<uint64_t>(values[JAVA(COMM_ID_HI)]);
  c.token[1] = static_cast<uint64_t>(values[JAVA(COMM_ID_LO)]);
  config.streamsPerConnection = static_cast<int>(values[JAVA(STREAMS_PER_CONNECTION)]);
  config.socketThreads = static_cast<int>(values[JAVA(SOCKET_THREADS)]);
  config.encrypts = values[JAVA(ENCRYPTED)] != 0;
  config.connectTimeoutNanos = values[JAVA(CONNECT_TIMEOUT_NANOS)];
  config.peerTimeoutNanos = values[JAVA(PEER_TIMEOUT_NANOS)];
  config.secret.resize(4 * sizeof(int64_t));
  std::memcpy(config.secret.data(), &values[JAVA(SECRET_0)], config.secret.size());
  return Status::ok();
}

}  // namespace jccl::jni
