// Matches messages that have arrived with receives that have been posted. Knows nothing about data, links and threads.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "messages/message_frame.h"

namespace jccl {

// Stands for any source or any tag in a receive. Sources and tags of messages are not negative.
inline constexpr int32_t kAnyMessage = -1;

// A doubly linked list of nodes that contain the links. A node is in at most one list.
template <typename Node>
class MessageList {
 public:
  Node* front() const { return first_; }
  void pushBack(Node& node) {
    node.before = last_;
    node.after = nullptr;
    (last_ == nullptr ? first_ : last_->after) = &node;
    last_ = &node;
  }
  void remove(Node& node) {
    (node.before == nullptr ? first_ : node.before->after) = node.after;
    (node.after == nullptr ? last_ : node.after->before) = node.before;
  }

 private:
  Node* first_ = nullptr;
  Node* last_ = nullptr;
};

// A message that no receive had asked for when it arrived.
struct UnexpectedMessage {
  int32_t source = 0;
  int32_t tag = 0;
  uint64_t bytes = 0;
  std::vector<uint8_t> data;  // the whole message, unless the sender still has it
  bool isOffered = false;     // true: the sender still has the message, and the next fields say where
  MessageFrame::Kind offer = MessageFrame::Kind::Offer;
  uint64_t number = 0;
  uint64_t segment = 0;
  uint64_t place = 0;

  uint64_t order = 0;  // position among all messages that have arrived; set by Matcher
  UnexpectedMessage* before = nullptr;
  UnexpectedMessage* after = nullptr;
};

// A receive that waits for a message.
struct PostedReceive {
  int32_t source = kAnyMessage;
  int32_t tag = kAnyMessage;

  uint64_t order = 0;  // position among all receives that have been posted; set by Matcher
  bool isPosted = false;
  PostedReceive* before = nullptr;
  PostedReceive* after = nullptr;
};

// Rules: a message goes to the receive that was posted first among those that fit, and a receive takes the message that
// arrived first among those that fit. So messages of one source with one tag are received in their order.
//
// Not thread-safe. Messages and receives of each source are in lists of their own, so that many sources cost little.
class Matcher {
 public:
  explicit Matcher(int size) : unexpected_(size), posted_(size + 1) {}
  ~Matcher() {
    for (MessageList<UnexpectedMessage>& list : unexpected_) {
      while (UnexpectedMessage* message = list.front()) {
        list.remove(*message);
        delete message;
      }
    }
  }
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  // Returns the message that a receive would take; null if there is none.
  const UnexpectedMessage* find(int32_t source, int32_t tag) const {
    if (source != kAnyMessage) return firstOf(source, tag);
    const UnexpectedMessage* found = nullptr;
    for (int32_t each = 0; each < static_cast<int32_t>(unexpected_.size()); ++each) {
      const UnexpectedMessage* first = firstOf(each, tag);
      if (first != nullptr && (found == nullptr || first->order < found->order)) found = first;
    }
    return found;
  }

  // Removes and returns the message that a receive takes; null if there is none.
  std::unique_ptr<UnexpectedMessage> take(int32_t source, int32_t tag) {
    if (waiting_ == 0) return nullptr;
    auto* found = const_cast<UnexpectedMessage*>(find(source, tag));
    if (found == nullptr) return nullptr;
    unexpected_[found->source].remove(*found);
    --waiting_;
    return std::unique_ptr<UnexpectedMessage>(found);
  }

  // Adds a receive for which take() has found nothing. It must exist until match() returns it or cancel() removes it.
  void post(PostedReceive& receive) {
    receive.order = ++posts_;
    receive.isPosted = true;
    listOf(receive).pushBack(receive);
  }

  // Removes and returns the receive that gets a message that arrives now; null if there is none.
  PostedReceive* match(int32_t source, int32_t tag) {
    PostedReceive* found = firstOf(posted_[source], tag);
    PostedReceive* any = firstOf(posted_.back(), tag);
    if (found == nullptr || (any != nullptr && any->order < found->order)) found = any;
    if (found != nullptr) remove(*found);
    return found;
  }

  // Keeps a message for which match() has found no receive.
  void add(std::unique_ptr<UnexpectedMessage> message) {
    message->order = ++arrivals_;
    ++waiting_;
    unexpected_[message->source].pushBack(*message.release());
  }

  // Removes a receive. Returns false if a message has matched it already.
  bool cancel(PostedReceive& receive) {
    if (!receive.isPosted) return false;
    remove(receive);
    return true;
  }

  // Returns the number of messages that wait for a receive.
  uint64_t waiting() const { return waiting_; }

 private:
  MessageList<PostedReceive>& listOf(const PostedReceive& receive) {
    return receive.source == kAnyMessage ? posted_.back() : posted_[receive.source];
  }
  void remove(PostedReceive& receive) {
    listOf(receive).remove(receive);
    receive.isPosted = false;
  }
  static PostedReceive* firstOf(const MessageList<PostedReceive>& list, int32_t tag) {
    PostedReceive* receive = list.front();
    while (receive != nullptr && receive->tag != kAnyMessage && receive->tag != tag) receive = receive->after;
    return receive;
  }
  const UnexpectedMessage* firstOf(int32_t source, int32_t tag) const {
    const UnexpectedMessage* message = unexpected_[source].front();
    while (message != nullptr && tag != kAnyMessage && message->tag != tag) message = message->after;
    return message;
  }

  std::vector<MessageList<UnexpectedMessage>> unexpected_;  // by source
  std::vector<MessageList<PostedReceive>> posted_;          // by source; the last one has receives from any source
  uint64_t arrivals_ = 0;
  uint64_t posts_ = 0;
  uint64_t waiting_ = 0;
};

}  // namespace jccl
