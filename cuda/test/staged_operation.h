// One operation of all ranks on int32, by a kernel of any family: its buffers, its launches and its expected results.
// For tests that apply to all kernels: failures, weak memory and transactions.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/test/emulated_kernels.h"
#include "cuda/test/exchange_group.h"
#include "cuda/test/in_place_descriptors.h"

namespace jccl::test {

enum class KernelFamily : uint8_t { Collective, InPlace, Exchange };

// An operation and the kernel that executes it. Only the collective kernels use `algorithm`, `protocol` and `twoShot`.
struct Job {
  KernelFamily family = KernelFamily::Collective;
  Collective collective = Collective::AllReduce;
  Algorithm algorithm = Algorithm::Direct;
  Protocol protocol = Protocol::Simple;
  bool twoShot = false;
  bool parts = false;               // ranks have parts of different sizes (the v-forms)
  bool overwrites = false;          // the output replaces the input
  bool reads = false;               // receivers of an exchange read out of the senders' buffers
  int skew = -1;                    // offset of all buffers from a multiple of 16 bytes; below 0: depends on the rank
  DataType type = DataType::Int32;  // buffers of other types have as many bytes, but wrong() cannot check them
  uint64_t oneShotBytes = device::kMaxOneShotBytes;  // of all-reduces in place

  std::string name() const {
    std::string text = family == KernelFamily::InPlace ? "in_place" : nameOf(algorithm);
    if (family == KernelFamily::Exchange) text = "exchange";
    if (family == KernelFamily::Collective) text += std::string(twoShot ? "_two_shot_" : "_") + nameOf(protocol);
    return text + "_" + nameOf(collective) + (parts ? "_v" : "") + (reads ? "_reads" : "") +
           (overwrites ? "_overwrites" : "");
  }
};

// Returns all combinations of family, algorithm, protocol and collective that exist.
inline std::vector<Job> allJobs() {
  std::vector<Job> jobs;
  constexpr Collective kParts[] = {Collective::AllGather, Collective::ReduceScatter};
  for (int p = 0; p < kProtocolCount; ++p) {
    const Protocol protocol = static_cast<Protocol>(p);
    const auto add = [&](Collective collective, Algorithm algorithm, bool twoShot, bool parts) {
      jobs.push_back({KernelFamily::Collective, collective, algorithm, protocol, twoShot, parts, false});
    };
    for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree, Algorithm::Direct}) {
      add(Collective::AllReduce, algorithm, false, false);
      if (algorithm == Algorithm::Tree) continue;
      for (const Collective collective : {Collective::Reduce, Collective::Broadcast})
        add(collective, algorithm, false, false);
      for (const Collective collective : kParts) {
        for (const bool parts : {false, true}) add(collective, algorithm, false, parts);
      }
    }
    add(Collective::AllReduce, Algorithm::Direct, true, false);
  }
  for (const bool overwrites : {false, true}) {
    jobs.push_back({.family = KernelFamily::InPlace, .collective = Collective::AllReduce, .overwrites = overwrites});
  }
  for (const bool parts : {false, true}) {
    for (const Collective collective : kParts) {
      jobs.push_back({.family = KernelFamily::InPlace, .collective = collective, .parts = parts});
    }
    for (const bool reads : {false, true}) {
      jobs.push_back(
          {.family = KernelFamily::Exchange, .collective = Collective::AllToAll, .parts = parts, .reads = reads});
    }
  }
  return jobs;
}

