// Tests of the matching of messages with receives: all short histories, compared with a model.
#include "messages/matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace jccl::test::matcher_test {
namespace {

// A step of a history: a message arrives, a receive is posted, tried, probed or cancelled.
struct Step {
  enum class Kind { Arrive, Receive, Try, Probe, Cancel } kind;
  int32_t source = kAnyMessage;
  int32_t tag = kAnyMessage;
  size_t receive = 0;  // Cancel: which of the posted receives, in the order of their posts
};

std::string text(const std::vector<Step>& history) {
  std::string all;
  for (const Step& step : history) {
    all += "ARTPC"[static_cast<int>(step.kind)];
    all +=
        "(" + std::to_string(step.source) + "," + std::to_string(step.tag) + "," + std::to_string(step.receive) + ") ";
  }
  return all;
}

// The rules in their plainest form: two lists in the order of time, searched from the beginning.
class Model {
 public:
  struct Message {
    int32_t source, tag;
    uint64_t number;
  };
  struct Receive {
    int32_t source, tag;
    size_t number;
  };

  static bool fits(int32_t source, int32_t tag, const Message& message) {
    return (source == kAnyMessage || source == message.source) && (tag == kAnyMessage || tag == message.tag);
  }
  std::optional<Message> find(int32_t source, int32_t tag) const {
    const auto found =
        std::find_if(messages.begin(), messages.end(), [&](const Message& each) { return fits(source, tag, each); });
    return found == messages.end() ? std::nullopt : std::optional(*found);
  }
  std::optional<Message> take(int32_t source, int32_t tag) {
    const std::optional<Message> found = find(source, tag);
    if (found) std::erase_if(messages, [&](const Message& each) { return each.number == found->number; });
    return found;
  }
  std::optional<size_t> arrive(const Message& message) {
    const auto found = std::find_if(receives.begin(), receives.end(),
                                    [&](const Receive& each) { return fits(each.source, each.tag, message); });
    if (found == receives.end()) {
      messages.push_back(message);
      return std::nullopt;
    }
    const size_t number = found->number;
    receives.erase(found);
    return number;
  }

  std::vector<Message> messages;
  std::vector<Receive> receives;
};

// Runs a history on both. Messages and receives are numbered in their order.
bool agrees(const std::vector<Step>& history) {
  Matcher matcher(2);
  Model model;
  std::vector<std::unique_ptr<PostedReceive>> receives;
  uint64_t messages = 0;
  const auto same = [](const UnexpectedMessage* message, const std::optional<Model::Message>& expected) {
    return message == nullptr ? !expected
                              : expected && message->number == expected->number &&
                                    message->source == expected->source && message->tag == expected->tag;
  };
  for (const Step& step : history) {
    switch (step.kind) {
      case Step::Kind::Arrive: {
        const std::optional<size_t> expected = model.arrive({step.source, step.tag, ++messages});
        const PostedReceive* found = matcher.match(step.source, step.tag);
        if ((found == nullptr) == expected.has_value()) return false;
        if (found != nullptr && found != receives[*expected].get()) return false;
        if (found != nullptr) break;
        auto message = std::make_unique<UnexpectedMessage>();
        message->source = step.source;
        message->tag = step.tag;
        message->number = messages;
        matcher.add(std::move(message));
        break;
      }
      case Step::Kind::Receive: {
        const std::optional<Model::Message> expected = model.take(step.source, step.tag);
        if (!same(matcher.take(step.source, step.tag).get(), expected)) return false;
        receives.push_back(std::make_unique<PostedReceive>());
        if (expected) break;
        receives.back()->source = step.source;
        receives.back()->tag = step.tag;
        matcher.post(*receives.back());
        model.receives.push_back({step.source, step.tag, receives.size() - 1});
        break;
      }
      case Step::Kind::Try:
        if (!same(matcher.take(step.source, step.tag).get(), model.take(step.source, step.tag))) return false;
        break;
      case Step::Kind::Probe:
        if (!same(matcher.find(step.source, step.tag), model.find(step.source, step.tag))) return false;
        break;
      case Step::Kind::Cancel: {
        if (step.receive >= receives.size()) return true;  // no such receive: another history covers the rest
        const bool expected =
            std::erase_if(model.receives, [&](const Model::Receive& each) { return each.number == step.receive; }) > 0;
        if (matcher.cancel(*receives[step.receive]) != expected) return false;
        break;
      }
    }
    if (matcher.waiting() != model.messages.size()) return false;
  }
  return true;
}

std::vector<Step> allSteps() {
  std::vector<Step> steps;
  for (int32_t source = 0; source < 2; ++source) {
    for (int32_t tag = 0; tag < 2; ++tag) steps.push_back({Step::Kind::Arrive, source, tag});
  }
  for (const Step::Kind kind : {Step::Kind::Receive, Step::Kind::Try, Step::Kind::Probe}) {
    for (const int32_t source : {kAnyMessage, 0, 1}) {
      for (const int32_t tag : {kAnyMessage, 0, 1}) {
        if (source == 1 && tag == 1) continue;  // as source 0 and tag 0, with the names exchanged
        steps.push_back({kind, source, tag});
      }
    }
  }
  for (size_t receive = 0; receive < 2; ++receive) steps.push_back({Step::Kind::Cancel, 0, 0, receive});
  return steps;
}

}  // namespace

