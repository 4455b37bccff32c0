#include "softgpu/faults.h"

#include <array>
#include <cmath>
#include <utility>

#include "softgpu/packets.h"

namespace softgpu {

namespace {

constexpr std::array<std::pair<const char*, FaultKind>, 9> kind_names{{
    {"hang", FaultKind::hang},
    {"fail", FaultKind::fail},
    {"lost_timestamps", FaultKind::lost_timestamps},
    {"equal_timestamps", FaultKind::equal_timestamps},
    {"reversed_timestamps", FaultKind::reversed_timestamps},
    {"slow_interrupt", FaultKind::slow_interrupt},
    {"queue_error", FaultKind::queue_error},
    {"clock_jump", FaultKind::clock_jump},
    {"clock_drift", FaultKind::clock_drift},
}};

bool concerns_dispatches(FaultKind kind) { return kind != FaultKind::clock_jump && kind != FaultKind::clock_drift; }

constexpr uint64_t longest_delay_us = 3'600'000'000;

bool set_delay(Fault& fault, uint64_t amount, uint64_t ns_each) {
  if (amount > longest_delay_us * 1000 / ns_each) return false;
  fault.delay_ns = amount * ns_each;
  return true;
}

bool set_jump(int64_t& target, int64_t microseconds) {
  if (std::abs(microseconds) > static_cast<int64_t>(longest_delay_us)) return false;
  target = microseconds * 1000;
  return true;
}

bool set_value(Fault& fault, std::string_view key, std::string_view value) {
  if (key == "kernel") {
    fault.kernel = TextPattern(std::string(value));
    return !value.empty();
  }
  if (key == "ppm") {
    const auto ppm = decimal_number(value);
    if (!ppm || std::fabs(*ppm) > 100'000) return false;
    fault.drift_ppb = std::llround(*ppm * 1000);
    return true;
  }
  if (key == "by_us") {
    const auto by_us = signed_number(value);
    return by_us && set_jump(fault.jump.by_ns, *by_us);
  }
  const auto number = whole_number(value);
  if (!number) return false;
  if (key == "at_ms") {
    fault.jump.at_ns = *number * 1'000'000;
    return *number <= longest_delay_us / 1000;
  }
  if (key == "ms") return set_delay(fault, *number, 1'000'000);
  if (key == "us") return set_delay(fault, *number, 1000);
  if (key == "gpu") {
    fault.gpu = static_cast<int64_t>(*number);
    return *number < 64;
  }
  if (key == "code") {
    fault.error_code = static_cast<uint32_t>(*number);
    return *number >= 1 && *number <= 63;
  }
  if (key == "after") return (fault.after = *number, true);
  if (key == "every") return (fault.every = *number, *number > 0);
  if (key == "count") return (fault.count = *number, true);
  return false;
}

bool hits(Fault& fault) {
  const uint64_t met = fault.met.fetch_add(1, std::memory_order_relaxed);
  if (met < fault.after || (met - fault.after) % fault.every != 0) return false;
  return (met - fault.after) / fault.every < fault.count;
}

void apply(const Fault& fault, FaultEffects& effects) {
  effects.name = fault_name(fault.kind);
  switch (fault.kind) {
    case FaultKind::hang: effects.longer_by_ns = fault.delay_ns ? fault.delay_ns : never_ns; break;
    case FaultKind::fail:
    case FaultKind::queue_error: effects.error_code = fault.error_code; break;
    case FaultKind::lost_timestamps: effects.timestamps = Timestamps::lost; break;
    case FaultKind::equal_timestamps: effects.timestamps = Timestamps::equal; break;
    case FaultKind::reversed_timestamps: effects.timestamps = Timestamps::reversed; break;
    case FaultKind::slow_interrupt: effects.interrupt_delay_ns = fault.delay_ns; break;
    case FaultKind::clock_jump:
    case FaultKind::clock_drift: break;
  }
}

}  // namespace

const char* fault_name(FaultKind kind) {
  for (const auto& [name, named] : kind_names) {
    if (named == kind) return name;
  }
  return "";
}

std::string FaultTable::add(std::string_view specifications) {
  for (const std::string_view specification : split(specifications, ';')) {
    if (trimmed(specification).empty()) continue;
    std::string problem = add_one(trimmed(specification));
    if (!problem.empty()) return problem;
  }
  return {};
}

std::string FaultTable::add_one(std::string_view specification) {
  const auto parts = split(specification, ',');
  Fault& fault = faults_.emplace_back();
  bool is_known = false;
  for (const auto& [name, kind] : kind_names) {
    if (trimmed(parts[0]) != name) continue;
    fault.kind = kind;
    is_known = true;
  }
  if (!is_known) return "there is no fault '" + std::string(parts[0]) + "'";
  if (fault.kind == FaultKind::fail) {
    fault.error_code = static_cast<uint32_t>(QueueError::illegal_instruction);
  } else if (fault.kind == FaultKind::queue_error) {
    fault.error_code = static_cast<uint32_t>(QueueError::packet_unsupported);
  }
  for (size_t index = 1; index < parts.size(); ++index) {
    const size_t equal = parts[index].find('=');
    if (equal == std::string_view::npos ||
        !set_value(fault, trimmed(parts[index].substr(0, equal)), trimmed(parts[index].substr(equal + 1)))) {
      return "'" + std::string(parts[index]) + "' is not a setting of a fault";
    }
  }
  return {};
}

std::vector<Fault*> FaultTable::of_kernel(std::string_view name, uint32_t gpu_index) {
  std::vector<Fault*> found;
  for (Fault& fault : faults_) {
    if (concerns_dispatches(fault.kind) && (fault.gpu < 0 || fault.gpu == gpu_index) && fault.kernel.matches(name)) {
      found.push_back(&fault);
    }
  }
  return found;
}

FaultEffects FaultTable::effects(const std::vector<Fault*>& faults) {
  FaultEffects effects;
  for (Fault* fault : faults) {
    if (hits(*fault)) apply(*fault, effects);
  }
  return effects;
}

std::vector<ClockJump> FaultTable::clock_jumps(uint32_t gpu_index) const {
  std::vector<ClockJump> jumps;
  for (const Fault& fault : faults_) {
    if (fault.kind == FaultKind::clock_jump && (fault.gpu < 0 || fault.gpu == gpu_index)) {
      jumps.push_back(fault.jump);
    }
  }
  return jumps;
}

int64_t FaultTable::clock_drift_ppb(uint32_t gpu_index) const {
  int64_t drift = 0;
  for (const Fault& fault : faults_) {
    if (fault.kind == FaultKind::clock_drift && (fault.gpu < 0 || fault.gpu == gpu_index)) {
      drift += fault.drift_ppb;
    }
  }
  return drift;
}

}  // namespace softgpu
