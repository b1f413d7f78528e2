#include "base/shared_cache.h"

#include <fstream>
#include <string>

namespace jccl {
namespace {

constexpr SharedCache kUnknown{32u << 20, 1};

// Parses a size such as "32768K".
size_t bytesOf(const std::string& text) {
  size_t number = 0, at = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) number = number * 10 + (text[at] - '0');
  const char unit = at < text.size() ? text[at] : ' ';
  return unit == 'K' ? number << 10 : unit == 'M' ? number << 20 : unit == 'G' ? number << 30 : number;
}

// Counts the bits of a map such as "ff,ffffffff", which has one bit for each core.
int coresOf(const std::string& map) {
  int cores = 0;
  for (const char digit : map) {
    const int value = digit >= '0' && digit <= '9' ? digit - '0' : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : 0;
    cores += __builtin_popcount(static_cast<unsigned>(value));
  }
  return cores;
}

}  // namespace

SharedCache sharedCacheIn(const char* directory) {
  SharedCache found = kUnknown;
  int highest = 0;
  for (int index = 0;; ++index) {
    const std::string path = std::string(directory) + "/index" + std::to_string(index) + "/";
    const auto read = [&path](const char* name) {
      std::string text;
      std::ifstream(path + name) >> text;
      return text;
    };
    const std::string level = read("level");
    if (level.empty()) return found;
    const size_t bytes = bytesOf(read("size"));
    const int number = static_cast<int>(bytesOf(level));
    if (number <= highest || bytes == 0) continue;
    highest = number;
    const int cores = coresOf(read("shared_cpu_map"));
    found = {bytes, cores == 0 ? 1 : cores};
  }
}

SharedCache sharedCache() {
  static const SharedCache cache = sharedCacheIn("/sys/devices/system/cpu/cpu0/cache");
  return cache;
}

}  // namespace jccl
