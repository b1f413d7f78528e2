// Chooses the version of a plug-in's interface. Plug-ins export a table of functions for each version that they
// support, and the newest version that both sides know is used.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "plugin/plugin_file.h"

namespace jccl::plugin {

// Names for the plug-ins of a kind.
struct PluginNames {
  const char* absence;  // for messages: why a library may export no table
  const char* prefix;   // prefix of the names of libraries
  const char* symbol;   // name of the tables' symbols, without the version's number
};

// Adapter<Version> must have the type `Table`, the function `missing(const Table&)`, which returns the first required
// function that is null, and a constructor with a table and the library's file.
template <template <int> class Adapter, int Oldest, int Version, typename Interface>
Status chooseVersion(void* library, const std::string& file, const PluginNames& names, const std::string& incomplete,
                     std::shared_ptr<Interface>* plugin) {
  if constexpr (Version < Oldest) {
    return {Code::System, "file=" + file + ": " + incomplete};
  } else {
    const std::string symbol = names.symbol + std::to_string(Version);
    const auto* table = static_cast<const typename Adapter<Version>::Table*>(symbolOf(library, symbol.c_str()));
    const char* missing = table == nullptr ? nullptr : Adapter<Version>::missing(*table);
    if (table != nullptr && missing == nullptr) {
      *plugin = std::make_shared<Adapter<Version>>(*table, file);
      return Status::ok();
    }
    const bool first = missing != nullptr && incomplete.rfind("exports none", 0) == 0;
    return chooseVersion<Adapter, Oldest, Version - 1>(library, file, names,
                                                       first ? symbol + " has no " + missing : incomplete, plugin);
  }
}

// Opens the library of a name (see openPluginFile) and constructs the adapter of its newest version.
template <template <int> class Adapter, int Oldest, int Newest, typename Interface>
Status openVersioned(const std::string& name, const PluginNames& names, const char* prefix,
                     std::shared_ptr<Interface>* plugin) {
  const std::string none = std::string("exports none of ") + names.symbol + std::to_string(Oldest) + " to _v" +
                           std::to_string(Newest) + "; " + names.absence;
  return openPluginFile(name, prefix, [&](void* library, const std::string& file) {
    return chooseVersion<Adapter, Oldest, Newest>(library, file, names, none, plugin);
  });
}

}  // namespace jccl::plugin
