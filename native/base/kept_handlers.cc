#include "base/kept_handlers.h"

#include <signal.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <utility>

#include "base/log.h"

namespace jccl {
namespace {

struct NamedSignal {
  int number;
  const char* name;
};

// The signals that the JVM uses, according to "Handle Signals and Exceptions" in Java's Troubleshooting Guide.
constexpr std::array<NamedSignal, 12> kSignals = {{{SIGSEGV, "SIGSEGV"},
                                                   {SIGBUS, "SIGBUS"},
                                                   {SIGFPE, "SIGFPE"},
                                                   {SIGILL, "SIGILL"},
                                                   {SIGTRAP, "SIGTRAP"},
                                                   {SIGPIPE, "SIGPIPE"},
                                                   {SIGXFSZ, "SIGXFSZ"},
                                                   {SIGUSR2, "SIGUSR2"},
                                                   {SIGQUIT, "SIGQUIT"},
                                                   {SIGHUP, "SIGHUP"},
                                                   {SIGINT, "SIGINT"},
                                                   {SIGTERM, "SIGTERM"}}};

struct Kept {
  std::mutex mutex;
  int users = 0;
  std::array<struct sigaction, kSignals.size()> before{};
};

// Never destroyed: a thread that a library holds may use it late, while the process exits.
Kept& keptOfThisProcess() {
  static auto* kept = new Kept();
  return *kept;
}

}  // namespace

KeptHandlers::KeptHandlers(std::string library) : library_(std::move(library)) {
  Kept& kept = keptOfThisProcess();
  const std::lock_guard lock(kept.mutex);
  if (kept.users++ > 0) return;
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i].number, nullptr, &kept.before[i]);
}

KeptHandlers::~KeptHandlers() {
  Kept& kept = keptOfThisProcess();
  const std::lock_guard lock(kept.mutex);
  --kept.users;
  std::string replaced;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction now {};
    sigaction(kSignals[i].number, nullptr, &now);
    if (now.sa_sigaction == kept.before[i].sa_sigaction) continue;
    sigaction(kSignals[i].number, &kept.before[i], nullptr);
    if (!replaced.empty()) replaced += ',';
    replaced += kSignals[i].name;
  }
  if (replaced.empty()) return;
  logMessage(LogLevel::Info, "signals",
             library_ + " replaced handlers of signals=" + replaced +
                 ", which the JVM needs: JCCL restored them; LD_PRELOAD=libjsig.so keeps them in place at all times");
}

}  // namespace jccl
