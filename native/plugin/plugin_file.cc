#include "plugin/plugin_file.h"

#include <dlfcn.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/kept_handlers.h"
#include "base/log.h"

namespace jccl::plugin {
namespace {

constexpr size_t kMaxTextBytes = 4096;

LogLevel levelOf(int level) {
  switch (level) {
    case kLogWarn:
      return LogLevel::Warn;
    case kLogAbort:
      return LogLevel::Error;
    case kLogInfo:
      return LogLevel::Debug;  // NCCL does not print this level by default
    default:
      return LogLevel::Trace;
  }
}

constexpr char kNetSubsystem[] = "net-plugin";
constexpr char kTunerSubsystem[] = "tuner-plugin";
constexpr char kProfilerSubsystem[] = "profiler-plugin";

// Logs a line of a plug-in. Any thread may call it. As in NCCL, `format` has no line end.
template <const char* Subsystem>
void logOfPlugin(int level, unsigned long /*flags*/, const char* file, int line, const char* format, ...) {
  const LogLevel ours = levelOf(level);
  if (format == nullptr || !logEnabled(ours)) return;
  std::array<char, 1024> text;
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  if (length < 0) return;
  const std::string at = file == nullptr ? "" : " [" + std::string(file) + ":" + std::to_string(line) + "]";
  logMessage(ours, Subsystem, text.data() + at);
}

std::string lastLoaderError() {
  const char* text = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps one error text per thread
  return text == nullptr ? "unknown" : text;
}

}  // namespace

Logger pluginLogger(PluginKind kind) {
  switch (kind) {
    case PluginKind::Tuning:
      return logOfPlugin<kTunerSubsystem>;
    case PluginKind::Profiling:
      return logOfPlugin<kProfilerSubsystem>;
    case PluginKind::Network:
      break;
  }
  return logOfPlugin<kNetSubsystem>;
}

const char* textOf(Result result) {
  constexpr std::array<const char*, 8> kTexts = {"success",        "unhandled CUDA error", "system error",
                                                 "internal error", "invalid argument",     "invalid usage",
                                                 "remote error",   "in progress"};
  return result >= 0 && result < static_cast<Result>(kTexts.size()) ? kTexts[static_cast<size_t>(result)]
                                                                    : "unknown result";
}

std::string textOr(const char* text, const char* otherwise) {
  if (text == nullptr) return otherwise;
  return {text, ::strnlen(text, kMaxTextBytes)};
}

std::string describePlugin(const std::string& kind, const std::string& name, const std::string& file, int version) {
  return kind + " plug-in " + name + " (" + file + ", version " + std::to_string(version) + ")";
}

void* openFirst(const std::string& name, const char* prefix, std::string* file, std::string* errors) {
  std::vector<std::string> files;
  if (!name.empty()) files.push_back(name);
  if (name.find('/') == std::string::npos) files.push_back(prefix + (name.empty() ? "" : "-" + name) + ".so");
  for (const std::string& one : files) {
    const KeptHandlers kept(one);
    void* library = dlopen(one.c_str(), RTLD_NOW | RTLD_LOCAL);
    *file = one;
    if (library != nullptr) return library;
    *errors += (errors->empty() ? "" : "; ") + lastLoaderError();
  }
  return nullptr;
}

void closePlugin(void* library) { dlclose(library); }

void* symbolOf(void* library, const char* symbol) { return dlsym(library, symbol); }

}  // namespace jccl::plugin
