// Faults of the network plug-in for tests. init and devices read the chosen one from JCCL_TEST_PLUGIN_FAULT=KIND or
// KIND=CALL.
//
//     blocks=CALL    CALL does not return until jccl_test_plugin_release() is called
//     fails=CALL     CALL returns an internal error
//     handlers=CALL  CALL replaces signal handlers by one that ends the process; `load`: when the library is loaded
//     crashes=CALL   CALL writes to the null address
//     never=CALL     CALL always answers "not yet": connect and accept return no communicator, isend and irecv no
//                    request, and test reports that the request is not done
//     properties=P   getProperties reports an absurd P: noname, speed, maxcomms, maxrecvs, latency or maxbytes;
//                    nodevices, devices: the plug-in reports no devices, or INT_MAX of them
//     size=S         test reports a wrong number of received bytes: huge, negative, zero or short
//     early          test reports done before any byte has moved
//     twice          isend sends the message, but reports that it had no space for the request
//     handle         listen fills its handle with garbage
//     nocomm         listen returns success, but no communicator
//     breaks=N       after N calls of isend and irecv in the process, all later ones fail until the fault is read again
//     late           has no space for every second request, on average, and answers only every third call of test
//     partial        moves a few bytes at a time
//
// Faults of isend, irecv and test begin after kGoodMessages messages of a communicator; `late`, `breaks` and `partial`
// at once.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <ctime>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace jccl::plugin {

struct Fault {
  std::string kind;
  std::string call;
  const Fault* before = nullptr;  // the fault chosen earlier; never deleted, because a call may still read it
};

class Faults {
 public:
  static constexpr uint64_t kGoodMessages = 20;

  // Must not allocate: a library that is closed before init would leak the memory.
  static void load() {
    if (wanted() == "handlers=load") replaceHandlers();
  }

  static void read() {
    const std::string text(wanted());
    const size_t at = text.find('=');
    chosen.store(new Fault{text.substr(0, at), at == std::string::npos ? "" : text.substr(at + 1), chosen.load()});
    posts.store(0);
  }

  static bool has(const char* kind) {
    const Fault* fault = chosen.load(std::memory_order_acquire);
    return !fault->kind.empty() && fault->kind == kind;
  }
  static bool has(const char* kind, const char* call) { return has(kind) && chosen.load()->call == call; }

  // Must be called first by every call of the plug-in. Executes the faults of `call`; returns false if it must fail.
  static bool enter(const char* call) {
    if (has("blocks", call)) {
      const uint64_t before = releases.load();
      const timespec briefly{0, 1'000'000};
      while (releases.load() == before) ::nanosleep(&briefly, nullptr);
    }
    if (has("handlers", call)) replaceHandlers();
    if (has("crashes", call)) *static_cast<volatile int*>(nullptr) = 0;
    return !has("fails", call);
  }

  // Counts a call of isend or irecv. Returns true if the fault `breaks` makes it fail.
  static bool isBroken() {
    return has("breaks") && posts.fetch_add(1) >= std::strtoull(chosen.load()->call.c_str(), nullptr, 10);
  }

  static void release() { ++releases; }

 private:
  static std::string_view wanted() {
    const char* text = std::getenv("JCCL_TEST_PLUGIN_FAULT");  // NOLINT(concurrency-mt-unsafe): set before
    return text == nullptr ? "" : text;
  }

  static void replaceHandlers() {
    for (const int signal : {SIGSEGV, SIGUSR2}) ::signal(signal, [](int) { ::_exit(kHandlerStatus); });
  }

  static constexpr int kHandlerStatus = 77;
  static inline const Fault none;
  static inline std::atomic<const Fault*> chosen{&none};
  static inline std::atomic<uint64_t> releases{0};
  static inline std::atomic<uint64_t> posts{0};  // calls of isend and irecv since the fault was read
};

}  // namespace jccl::plugin
