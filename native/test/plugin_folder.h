// A temporary folder with a copy of a plug-in. The plug-in reads its configuration from a file of this folder and logs
// its calls to another.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace jccl::test {

class PluginFolder {
 public:
  PluginFolder(const std::string& library, const std::string& wanted) {
    std::string name = (std::filesystem::temp_directory_path() / "jccl-plugin-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    std::filesystem::copy_file(library, this->library());
    std::ofstream(this->library() + ".conf") << wanted;
  }
  ~PluginFolder() { std::filesystem::remove_all(folder_); }
  PluginFolder(const PluginFolder&) = delete;
  PluginFolder& operator=(const PluginFolder&) = delete;

  std::string library() const { return folder_ + "/libplugin.so"; }

  // Returns the lines of the file whose name is that of the library followed by `suffix`.
  std::vector<std::string> lines(const std::string& suffix) const {
    std::ifstream file(library() + suffix);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

 private:
  std::string folder_;
};

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Returns the number of lines that begin with `begin`.
inline long count(const std::vector<std::string>& lines, const std::string& begin) {
  return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) { return line.rfind(begin, 0) == 0; });
}

}  // namespace jccl::test
