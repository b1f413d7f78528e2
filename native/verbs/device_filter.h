// Which ports of which adapters a user selects: the syntax of JCCL_IB_HCA.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace jccl::verbs {

// Names separated by commas, each with ":PORT" if only that port is meant: "mlx5_0:1,mlx5_2". A name stands for all that
// begin with it; '=' in front of the list selects exact names, '^' all others ("^=mlx5_1"). Empty: everything.
class DeviceFilter {
 public:
  static Status parse(const std::string& text, DeviceFilter* filter);

  bool accepts(const std::string& device, int port) const;

 private:
  struct Entry {
    std::string name;
    int port = 0;  // 0: any
  };

  std::vector<Entry> entries_;
  bool exact_ = false;
  bool others_ = false;
};

}  // namespace jccl::verbs
