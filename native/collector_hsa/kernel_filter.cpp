#include "collector_hsa/kernel_filter.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace wavescope {
namespace {

std::string with_digits(const std::string& pattern) {
  std::string out;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const bool digit = pattern.compare(at, 2, "\\d") == 0;
    if (digit) out += "[0-9]";
    else out += pattern[at];
    if (!digit && pattern[at] == '\\' && at + 1 < pattern.size()) out += pattern[at + 1];
    if (digit || pattern[at] == '\\') ++at;
  }
  return out;
}

}  // namespace

KernelFilter::KernelFilter(const std::string& pattern) : pattern_(pattern), active_(!pattern.empty()) {
  if (!active_) return;
  compiled_ = regcomp(&expression_, with_digits(pattern).c_str(), REG_EXTENDED | REG_NOSUB) == 0;
  table_ = new std::atomic<uint64_t>[std::size_t{1} << kTableBits]();
}

KernelFilter::~KernelFilter() {
  if (compiled_) regfree(&expression_);
  delete[] table_;
}

bool KernelFilter::matches(const std::string& name) const {
  if (!active_ || matches_text(name)) return true;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr), &std::free);
  return readable != nullptr && matches_text(readable.get());
}

bool KernelFilter::matches_text(const std::string& name) const {
  return compiled_ ? regexec(&expression_, name.c_str(), 0, nullptr, 0) == 0 : name.find(pattern_) != std::string::npos;
}

void KernelFilter::learn(uint64_t kernel_object, const std::string& name) {
  if (!active_ || kernel_object == 0) return;
  const uint64_t entry = (kernel_object & ~uint64_t{1}) | (matches(name) ? 1 : 0);
  uint64_t place = (kernel_object >> 6) * 0x9E3779B97F4A7C15u >> (64 - kTableBits);
  for (uint32_t probe = 0; probe < (1u << kTableBits); ++probe, place = (place + 1) & ((1u << kTableBits) - 1)) {
    uint64_t known = table_[place].load(std::memory_order_relaxed);
    if (known != 0 && (known | 1) != (entry | 1)) continue;
    if (table_[place].compare_exchange_strong(known, entry)) return;
    if ((known | 1) == (entry | 1)) return;
  }
}

bool KernelFilter::wants(uint64_t kernel_object) const {
  uint64_t place = (kernel_object >> 6) * 0x9E3779B97F4A7C15u >> (64 - kTableBits);
  for (uint32_t probe = 0; probe < (1u << kTableBits); ++probe, place = (place + 1) & ((1u << kTableBits) - 1)) {
    const uint64_t known = table_[place].load(std::memory_order_relaxed);
    if (known == 0) return false;
    if ((known | 1) == (kernel_object | 1)) return (known & 1) != 0;
  }
  return false;
}

}  // namespace wavescope
