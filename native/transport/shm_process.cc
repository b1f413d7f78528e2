#include "transport/shm_process.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/fd.h"
#include "base/sha256.h"

namespace jccl {
namespace {

constexpr uint32_t kMagic = 0x65534a4a;
constexpr uint32_t kVersion = 1;

uint64_t firstBytes(const Sha256Digest& digest) {
  uint64_t value;
  std::memcpy(&value, digest.data(), sizeof value);
  return value;
}

// Reads a number that differs between hosts and between boots; 0 if the kernel reports none. Fails if this process
// lacks the resources to read it.
Status readHostIdentity(uint64_t* identity) {
  static constexpr const char* kPath = "/proc/sys/kernel/random/boot_id";
  const UniqueFd file(::open(kPath, O_RDONLY | O_CLOEXEC));
  if (!file && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
    return Status::system("open", std::string("path=") + kPath);
  }
  char text[64];
  const ssize_t bytes = file ? ::read(file.get(), text, sizeof text) : 0;
  *identity = bytes > 0 ? firstBytes(sha256(text, static_cast<size_t>(bytes))) : 0;
  return Status::ok();
}

uint64_t networkNamespaceIdentity() {
  struct stat facts;
  return ::stat("/proc/self/ns/net", &facts) == 0 ? uint64_t{facts.st_ino} : 0;
}

template <typename T>
void put(ShmProcess::Wire& wire, size_t offset, const T& value) {
  std::memcpy(wire.data() + offset, &value, sizeof value);
}

template <typename T>
void get(std::span<const uint8_t> wire, size_t offset, T* value) {
  std::memcpy(value, wire.data() + offset, sizeof *value);
}

}  // namespace

Status ShmProcess::ofThisProcess(ShmProcess* process) {
  ShmProcess made;
  if (::getrandom(made.token.data(), made.token.size(), 0) != static_cast<ssize_t>(made.token.size())) {
    return Status::system("getrandom", "token of the shared memory of this process");
  }
  made.networkNamespace = networkNamespaceIdentity();
  if (Status read = readHostIdentity(&made.host); !read) return read;
  made.pid = static_cast<uint32_t>(::getpid());
  made.uid = static_cast<uint32_t>(::geteuid());
  *process = made;
  return Status::ok();
}

ShmProcess::Wire ShmProcess::encode() const {
  Wire wire{};
  put(wire, 0, kMagic);
  put(wire, 4, kVersion);
  put(wire, 8, token);
  put(wire, 24, networkNamespace);
  put(wire, 32, host);
  put(wire, 40, pid);
  put(wire, 44, uid);
  return wire;
}

Status ShmProcess::decode(std::span<const uint8_t> wire, ShmProcess* process) {
  uint32_t magic = 0;
  uint32_t version = 0;
  if (wire.size() >= kWireBytes) {
    get(wire, 0, &magic);
    get(wire, 4, &version);
  }
  if (wire.size() != kWireBytes || magic != kMagic || version != kVersion) {
    return Status::transport("shared memory of a process: bytes=" + std::to_string(wire.size()) +
                             " version=" + std::to_string(version) + ", expected bytes=" + std::to_string(kWireBytes) +
                             " version=" + std::to_string(kVersion) + "; do all ranks run the same version of JCCL?");
  }
  ShmProcess read;
  get(wire, 8, &read.token);
  get(wire, 24, &read.networkNamespace);
  get(wire, 32, &read.host);
  get(wire, 40, &read.pid);
  get(wire, 44, &read.uid);
  *process = read;
  return Status::ok();
}

std::string ShmProcess::socketName() const {
  static constexpr const char* kDigits = "0123456789abcdef";
  const Sha256Digest digest = hmacSha256(token, "socket name", 11);
  std::string name = "jccl-shm-";
  for (size_t i = 0; i < 12; ++i) {
    name += kDigits[digest[i] >> 4];
    name += kDigits[digest[i] & 15];
  }
  return name;
}

Status ShmProcess::reachable(const ShmProcess& peer) const {
  if (peer.host != host) return Status::transport("shm: the peer runs on another host (another boot id)");
  if (peer.networkNamespace != networkNamespace) {
    return Status::transport("shm: network_namespace=" + std::to_string(networkNamespace) +
                             " peer_network_namespace=" + std::to_string(peer.networkNamespace) +
                             ": processes in different network namespaces cannot share memory; run the containers "
                             "with one network namespace (--network=host), or let them use sockets");
  }
  if (peer.uid != uid) {
    return Status::transport("shm: uid=" + std::to_string(uid) + " peer_uid=" + std::to_string(peer.uid) +
                             ": only processes of one user share memory");
  }
  return Status::ok();
}

}  // namespace jccl
