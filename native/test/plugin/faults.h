// What makes the plug-in of the tests another: JCCL_TEST_PLUGIN_FAULT=KIND or KIND=CALL, read by init and devices.
//
//     blocks=CALL    the call does not return until jccl_test_plugin_release() is called
//     fails=CALL     the call returns an internal error
//     handlers=CALL  the call replaces handlers of signals by one that ends the process; `load`: when the library is loaded
//     crashes=CALL   the call writes where nothing is
//     never=CALL     connect, accept: no communicator; isend, irecv: no request; test: not done; always "not yet"
//     properties=P   getProperties has an absurd P: noname, speed, maxcomms, maxrecvs, latency, maxbytes; nodevices, devices: so many
//     size=S         test says S bytes have come: huge, negative, zero, short
//     early          test says done before anything has moved
//     twice          isend sends, and says that it had no space for the request
//     handle         listen fills its handle with garbage;  nocomm: it returns success and no communicator
//     breaks=N       the Nth isend or irecv of the process and all later ones fail, until the fault is read again
//     late           has no space for every second request and answers every third question only
//     partial        moves a few bytes at a time
//
// Calls that move messages do so only after some that were good.
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
  const Fault* before = nullptr;  // none is deleted: a call may still look at it
};

class Faults {
 public:
  static constexpr uint64_t kGoodMessages = 20;

  // Allocates nothing: a library that is closed before init would lose it.
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

  // What every call begins with: false if it is to fail.
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

  // Whether what moves messages has failed for good.
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
  static inline std::atomic<uint64_t> posts{0};  // since the fault was read
};

}  // namespace jccl::plugin
