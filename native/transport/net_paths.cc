#include "transport/net_paths.h"

#include <algorithm>
#include <charconv>

namespace jccl {

Status NetDeviceNumbers::parse(const std::string& lines, NetDeviceNumbers* numbers) {
  NetDeviceNumbers read;
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    const std::string line = lines.substr(begin, end - begin);
    int number = kUnknown;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    const auto digits = static_cast<size_t>(rest - line.data());
    if (error != std::errc{} || number < 0 || digits + 1 >= line.size() || line[digits] != ' ') {
      return Status::invalid("network device '" + line + "': expected its number, a space and its name");
    }
    read.byName_.emplace(line.substr(digits + 1), number > kMax ? kUnknown : number);
    begin = end + 1;
  }
  *numbers = std::move(read);
  return Status::ok();
}

int NetDeviceNumbers::of(const std::string& name) const {
  const auto found = byName_.find(name);
  return found == byName_.end() ? kUnknown : found->second;
}

NetPaths::NetPaths(int rank, const std::vector<NetPath>& paths) : rank_(rank) {
  for (const NetPath& path : paths) {
    const bool others = path.from == rank && path.to == rank;
    const char* why = others ? "the channel's ring uses it" : "the plan's rings and trees do";
    // A device with the same number on another host counts as one of the same rail.
    if (path.from == rank) add(sends_, {path.to, path.channel}, {path.out, others ? path.out : path.in, why});
    if (path.to == rank) add(receives_, {path.from, path.channel}, {path.in, path.out, why});
  }
}

void NetPaths::add(Table& table, const std::pair<int, int>& connection, const Ends& ends) {
  if (table.emplace(connection, ends).second && ends.local != NetDeviceNumbers::kUnknown) devices_.insert(ends.local);
}

NetPaths::Ends NetPaths::find(const Table& table, int peer, int channel) const {
  for (const int of : {peer, rank_}) {
    if (const auto found = table.find({of, channel}); found != table.end()) return found->second;
  }
  return {};
}

std::optional<size_t> placeOf(const std::vector<int>& numbers, int number) {
  const auto found = std::find(numbers.begin(), numbers.end(), number);
  if (number == NetDeviceNumbers::kUnknown || found == numbers.end()) return std::nullopt;
  return static_cast<size_t>(found - numbers.begin());
}

std::string missingText(const NetPaths& paths, const std::vector<int>& inUse) {
  std::string text;
  for (const int number : paths.devices()) {
    if (!placeOf(inUse, number)) text += (text.empty() ? "NET/" : ", NET/") + std::to_string(number);
  }
  return text.empty() ? text : text + " of the plan is not in use on this rank: channels use the others in rotation";
}

std::string reasonOf(const NetPaths::Ends& ends, bool found) {
  if (found) return "NET/" + std::to_string(ends.local) + ", because " + ends.why;
  if (ends.local == NetDeviceNumbers::kUnknown) return std::string("in rotation, because ") + ends.why;
  return "in rotation, because NET/" + std::to_string(ends.local) + " of the plan is not among those in use";
}

}  // namespace jccl
