// The user's choice of adapters and ports, in the syntax of JCCL_IB_HCA.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace jccl::verbs {

// A list of names separated by commas, each followed by ":PORT" if only that port is meant: "mlx5_0:1,mlx5_2". A name
// stands for all names that begin with it. '=' in front of the list selects exact names, '^' everything that is not
// listed ("^=mlx5_1"). An empty list selects everything.
class DeviceFilter {
 public:
  static Status parse(const std::string& text, DeviceFilter* filter);

  bool accepts(const std::string& device, int port) const;

 private:
  struct Entry {
    std::string name;
    int port = 0;  // 0: any port
  };

  std::vector<Entry> entries_;
  bool exact_ = false;
  bool others_ = false;
};

}  // namespace jccl::verbs
