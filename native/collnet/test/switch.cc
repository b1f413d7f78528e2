// A program that simulates a network's switch for tests of CollNet: reduces and gathers the data that
// the members of a group send. Prints the port on which it listens, and ends when its standard input does.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

#include "base/types.h"
#include "collnet/collnet_abi.h"
#include "collnet/test/switch_protocol.h"
#include "primitives/reduce.h"

namespace jccl::test {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

bool typeOf(int32_t number, DataType* type) {
  constexpr std::array<DataType, 12> kTypes = {DataType::Int8,     DataType::Uint8,      DataType::Int32,
                                               DataType::Uint32,   DataType::Int64,      DataType::Uint64,
                                               DataType::Float16,  DataType::Float32,    DataType::Float64,
                                               DataType::Bfloat16, DataType::Float8E4m3, DataType::Float8E5m2};
  if (number < 0 || number >= static_cast<int32_t>(kTypes.size())) return false;
  *type = kTypes[static_cast<size_t>(number)];
  return true;
}

bool opOf(int32_t number, ReduceOp* op) {
  switch (number) {
    case plugin::kOpSum:
      *op = ReduceOp::Sum;
      return true;
    case plugin::kOpProd:
      *op = ReduceOp::Prod;
      return true;
    case plugin::kOpMax:
      *op = ReduceOp::Max;
      return true;
    case plugin::kOpMin:
      *op = ReduceOp::Min;
      return true;
    default:
      return false;
  }
}

// Reduces the data of all members into `sum`. Returns false if the type, the operator or the size is invalid.
bool reduce(const SwitchRequest& request, const std::vector<std::vector<uint8_t>>& data, std::vector<uint8_t>* sum) {
  DataType type{};
  ReduceOp op{};
  if (!typeOf(request.type, &type) || !opOf(request.op, &op) || request.bytes % sizeOf(type) != 0) return false;
  sum->resize(request.bytes);
  std::vector<const void*> sources;
  for (const auto& one : data) sources.push_back(one.data());
  void* destination = sum->data();
  reduceCopyKernel(type, op)(&destination, 1, sources.data(), static_cast<int>(sources.size()),
                             request.bytes / sizeOf(type), PostOp{}, 0);
  return true;
}

bool answer(int socket, uint32_t failed, uint8_t* result, size_t bytes) {
  SwitchAnswer header{failed, 0, bytes};
  return moveAll(socket, &header, sizeof header, true) && moveAll(socket, result, bytes, true);
}

// Serves one operation of all members. Returns false if a member is gone or the operation failed; that ends the group.
bool serveOne(const std::vector<int>& members) {
  std::vector<SwitchRequest> requests(members.size());
  std::vector<std::vector<uint8_t>> data(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    if (!moveAll(members[i], &requests[i], sizeof requests[i], false) || requests[i].bytes > kMaxBytes) return false;
    data[i].resize(requests[i].bytes);
    if (!moveAll(members[i], data[i].data(), data[i].size(), false)) return false;
  }
  const SwitchRequest& request = requests[0];
  const bool same = std::all_of(requests.begin(), requests.end(), [&](const auto& one) { return one == request; });
  std::vector<uint8_t> result;
  bool good = same;
  if (good && request.kind == SwitchKind::AllGather) {
    for (const auto& one : data) result.insert(result.end(), one.begin(), one.end());
    good = request.windowOffset + request.windowBytes <= result.size();
    if (good) {
      result = {result.begin() + static_cast<ptrdiff_t>(request.windowOffset),
                result.begin() + static_cast<ptrdiff_t>(request.windowOffset + request.windowBytes)};
    }
  } else if (good) {
    good = reduce(request, data, &result);
  }
  for (size_t i = 0; i < members.size(); ++i) {
    uint64_t begin = 0;
    uint64_t end = result.size();
    if (request.kind == SwitchKind::ReduceScatter) {  // sends the part of the window that belongs to this member
      const uint64_t own = i * request.bytesPerRank;
      begin = std::clamp<uint64_t>(own, request.windowOffset, request.windowOffset + end) - request.windowOffset;
      end = std::clamp<uint64_t>(own + request.bytesPerRank, request.windowOffset, request.windowOffset + end) -
            request.windowOffset;
    }
    if (!answer(members[i], good ? 0 : 1, good ? result.data() + begin : nullptr, good ? end - begin : 0)) return false;
  }
  return good;
}

void serve(std::vector<int> members) {
  bool good = true;
  for (const int member : members) good = good && answer(member, 0, nullptr, 0);
  while (good && serveOne(members)) {
  }
  for (const int member : members) ::close(member);  // tells all members that the group has ended
}

void accept(int listener) {
  std::map<uint64_t, std::vector<int>> groups;
  for (;;) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    SwitchHello hello{};
    if (!moveAll(socket, &hello, sizeof hello, false) || hello.members < 1 || hello.members > 1024 ||
        hello.member >= hello.members) {
      ::close(socket);
      continue;
    }
    std::vector<int>& members = groups[hello.group];
    members.resize(hello.members, -1);
    members[hello.member] = socket;
    if (std::find(members.begin(), members.end(), -1) != members.end()) continue;
    std::thread(serve, members).detach();
    groups.erase(hello.group);
  }
}

int run() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, raw, bytes) != 0 || ::listen(listener, 128) != 0 || ::getsockname(listener, raw, &bytes) != 0) {
    std::perror("listen");
    return 1;
  }
  std::printf("%d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  std::thread(accept, listener).detach();
  std::array<char, 64> ignored{};
  while (::read(STDIN_FILENO, ignored.data(), ignored.size()) > 0) {
  }
  return 0;
}

}  // namespace
}  // namespace jccl::test

int main() {
  const int result = jccl::test::run();
  ::_exit(result);  // does not wait for the other threads
}
