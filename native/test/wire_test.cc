// Operations whose chunks are narrowed between hosts, over sockets, on layouts of hosts and with all algorithms.
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <tuple>

#include "test/net_ranks.h"

namespace jccl::test::wire_test {
namespace {

constexpr size_t kCounts[] = {0, 1, 63, 129, 4099, 70001};
constexpr WireFormat kFormats[] = {WireFormat::Bfloat16, WireFormat::Float16, WireFormat::Float8Block,
                                   WireFormat::Int8Block};

struct Layout {
  const char* name;
  std::vector<int> hosts;
};

const Layout kLayouts[] = {
    {"TwoHosts", {0, 1}},     {"ThreeHosts", {0, 1, 2}},     {"TwoByTwo", {0, 0, 1, 1}},
    {"Uneven", {0, 0, 0, 1}}, {"Interleaved", {0, 1, 0, 1}},
};

const Variant kVariants[] = {
    {"Ring", Algorithm::Ring},
    {"Tree", Algorithm::Tree},
    {"Direct", Algorithm::Direct},
    {"TwoShot", Algorithm::Direct, Choice::kTwoShot},
    {"ByHosts", Algorithm::Direct, Choice::kByHosts},
    {"InRounds", Algorithm::Direct, Choice::kByHosts | Choice::kInRounds},
    {"ByShares", Algorithm::Direct, Choice::kByHosts | Choice::kTwoShot},
};

// An operation and the format in which it crosses hosts.
struct Wired {
  OperationCode code;
  WireCode wire;
};

Wired codeOf(Collective collective, DataType type, WireFormat format, bool stochastic = false,
             ReduceOp op = ReduceOp::Sum) {
  const auto number = static_cast<uint8_t>(format);
  return {{collective, type, op}, {static_cast<uint8_t>(number | (stochastic ? WireCode::kStochastic : 0))}};
}

using Parameter = std::tuple<Layout, Variant>;

template <class T>
using Buffers = std::vector<std::vector<T>>;

class WireTest : public ::testing::TestWithParam<Parameter> {
 protected:
  static const Layout& layout() { return std::get<0>(GetParam()); }
  static size_t size() { return layout().hosts.size(); }
  static int hosts() { return 1 + *std::max_element(layout().hosts.begin(), layout().hosts.end()); }

  template <class T>
  static Buffers<T> inputs(size_t count, unsigned seed = 1) {
    Buffers<T> all(size());
    std::mt19937 random(seed);
    std::normal_distribution<double> values(0, 1);
    for (auto& one : all) {
      for (size_t i = 0; i < count; ++i) one.push_back(static_cast<T>(values(random)));
    }
    return all;
  }

