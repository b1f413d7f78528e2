// What plug-ins of all kinds share: how their library is found, what they log, and what their results mean.
#pragma once

#include <string>

#include "base/status.h"
#include "plugin/net_abi.h"

namespace jccl::plugin {

// What the libraries of network plug-ins are called, which may have tables of other kinds.
inline constexpr const char* kNetPrefix = "libnccl-net";

enum class PluginKind { Network, Tuning, Profiling };

// The logger that plug-ins of a kind get: their lines come under net-plugin, tuner-plugin and profiler-plugin.
Logger pluginLogger(PluginKind kind = PluginKind::Network);

const char* textOf(Result result);

// A text of a plug-in, of bounded length.
std::string textOr(const char* text, const char* otherwise);

// Opens the library of a name: a path, the name of a library, or NAME of PREFIX-NAME.so; empty: PREFIX.so. It stays mapped for
// ever, unless `choose(library, file)` finds nothing in it. Of its symbols none become those of other libraries.
template <class Choose>
Status openPluginFile(const std::string& name, const char* prefix, Choose&& choose);

// A plug-in, as errors name it.
std::string describePlugin(const std::string& kind, const std::string& name, const std::string& file, int version);

// The library of the first name that can be opened; null, and the errors of all.
void* openFirst(const std::string& name, const char* prefix, std::string* file, std::string* errors);
void closePlugin(void* library);
void* symbolOf(void* library, const char* symbol);

template <class Choose>
Status openPluginFile(const std::string& name, const char* prefix, Choose&& choose) {
  std::string file;
  std::string errors;
  void* library = openFirst(name, prefix, &file, &errors);
  if (library == nullptr) return {Code::System, "cannot be loaded: " + errors};
  Status chosen = choose(library, file);
  if (!chosen) closePlugin(library);
  return chosen;
}

}  // namespace jccl::plugin
