#include "verbs/device_filter.h"

#include <algorithm>
#include <sstream>

namespace jccl::verbs {
namespace {

constexpr int kMaxPort = 255;

Status bad(const std::string& text, const std::string& entry) {
  return Status::invalid("JCCL_IB_HCA=\"" + text + "\": \"" + entry +
                         "\" is no adapter; expected names with an optional port from 1 to 255, such as "
                         "\"mlx5_0:1,mlx5_2\", with = in front for exact names and ^ for all others");
}

}  // namespace

Status DeviceFilter::parse(const std::string& text, DeviceFilter* filter) {
  DeviceFilter made;
  size_t at = 0;
  for (; at < text.size() && (text[at] == '^' || text[at] == '='); ++at) {
    bool& seen = text[at] == '^' ? made.others_ : made.exact_;
    if (seen) return bad(text, text.substr(0, at + 1));
    seen = true;
  }
  std::istringstream list(text.substr(at));
  for (std::string entry; std::getline(list, entry, ',');) {
    if (entry.empty()) continue;
    Entry one;
    const size_t colon = entry.find(':');
    one.name = entry.substr(0, colon);
    if (colon != std::string::npos) {
      const std::string digits = entry.substr(colon + 1);
      const bool number =
          !digits.empty() && digits.size() <= 3 && digits.find_first_not_of("0123456789") == std::string::npos;
      one.port = number ? std::stoi(digits) : 0;
      if (one.port < 1 || one.port > kMaxPort) return bad(text, entry);
    }
    if (one.name.empty()) return bad(text, entry);
    made.entries_.push_back(std::move(one));
  }
  if (made.entries_.empty() && !text.empty()) return bad(text, text);
  *filter = std::move(made);
  return Status::ok();
}

bool DeviceFilter::accepts(const std::string& device, int port) const {
  if (entries_.empty()) return true;
  const bool listed = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    const bool named = exact_ ? device == entry.name : device.rfind(entry.name, 0) == 0;
    return named && (entry.port == 0 || entry.port == port);
  });
  return listed != others_;
}

}  // namespace jccl::verbs