  // Runs the operation on all ranks and expects success. `send` and `recv` may be the same buffers.
  template <class T>
  void run(const Wired& wired, Buffers<T>& send, Buffers<T>& recv, size_t count, int root = 0, uint64_t seed = 0) {
    const Variant& variant = std::get<1>(GetParam());
    const Choice choice = choiceOf(variant.algorithm, Protocol::LL, 1, 0, variant.flags);
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < size(); ++rank) {
      threads.emplace_back([&, rank] {
        Engine& engine = ranks_.communicators[rank]->engine();
        const Code result = engine.run(wired.code, choice, reinterpret_cast<uint64_t>(send[rank].data()),
                                       reinterpret_cast<uint64_t>(recv[rank].data()), static_cast<int64_t>(count), root,
                                       kTimeoutNanos, {}, {wired.wire, seed});
        EXPECT_EQ(Code::Ok, result) << engine.lastError();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  template <class T>
  static void expectSameBits(const Buffers<T>& all) {
    for (size_t rank = 1; rank < all.size(); ++rank) {
      ASSERT_TRUE(all[0].empty() || std::memcmp(all[0].data(), all[rank].data(), all[0].size() * sizeof(T)) == 0)
          << "rank=" << rank;
    }
  }

  // Largest error of one rounding of elements up to `largest`.
  static double step(WireFormat format, double largest, bool stochastic = false) {
    double unit = 0x1p-8;
    if (format == WireFormat::Float16) unit = 0x1p-11;
    if (format == WireFormat::Float8Block) unit = 0x1p-4;
    if (format == WireFormat::Int8Block) unit = 1.0 / 250;
    return largest * unit * (stochastic ? 2 : 1) + 1e-6 * largest;
  }

  template <class T>
  void checkAllReduce(DataType type, WireFormat format, size_t count, ReduceOp op) {
    Buffers<T> send = inputs<T>(count);
    Buffers<T> recv(size(), std::vector<T>(count));
    run(codeOf(Collective::AllReduce, type, format, false, op), send, recv, count);
    expectSameBits(recv);
    // A partial sum of four normal numbers hardly exceeds 12. It is rounded where it crosses hosts, at most once for
    // each rank, and once as the result.
    const double divisor = op == ReduceOp::Avg ? static_cast<double>(size()) : 1;
    const double allowed = step(format, 12) * static_cast<double>(size() + 1) / divisor;
    for (size_t i = 0; i < count; ++i) {
      double exact = 0;
      for (const auto& one : send) exact += one[i];
      ASSERT_NEAR(exact / divisor, recv[0][i], allowed) << "i=" << i << " format=" << static_cast<int>(format);
    }
    // In place, and a second time, the bits are the same.
    run(codeOf(Collective::AllReduce, type, format, false, op), send, send, count);
    for (size_t rank = 0; rank < size(); ++rank) {
      ASSERT_EQ(0, count == 0 ? 0 : std::memcmp(send[rank].data(), recv[rank].data(), count * sizeof(T)));
    }
  }

  NetRanks ranks_{std::get<0>(GetParam()).hosts};
};

TEST_P(WireTest, AllReduceGivesAllRanksTheSameRoundedSum) {
  for (const WireFormat format : kFormats) {
    for (const size_t count : kCounts) {
      checkAllReduce<float>(DataType::Float32, format, count, ReduceOp::Sum);
      checkAllReduce<double>(DataType::Float64, format, count, ReduceOp::Avg);
    }
  }
}

TEST_P(WireTest, StochasticAllReduceDependsOnlyOnTheSeed) {
  const size_t count = 4099;
  for (const WireFormat format : kFormats) {
    const Wired code = codeOf(Collective::AllReduce, DataType::Float32, format, true);
    Buffers<float> send = inputs<float>(count);
    Buffers<float> first(size(), std::vector<float>(count)), again = first, other = first;
    run(code, send, first, count, 0, 1);
    run(code, send, again, count, 0, 1);
    run(code, send, other, count, 0, 2);
    expectSameBits(first);
    expectSameBits(other);
    EXPECT_EQ(0, std::memcmp(first[0].data(), again[0].data(), count * 4));
    EXPECT_NE(0, std::memcmp(first[0].data(), other[0].data(), count * 4));
    for (size_t i = 0; i < count; ++i) {
      double exact = 0;
      for (const auto& one : send) exact += one[i];
      ASSERT_NEAR(exact, first[0][i], step(format, 12, true) * static_cast<double>(size() + 1)) << "i=" << i;
    }
  }
}

TEST_P(WireTest, ReduceScatterRoundsWithinTheBounds) {
  for (const WireFormat format : kFormats) {
    for (const size_t count : kCounts) {
      Buffers<float> send = inputs<float>(count * size());
      Buffers<float> recv(size(), std::vector<float>(count));
      run(codeOf(Collective::ReduceScatter, DataType::Float32, format), send, recv, count);
      for (size_t rank = 0; rank < size(); ++rank) {
        for (size_t i = 0; i < count; ++i) {
          double exact = 0;
          for (const auto& one : send) exact += one[rank * count + i];
          ASSERT_NEAR(exact, recv[rank][i], step(format, 12) * static_cast<double>(size())) << "i=" << i;
        }
      }
    }
  }
}

TEST_P(WireTest, AllGatherGivesAllRanksTheSameElementsRoundedOnce) {
  for (const WireFormat format : kFormats) {
    for (const size_t count : kCounts) {
      Buffers<double> send = inputs<double>(count);
      Buffers<double> recv(size(), std::vector<double>(count * size()));
      run(codeOf(Collective::AllGather, DataType::Float64, format), send, recv, count);
      expectSameBits(recv);
      for (size_t rank = 0; rank < size(); ++rank) {
        for (size_t i = 0; i < count; ++i) {
          ASSERT_NEAR(send[rank][i], recv[0][rank * count + i], step(format, 5)) << "rank=" << rank << " i=" << i;
        }
      }
    }
  }
}

TEST_P(WireTest, BroadcastGivesAllRanksTheSameElementsRoundedOnce) {
  const int root = static_cast<int>(size()) - 1;
  for (const WireFormat format : kFormats) {
    for (const size_t count : kCounts) {
      Buffers<float> send = inputs<float>(count);
      Buffers<float> recv(size(), std::vector<float>(count));
      run(codeOf(Collective::Broadcast, DataType::Float32, format), send, recv, count, root);
      expectSameBits(recv);
      for (size_t i = 0; i < count; ++i) ASSERT_NEAR(send[root][i], recv[0][i], step(format, 5)) << "i=" << i;
    }
  }
}

TEST_P(WireTest, MinimumAndInfinitiesPass) {
  const size_t count = 1000;
  for (const WireFormat format : kFormats) {
    Buffers<float> send = inputs<float>(count);
    send[size() - 1][7] = -std::numeric_limits<float>::infinity();
    send[0][300] = std::numeric_limits<float>::quiet_NaN();
    Buffers<float> recv(size(), std::vector<float>(count));
    run(codeOf(Collective::AllReduce, DataType::Float32, format, false, ReduceOp::Min), send, recv, count);
    expectSameBits(recv);
    EXPECT_EQ(-std::numeric_limits<float>::infinity(), recv[0][7]);
    EXPECT_TRUE(std::isnan(recv[0][300]));
    EXPECT_FALSE(std::isnan(recv[0][301]));
  }
}

std::string nameOf(const ::testing::TestParamInfo<Parameter>& info) {
  return std::string(std::get<0>(info.param).name) + std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(Layouts, WireTest,
                         ::testing::Combine(::testing::ValuesIn(kLayouts), ::testing::ValuesIn(kVariants)), nameOf);

// Runs an all-reduce of float32 on every rank, with the code of each rank; returns the results.
std::vector<Code> allReduce(NetRanks& ranks, const std::vector<Wired>& codes, std::vector<float>& in,
                            std::vector<std::vector<float>>& out) {
  std::vector<Code> results(codes.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < codes.size(); ++rank) {
    out[rank].resize(in.size());
    threads.emplace_back([&, rank] {
      results[rank] = ranks.communicators[rank]->engine().run(
          codes[rank].code, choiceOf(Algorithm::Ring, Protocol::Simple, 1, 0, 0), reinterpret_cast<uint64_t>(in.data()),
          reinterpret_cast<uint64_t>(out[rank].data()), static_cast<int64_t>(in.size()), 0, 3'000'000'000, {},
          {codes[rank].wire});
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

TEST(WireOnOneHost, IsExact) {
  NetRanks ranks({0, 0});
  std::vector<float> in(5000);
  for (size_t i = 0; i < in.size(); ++i) in[i] = 1.0f + static_cast<float>(i) * 0x1p-20f;
  std::vector<std::vector<float>> out(2);
  const Wired code = codeOf(Collective::AllReduce, DataType::Float32, WireFormat::Int8Block);
  EXPECT_EQ((std::vector{Code::Ok, Code::Ok}), allReduce(ranks, {code, code}, in, out));
  for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(2 * in[i], out[0][i]);
}

TEST(WireOnTwoHosts, SendsTheBytesOfTheFormat) {
  const size_t count = 1 << 20;
  uint64_t exact = 0;
  for (const WireFormat format : {WireFormat::Exact, WireFormat::Bfloat16, WireFormat::Int8Block}) {
    NetRanks ranks({0, 1});
    std::vector<float> in(count, 1.5f);
    std::vector<std::vector<float>> out(2);
    const Wired code = codeOf(Collective::AllReduce, DataType::Float32, format);
    EXPECT_EQ((std::vector{Code::Ok, Code::Ok}), allReduce(ranks, {code, code}, in, out));
    const uint64_t sent = ranks.communicators[0]->engine().useOf(TransportKind::Socket).sentBytes;
    if (format == WireFormat::Exact) {
      exact = sent;
      EXPECT_EQ(count * 4, exact);
    } else if (format == WireFormat::Bfloat16) {
      EXPECT_EQ(exact / 2, sent);
    } else {
      EXPECT_EQ(exact / 4 * 132 / 128, sent);
    }
  }
}

TEST(WireOnTwoHosts, RanksWithDifferentFormatsAreAMismatch) {
  NetRanks ranks({0, 1});
  std::vector<float> in(5000, 1.0f);
  std::vector<std::vector<float>> out(2);
  const std::vector<Code> results =
      allReduce(ranks,
                {codeOf(Collective::AllReduce, DataType::Float32, WireFormat::Int8Block),
                 codeOf(Collective::AllReduce, DataType::Float32, WireFormat::Float8Block)},
                in, out);
  EXPECT_TRUE(results[0] == Code::Mismatch || results[1] == Code::Mismatch);
  EXPECT_NE(Code::Ok, results[0]);
  EXPECT_NE(Code::Ok, results[1]);
}

TEST(WireArguments, TypesAndCollectivesThatCannotBeNarrowedAreRefused) {
  NetRanks ranks({0, 1});
  Engine& engine = ranks.communicators[0]->engine();
  const Choice choice = choiceOf(Algorithm::Ring, Protocol::Simple, 1, 0, 0);
  for (const Wired& one : {codeOf(Collective::AllReduce, DataType::Int32, WireFormat::Int8Block),
                           codeOf(Collective::Reduce, DataType::Float32, WireFormat::Int8Block),
                           codeOf(Collective::AllReduce, DataType::Float32, static_cast<WireFormat>(5)),
                           codeOf(Collective::AllReduce, DataType::Float32, WireFormat::Exact, true)}) {
    EXPECT_EQ(Code::Invalid, engine.run(one.code, choice, 0, 0, 0, 0, kTimeoutNanos, {}, {one.wire}));
  }
}

}  // namespace
}  // namespace jccl::test::wire_test
