// Functions for plug-ins of all kinds: finding the library, logging, and describing results.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "base/status.h"
#include "plugin/net_abi.h"

namespace jccl::plugin {

// Prefix of the names of network plug-ins' libraries, which may also contain tables of other kinds.
inline constexpr const char* kNetPrefix = "libnccl-net";

enum class PluginKind { Network, Tuning, Profiling };

// Returns the logger for plug-ins of a kind. Its lines appear under net-plugin, tuner-plugin or profiler-plugin.
Logger pluginLogger(PluginKind kind = PluginKind::Network);

const char* textOf(Result result);

// Returns at most 4096 bytes of a plug-in's text; `otherwise` if the text is null.
std::string textOr(const char* text, const char* otherwise);

// Returns the name of the first function that is not there; null if all are. `functions`: pairs of a name and whether
// the function is there.
inline const char* firstMissing(std::initializer_list<std::pair<const char*, bool>> functions) {
  for (const auto& [name, there] : functions) {
    if (!there) return name;
  }
  return nullptr;
}

// Opens a plug-in's library. `name` is a path, the name of a library, or NAME for PREFIX-NAME.so; empty: PREFIX.so. The
// library stays mapped for ever, unless choose(library, file) returns an error. Its symbols stay invisible to other
// libraries.
template <class Choose>
Status openPluginFile(const std::string& name, const char* prefix, Choose&& choose);

// Describes a plug-in for error messages.
std::string describePlugin(const std::string& kind, const std::string& name, const std::string& file, int version);

// Opens the first library that can be opened among those that `name` can mean. If none can be opened, returns null and
// sets *errors.
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
