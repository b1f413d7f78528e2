// One-way throughput and round-trip time of the socket transport over loopback, compared with a plain TCP stream.
//
//     socket_bench [seconds per row [PLUGIN]]
//
// If the file of a network plug-in is given, the plug-in is measured, too: libjccl_test_plugin_v12.so does the same
// over plain sockets. The child process sends and the parent receives. "plain" is write() and read() of the same size
// on one TCP connection with the kernel's own buffer sizes: the bound with which the transport is compared.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "bench/bench_process.h"
#include "test/net_pair.h"
#include "transport/net_plugin.h"

namespace jccl {
namespace {

using test::Block;
using test::publish;

// Data that the two processes exchange outside the transport.
struct Shared {
  std::atomic<int> ready;
  std::atomic<bool> stop;
  uint8_t info[2][NetListener::kMaxInfoBytes];
  size_t infoBytes[2];
};

Shared* makeShared() { return new (sharedMemory(sizeof(Shared))) Shared(); }

// Returns the processor time, in ns, of this process and of its children that have ended. On a busy host this time says
// more than elapsed time.
double processorNanos() {
  double nanos = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage;
    ::getrusage(who, &usage);
    nanos += 1e9 * static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
             1e3 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  }
  return nanos;
}

struct Rate {
  double perSecond;     // GB/s of elapsed time
  double perProcessor;  // GB per second of processor time, of both ends together
};

void check(const Status& status) {
  if (status.isOk()) return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

std::string pluginFile;
constexpr int kByPlugin = 0;  // passed as the number of streams, selects the plug-in

// A rank with one connection to, and one from, the other rank.
class Rank {
 public:
  Rank(int rank, uint32_t slotBytes, int streams, Shared& shared)
      : shape_(slotBytes, 4096, 4096), out_(shape_), in_(shape_) {
    NetConfig config = test::configOf(rank, 2, std::max(streams, 1));
    config.stripeBytes = 32 * 1024;
    config.plugin = pluginFile;
    check(NetTransport::create(config, &net_, streams == kByPlugin ? PluginNet::open : NetMaker{}));
    std::vector<uint8_t> info;
    check(net_->listen({"127.0.0.1"}, &info));
    std::copy(info.begin(), info.end(), shared.info[rank]);
    shared.infoBytes[rank] = info.size();
    shared.ready.fetch_add(1);
    while (shared.ready.load() < 2) ::usleep(100);
    check(net_->addPeer(1 - rank, {shared.info[1 - rank], shared.infoBytes[1 - rank]}));
    check(net_->sendConnection(1 - rank, 0, out_.memory()));
    check(net_->recvConnection(1 - rank, 0, in_.memory()));
  }

  template <typename Ready>
  void await(Ready ready) {
    for (int idle = 0; !ready();) {
      idle = net_->poll() > 0 ? 0 : idle + 1;
      if (net_->failed()) {
        int peer;
        check(net_->error(&peer));
      }
      if (idle > 100) net_->waitForEvents(1'000'000);
    }
  }

  void send(uint32_t bytes) {
    await([this] { return sent_ < out_.memory().head->head.load(std::memory_order_acquire) + kSlots; });
    publish(out_.memory(), sent_++, Protocol::Simple, bytes, 1);
  }

  uint32_t receive() {
    SlotHeader* header = in_.memory().slotHeader(received_);
    await([this, header] { return header->published.load(std::memory_order_acquire) == received_ + 1; });
    const uint32_t bytes = header->bytes;
    in_.memory().head->head.store(++received_, std::memory_order_release);
    return bytes;
  }

  void flush() { net_->kick(); }
  void close() { net_->close(1'000'000'000); }

 private:
  ConnectionShape shape_;
  Block out_;
  Block in_;
  std::unique_ptr<NetTransport> net_;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
};

Rate oneWay(uint32_t bytes, int streams, double seconds) {
  Shared* shared = makeShared();
  const double processor = processorNanos();
  uint64_t all = 0;
  const pid_t child = ::fork();
  if (child == 0) {
    Rank rank(1, bytes, streams, *shared);
    while (!shared->stop.load(std::memory_order_relaxed)) {
      for (int i = 0; i < 16; ++i) rank.send(bytes);
    }
    rank.send(0);
    rank.flush();
    rank.receive();
    rank.close();
    ::_exit(0);
  }
  Rank rank(0, bytes, streams, *shared);
  for (int i = 0; i < 64; ++i) rank.receive();
  const int64_t start = monotonicNanos();
  const auto span = static_cast<int64_t>(seconds * 1e9);
  uint64_t moved = 0;
  while (monotonicNanos() - start < span) moved += rank.receive();
  const double elapsed = static_cast<double>(monotonicNanos() - start);
  shared->stop.store(true);
  while (const uint32_t more = rank.receive()) all += more;
  rank.send(0);
  rank.flush();
  ::waitpid(child, nullptr, 0);
  rank.close();
  ::munmap(shared, sizeof(Shared));
  return {static_cast<double>(moved) / elapsed, static_cast<double>(all + moved) / (processorNanos() - processor)};
}

double roundTripMicros(uint32_t bytes, int streams, double seconds) {
  Shared* shared = makeShared();
  const pid_t child = ::fork();
  if (child == 0) {
    Rank rank(1, 65536, streams, *shared);
    uint32_t got;
    do {
      got = rank.receive();
      rank.send(got);
      rank.flush();
    } while (got != 0);
    rank.close();
    ::_exit(0);
  }
  Rank rank(0, 65536, streams, *shared);
  int64_t start = 0;
  int64_t trips = -100;
  const auto span = static_cast<int64_t>(seconds * 1e9);
  while (trips < 0 || monotonicNanos() - start < span) {
    rank.send(bytes);
    rank.receive();
    if (++trips == 0) start = monotonicNanos();
  }
  const double micros = static_cast<double>(monotonicNanos() - start) / 1e3 / static_cast<double>(trips);
  rank.send(0);
  rank.receive();
  ::waitpid(child, nullptr, 0);
  rank.close();
  ::munmap(shared, sizeof(Shared));
  return micros;
}

int plainPair(int sockets[2]) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), bytes) != 0 || ::listen(listener, 1) != 0) return -1;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &bytes);
  sockets[0] = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::connect(sockets[0], reinterpret_cast<sockaddr*>(&address), bytes) != 0) return -1;
  sockets[1] = ::accept(listener, nullptr, nullptr);
  return ::close(listener);
}

