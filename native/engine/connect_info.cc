#include "engine/connect_info.h"

#include <cstring>
#include <string>

namespace jccl {
namespace {

constexpr uint32_t kMagic = 0x4c43434a;  // "JCCL"
constexpr uint32_t kVersion = 4;
constexpr size_t kSegmentAt = 8 + ShmProcess::kWireBytes;
constexpr size_t kFixedBytes = kSegmentAt + 8 + 8;
constexpr size_t kHeaderBytes = kFixedBytes + Networks::kKinds.size() * sizeof(uint32_t);

template <class T>
void append(std::vector<uint8_t>& out, const T& value) {
  const size_t end = out.size();
  out.resize(end + sizeof value);
  std::memcpy(out.data() + end, &value, sizeof value);
}

template <class T>
T read(std::span<const uint8_t> from, size_t at) {
  T value;
  std::memcpy(&value, from.data() + at, sizeof value);
  return value;
}

Status wrong(const char* name, uint64_t found, uint64_t expected) {
  return Status::transport(std::string("connect information has ") + name + "=" + std::to_string(found) +
                           ", expected " + std::to_string(expected) + "; do all ranks run the same build of JCCL?");
}

}  // namespace

std::vector<uint8_t> ConnectInfo::encode() const {
  std::vector<uint8_t> bytes;
  append(bytes, kMagic);
  append(bytes, kVersion);
  const ShmProcess::Wire wire = process.encode();
  bytes.insert(bytes.end(), wire.begin(), wire.end());
  append(bytes, segment);
  append(bytes, offered);
  for (const auto& network : networks) append(bytes, static_cast<uint32_t>(network.size()));
  for (const auto& network : networks) bytes.insert(bytes.end(), network.begin(), network.end());
  return bytes;
}

Status ConnectInfo::decode(std::span<const uint8_t> bytes, ConnectInfo* info) {
  if (bytes.size() < kHeaderBytes) return wrong("bytes", bytes.size(), kHeaderBytes);
  if (const auto magic = read<uint32_t>(bytes, 0); magic != kMagic) return wrong("magic", magic, kMagic);
  if (const auto version = read<uint32_t>(bytes, 4); version != kVersion) return wrong("version", version, kVersion);
  if (Status status = ShmProcess::decode(bytes.subspan(8, ShmProcess::kWireBytes), &info->process); !status) {
    return status;
  }
  info->segment = read<uint64_t>(bytes, kSegmentAt);
  info->offered = read<uint64_t>(bytes, kSegmentAt + 8);
  uint64_t end = kHeaderBytes;
  for (size_t i = 0; i < info->networks.size(); ++i) {
    const uint64_t length = read<uint32_t>(bytes, kFixedBytes + i * sizeof(uint32_t));
    if (end + length > bytes.size()) return wrong("bytes", bytes.size(), end + length);
    info->networks[i] = bytes.subspan(end, length);
    end += length;
  }
  return bytes.size() == end ? Status::ok() : wrong("bytes", bytes.size(), end);
}

}  // namespace jccl
