// What NVML reports about this host's GPUs, as an array of numbers that one call passes to Java.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace jccl::nvml {

// A report as numbers; io.jccl.device.GpuInventory reads the same layout.
//
//   ┌───────┐ per GPU:
//   │ count │ ┌───────┬────────┬────┬─────┬───────────┬──────────┬───────┬───────┬─────────────┬─────────────┐
//   └───────┘ │ index │ bus id │ sm │ mig │ c2c count │ c2c MB/s │ links │ peers │ links × 3   │ peers × 1   │
//             └───────┴────────┴────┴─────┴───────────┴──────────┴───────┴───────┴─────────────┴─────────────┘
//   link: number │ type of the other end │ its bus id; only links that are up and support memory traffic
//   peer: the status of peer access to the GPU at this place of the report; 0 means yes
//
// A bus id is domain << 20 | bus << 12 | device << 4 | function. -1 stands for an unknown value.
struct Report {
  bool available = false;
  std::vector<std::int64_t> numbers;
  std::vector<std::string> remarks;  // texts that say why values are unknown
};

inline constexpr std::int64_t kUnknown = -1;

// Makes the report. Never fails: if the library cannot be used, the report contains only a remark.
Report readReport(const std::string& library);

// Packs a bus id such as "00000000:3B:00.0" into one number; returns kUnknown for any other text.
std::int64_t packBusId(const char* text);

}  // namespace jccl::nvml