TEST(Matcher, AgreesWithTheModelOnAllShortHistories) {
  const std::vector<Step> steps = allSteps();
  std::vector<Step> history;
  uint64_t histories = 0;
  const std::function<void(size_t)> extend = [&](size_t left) {
    ++histories;
    ASSERT_TRUE(agrees(history)) << text(history);
    if (left == 0) return;
    for (const Step& step : steps) {
      history.push_back(step);
      extend(left - 1);
      history.pop_back();
      if (testing::Test::HasFatalFailure()) return;
    }
  };
  extend(4);
  EXPECT_GT(histories, 700'000U);
}

// Seven steps of arrivals, receives and cancels only: the order of several messages and receives of one pair.
TEST(Matcher, AgreesWithTheModelOnLongerHistoriesOfFewSteps) {
  const std::array<Step, 7> steps = {Step{Step::Kind::Arrive, 0, 0},
                                     Step{Step::Kind::Arrive, 0, 1},
                                     Step{Step::Kind::Arrive, 1, 0},
                                     Step{Step::Kind::Receive, 0, 0},
                                     Step{Step::Kind::Receive, kAnyMessage, 0},
                                     Step{Step::Kind::Receive, 0, kAnyMessage},
                                     Step{Step::Kind::Cancel, 0, 0, 1}};
  std::vector<Step> history;
  const std::function<void(size_t)> extend = [&](size_t left) {
    if (left == 0) {
      ASSERT_TRUE(agrees(history)) << text(history);
      return;
    }
    for (const Step& step : steps) {
      history.push_back(step);
      extend(left - 1);
      history.pop_back();
      if (testing::Test::HasFatalFailure()) return;
    }
  };
  extend(7);
}

TEST(Matcher, MessagesOfOneSourceWithOneTagKeepTheirOrder) {
  Matcher matcher(3);
  for (uint64_t number = 0; number < 100; ++number) {
    auto message = std::make_unique<UnexpectedMessage>();
    message->source = static_cast<int32_t>(number % 3);
    message->tag = 7;
    message->number = number;
    matcher.add(std::move(message));
  }
  for (uint64_t number = 1; number < 100; number += 3) EXPECT_EQ(number, matcher.take(1, kAnyMessage)->number);
  EXPECT_EQ(nullptr, matcher.take(1, 7));
  EXPECT_EQ(nullptr, matcher.find(kAnyMessage, 8));
  EXPECT_EQ(0U, matcher.take(kAnyMessage, 7)->number);
  EXPECT_EQ(2U, matcher.take(kAnyMessage, 7)->number);
  EXPECT_EQ(65U, matcher.waiting());
}

}  // namespace jccl::test::matcher_test
