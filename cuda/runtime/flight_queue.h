// A queue that allocates only while it grows.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace jccl::device {

template <class T>
class FlightQueue {
 public:
  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  // Element 0 is the oldest.
  T& operator[](size_t i) { return ring_[(first_ + i) % ring_.size()]; }
  const T& operator[](size_t i) const { return ring_[(first_ + i) % ring_.size()]; }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[count_ - 1]; }

  void push(T&& value) {
    if (count_ == ring_.size()) grow();
    (*this)[count_++] = std::move(value);
  }
  void pop() {
    front() = {};
    first_ = (first_ + 1) % ring_.size();
    --count_;
  }

 private:
  void grow() {
    std::vector<T> larger(ring_.empty() ? 64 : 2 * ring_.size());
    for (size_t i = 0; i < count_; ++i) larger[i] = std::move((*this)[i]);
    ring_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> ring_;
  size_t first_ = 0, count_ = 0;
};

}  // namespace jccl::device
