// Lists the objects that the kernel keeps for InfiniBand verbs.
#pragma once

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace jccl::test {

// Returns a line for each device, as "0: rxe0: pd 1 cq 2 qp 2 cm_id 0 mr 3 ctx 1 srq 0", with the objects of all
// processes. The text is empty if the kernel does not report them.
inline std::string verbsObjects() {
  std::string text;
  if (!std::filesystem::exists("/sys/class/infiniband")) return text;
  const std::unique_ptr<FILE, int (*)(FILE*)> rdma(::popen("rdma resource show 2>/dev/null", "r"), ::pclose);
  std::array<char, 256> line{};
  while (rdma != nullptr && std::fgets(line.data(), line.size(), rdma.get()) != nullptr) text += line.data();
  return text;
}

}  // namespace jccl::test
