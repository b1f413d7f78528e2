// A test library that is linked like the libraries of the jar (cmake/SharedLibraries.cmake): it contains the C++
// library and native/glibc. portable_library_test.cc loads it into a program that has another C++ library, as a JVM
// has. The names of its functions begin with Java_ because libraries of the jar export no others.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#define JCCL_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// Counts how often its destructor runs.
class Counted {
 public:
  explicit Counted(int* ends) : ends_(ends) {}
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { ++*ends_; }

 private:
  int* ends_;
};

[[gnu::noinline]] void throwThrough(int frames, int* unwound) {
  const Counted frame(unwound);
  if (frames == 1) throw std::out_of_range("thrown");
  throwThrough(frames - 1, unwound);
}

}  // namespace

// Throws an exception and catches it `frames` frames above. Returns the number of frames that were unwound, -1 if the
// exception is not the expected one.
JCCL_EXPORT int Java_unwind(int frames) {
  int unwound = 0;
  try {
    throwThrough(frames, &unwound);
  } catch (const std::logic_error& error) {
    return std::strcmp("thrown", error.what()) == 0 ? unwound : -1;
  }
  return -1;
}

// Each thread copies and drops a shared pointer `rounds` times. Returns the use count afterwards, and in `ends` how
// often the object was destroyed.
JCCL_EXPORT long Java_share(int threads, int rounds, int* ends) {
  const auto object = std::make_shared<Counted>(ends);
  std::vector<std::thread> users;
  for (int i = 0; i < threads; ++i) {
    users.emplace_back([&object, rounds] {
      for (int round = 0; round < rounds; ++round) {
        const std::shared_ptr<Counted> copy = object;
        asm volatile("" : : "r"(copy.get()) : "memory");
      }
    });
  }
  for (std::thread& user : users) user.join();
  return object.use_count();
}

// Returns the number of distinct values among `count` random numbers. Calls arc4random directly, because
// std::random_device may ask the processor instead.
extern "C" uint32_t arc4random() noexcept;
JCCL_EXPORT size_t Java_random(int count) {
  std::set<uint32_t> numbers;
  for (int i = 0; i < count; ++i) numbers.insert(arc4random());
  return numbers.size();
}

// Returns the size of a file, -1 if its path and its descriptor report different files or sizes, -2 if it does not
// exist.
JCCL_EXPORT int64_t Java_fileBytes(const char* path) {
  struct stat byPath;
  struct stat byDescriptor;
  if (::stat(path, &byPath) != 0) return -2;
  const int descriptor = ::open(path, O_RDONLY | O_CLOEXEC);
  const int found = ::fstat(descriptor, &byDescriptor);
  ::close(descriptor);
  return found == 0 && S_ISREG(byPath.st_mode) && byPath.st_ino == byDescriptor.st_ino &&
                 byPath.st_size == byDescriptor.st_size
             ? byPath.st_size
             : -1;
}

// The headers of glibc 2.38 redirect sscanf, and strtoull in base 0, to these functions.
extern "C" int __isoc23_sscanf(const char* text, const char* format, ...);
extern "C" unsigned long long __isoc23_strtoull(const char* text, char** end, int base);
JCCL_EXPORT uint64_t Java_parse(const char* text) {
  unsigned first = 0;
  int at = 0;
  if (__isoc23_sscanf(text, "%x:%n", &first, &at) != 1) return 0;
  return first + __isoc23_strtoull(text + at, nullptr, 0);
}