class StagedOperation {
 public:
  StagedOperation(const Job& job, int size, int channels, size_t count,
                  ConnectionShape shape = ConnectionShape(4096, 1024, 1024), uint64_t timeoutNanos = 20'000'000'000)
      : ranks(size, channels, shape), job_(job), size_(size), channels_(channels), count_(count) {
    ranks.timeoutNanos = timeoutNanos;
    plan();
    for (int rank = 0; rank < size; ++rank) {
      const size_t sendCount = sendsParts() ? total(rank) : job.parts ? counts_[rank] : count;
      const size_t recvCount = recvsParts() ? received(rank) : job.parts ? counts_[rank] : count;
      Guarded& send = sends_.emplace_back(sendCount * sizeof(int32_t), job.skew < 0 ? rank * 8 % 24 : job.skew);
      // Two float16 without this bit are numbers. NaNs would take another loop.
      const int32_t mask = job.type == DataType::Float16 ? ~0x40004000 : ~0;
      for (size_t i = 0; i < sendCount; ++i) send.set<int32_t>(i, valueOf(rank, i) & mask);
      recvs_.emplace_back(job.overwrites ? 0 : recvCount * sizeof(int32_t), job.skew < 0 ? rank * 4 % 12 : job.skew,
                          kFill);
      recvCounts_.push_back(recvCount);
    }
    describe();
  }

  // Launches a rank's kernel in blocks of `threads` threads. Each thread calls `atBegin` first and `atEnd` last.
  // Returns the launch's number.
  int launch(
      emulator::Machine& machine, int rank, unsigned threads, const std::function<void()>& atEnd = [] {},
      const std::function<void()>& atBegin = [] {}) {
    return machine.launch(
        channels_, threads,
        [this, rank, atEnd, atBegin] {
          atBegin();
          if (job_.family == KernelFamily::Collective) collectiveKernel(launches_[rank]);
          if (job_.family == KernelFamily::InPlace) inPlaceKernel(inPlaceLaunches_[rank]);
          if (job_.family == KernelFamily::Exchange) exchangeKernel(exchangeLaunches_[rank]);
          atEnd();
        },
        "rank " + std::to_string(rank));
  }

  // Launches a thread that waits until a rank's kernel reports its end, and then adds to `wrong` the number of elements
  // of the output that the thread sees wrong.
  void launchReader(emulator::Machine& machine, int rank, size_t& wrong) {
    machine.launch(
        1, 1,
        [this, rank, &wrong] {
          while (simt::loadAcquire(&ranks.report(rank).ended) == 0) simt::pause();
          const uint8_t* output = (job_.overwrites ? sends_[rank] : recvs_[rank]).data();
          for (size_t i = 0; i < recvCounts_[rank]; ++i) {
            const auto found = static_cast<int32_t>(simt::loadUser<4>(output + 4 * i));
            if (found != expected(rank, i)) ++wrong;
          }
        },
        "reader " + std::to_string(rank));
  }

  // Returns the number of wrong elements in a rank's output, or the maximum if bytes outside the buffers have changed.
  // If `unfinished`, elements may also have their initial value.
  size_t wrong(int rank, bool unfinished = false) {
    if (!sends_[rank].intact() || !recvs_[rank].intact()) return ~size_t{0};
    size_t bad = 0;
    for (size_t i = 0; i < recvCounts_[rank]; ++i) {
      const int32_t found = (job_.overwrites ? sends_[rank] : recvs_[rank]).get<int32_t>(i);
      const int32_t before = job_.overwrites ? valueOf(rank, i) : kUntouched;
      if (found != expected(rank, i) && !(unfinished && found == before)) ++bad;
    }
    return bad;
  }

  // Returns all memory of the ranks. The machine's launches must be those of ranks 0, 1 and so on, in this order.
  emulator::MemoryPlaces places() {
    emulator::MemoryPlaces all;
    ranks.addTo(all);
    if (descriptors_ != nullptr) descriptors_->addTo(all);
    for (int rank = 0; rank < size_; ++rank) {
      for (Guarded* buffer : {&sends_[rank], &recvs_[rank]}) all.add(buffer->data(), buffer->bytes(), rank);
    }
    return all;
  }

  DeviceRanks ranks;

 private:
  static constexpr uint8_t kFill = 0xEE;
  static constexpr int32_t kUntouched = static_cast<int32_t>(0xEEEEEEEE);

  static int32_t valueOf(int rank, size_t i) {
    return static_cast<int32_t>((rank + 1) * 1000003u + static_cast<uint32_t>(i) * 7919u);
  }
  bool sendsParts() const {
    return job_.collective == Collective::ReduceScatter || job_.collective == Collective::AllToAll;
  }
  bool recvsParts() const {
    return job_.collective == Collective::AllGather || job_.collective == Collective::AllToAll;
  }

  // Sets the parts of all ranks. In v-forms one part is empty, and there are gaps between the parts.
  void plan() {
    size_t end = 0;
    for (int rank = 0; rank < size_; ++rank) {
      counts_.push_back(static_cast<int64_t>(!job_.parts ? count_ : rank == 1 ? 0 : count_ * (rank + 1) / 2 + rank));
      displacements_.push_back(static_cast<int64_t>(end + (job_.parts ? rank : 0)));
      end = displacements_.back() + counts_.back();
    }
    largeCount_ = end;
  }
  // Returns the number of elements that an all-to-all sends from one rank to another.
  size_t message(int from, int to) const { return job_.parts ? count_ * ((from + 2 * to) % 3) + from : count_; }
  size_t total(int rank) const {
    if (job_.collective == Collective::ReduceScatter) return largeCount_;
    return sendOffset(rank, size_);
  }
  size_t received(int rank) const {
    if (job_.collective == Collective::AllGather) return largeCount_;
    return recvOffset(rank, size_);
  }
  size_t sendOffset(int rank, int to) const {
    size_t offset = 0;
    for (int peer = 0; peer < to; ++peer) offset += message(rank, peer);
    return offset;
  }
  size_t recvOffset(int rank, int from) const {
    size_t offset = 0;
    for (int peer = 0; peer < from; ++peer) offset += message(peer, rank);
    return offset;
  }

  int32_t sumAt(size_t i) const {
    uint32_t sum = 0;
    for (int rank = 0; rank < size_; ++rank) sum += static_cast<uint32_t>(valueOf(rank, i));
    return static_cast<int32_t>(sum);
  }
  int32_t expected(int rank, size_t i) const {
    switch (job_.collective) {
      case Collective::AllReduce:
        return sumAt(i);
      case Collective::Reduce:
        return rank == 0 ? sumAt(i) : kUntouched;
      case Collective::Broadcast:
        return valueOf(0, i);
      case Collective::ReduceScatter:
        return sumAt(displacements_[rank] + i);
      case Collective::AllGather:
        for (int from = 0; from < size_; ++from) {
          const size_t begin = displacements_[from];
          if (i >= begin && i < begin + counts_[from]) return valueOf(from, i - begin);
        }
        return kUntouched;
      default:
        break;
    }
    int from = 0;
    while (i >= recvOffset(rank, from + 1)) ++from;
    return valueOf(from, sendOffset(from, rank) + i - recvOffset(rank, from));
  }

  uint8_t* output(int rank) { return job_.overwrites ? sends_[rank].data() : recvs_[rank].data(); }

  void describe() {
    const OperationCode code{job_.collective, job_.type, ReduceOp::Sum};
    const size_t elements = count_ * sizeof(int32_t) / sizeOf(job_.type);
    if (job_.family == KernelFamily::InPlace) {
      std::vector<const uint8_t*> inputs;
      std::vector<uint8_t*> outputs;
      for (int rank = 0; rank < size_; ++rank) {
        inputs.push_back(sends_[rank].data());
        outputs.push_back(output(rank));
      }
      descriptors_ = std::make_unique<InPlaceDescriptors>(channels_, inputs, outputs);
      descriptors_->oneShotBytes = job_.oneShotBytes;
    }
    groups_.resize(size_);
    for (int rank = 0; rank < size_; ++rank) {
      if (job_.family == KernelFamily::Collective) {
        Launch& launch = launches_.emplace_back(ranks.launchOf(rank));
        launch.code = code;
        launch.choice =
            choiceOf(job_.algorithm, job_.protocol, channels_, 0, job_.twoShot ? Choice::kTwoShot : uint16_t{0});
        launch.send = sends_[rank].data();
        launch.recv = output(rank);
        launch.count = elements;
        withParts(launch);
      } else if (job_.family == KernelFamily::InPlace) {
        withParts(inPlaceLaunches_.emplace_back(descriptors_->launchOf(ranks, rank, code, elements)));
      } else {
        exchange(rank);
      }
    }
  }
  template <class AnyLaunch>
  void withParts(AnyLaunch& launch) const {
    if (!job_.parts) return;
    launch.counts = counts_.data();
    launch.displacements = displacements_.data();
    launch.fingerprint = 12345;
  }

  void exchange(int rank) {
    const auto bytesOf = [&](int from, int to) { return message(from, to) * sizeof(int32_t); };
    for (int i = 0; i < size_; ++i) {
      const int to = (rank + i) % size_, from = (rank - i + size_) % size_;
      uint8_t* source = sends_[rank].data() + sendOffset(rank, to) * sizeof(int32_t);
      uint8_t* target = recvs_[rank].data() + recvOffset(rank, from) * sizeof(int32_t);
      if (to == rank) {
        groups_[rank].copies.push_back({ExchangeTask::Kind::Copy, rank, source, target, bytesOf(rank, rank), 0});
        continue;
      }
      const uint32_t out = static_cast<uint32_t>(bytesOf(rank, to)), in = static_cast<uint32_t>(bytesOf(from, rank));
      groups_[rank].add({{ExchangeTask::Kind::Send, to, source, job_.reads ? source : nullptr, out, out * 31 + 7}});
      groups_[rank].add({{ExchangeTask::Kind::Recv, from, target, nullptr, in, in * 31 + 7}});
    }
    exchangeLaunches_.push_back(groups_[rank].launchOf(ranks, rank, channels_, true));
  }

  const Job job_;
  const int size_;
  const int channels_;
  const size_t count_;
  size_t largeCount_ = 0;
  std::vector<int64_t> counts_, displacements_;
  std::vector<Guarded> sends_, recvs_;
  std::vector<size_t> recvCounts_;
  std::vector<Launch> launches_;
  std::vector<device::InPlaceLaunch> inPlaceLaunches_;
  std::vector<ExchangeLaunch> exchangeLaunches_;
  std::vector<ExchangeGroup> groups_;
  std::unique_ptr<InPlaceDescriptors> descriptors_;
};

}  // namespace jccl::test