Rate plainOneWay(uint32_t bytes, double seconds) {
  int sockets[2];
  if (plainPair(sockets) != 0) return {0, 0};
  const double processor = processorNanos();
  std::vector<char> buffer(bytes, 1);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(sockets[1]);
    ::signal(SIGPIPE, SIG_IGN);
    while (::write(sockets[0], buffer.data(), buffer.size()) > 0) {
    }
    ::_exit(0);
  }
  ::close(sockets[0]);
  const int64_t start = monotonicNanos();
  const auto span = static_cast<int64_t>(seconds * 1e9);
  uint64_t moved = 0;
  while (monotonicNanos() - start < span) {
    moved += static_cast<uint64_t>(std::max<ssize_t>(0, ::read(sockets[1], buffer.data(), buffer.size())));
  }
  const double elapsed = static_cast<double>(monotonicNanos() - start);
  ::close(sockets[1]);
  ::waitpid(child, nullptr, 0);
  return {static_cast<double>(moved) / elapsed, static_cast<double>(moved) / (processorNanos() - processor)};
}

}  // namespace
}  // namespace jccl

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0.5;
  if (argc > 2) jccl::pluginFile = argv[2];
  const char* column = argc > 2 ? "plug-in" : "";
  std::printf("one way, GB/s (GB per second of processor time)\n%10s %14s %14s %14s %14s %14s\n", "bytes", "plain",
              "1 stream", "2 streams", "4 streams", column);
  for (const uint32_t bytes : {4096u, 32768u, 131072u, 262144u, 524288u, 1048576u}) {
    const auto print = [](const jccl::Rate& rate) {
      std::printf("  %5.2f (%5.2f)", rate.perSecond, rate.perProcessor);
    };
    std::printf("%10u", bytes);
    print(jccl::plainOneWay(bytes, seconds));
    for (const int streams : {1, 2, 4}) print(jccl::oneWay(bytes, streams, seconds));
    if (argc > 2) print(jccl::oneWay(bytes, jccl::kByPlugin, seconds));
    std::printf("\n");
  }
  std::printf("round trip, us\n");
  for (const uint32_t bytes : {8u, 1024u, 16384u, 65536u}) {
    std::printf("%10u %8.1f", bytes, jccl::roundTripMicros(bytes, 1, seconds));
    if (argc > 2) std::printf(" %8.1f", jccl::roundTripMicros(bytes, jccl::kByPlugin, seconds));
    std::printf("\n");
  }
  return 0;
}
