#include "softgpu/configuration.h"

#include <cerrno>
#include <cstring>

#include "softgpu/file_text.h"

namespace softgpu {

namespace {

class Reader {
 public:
  Reader(const std::function<const char*(const char*)>& variable, Configuration& result)
      : variable_(variable), result_(result) {}

  std::string text(const char* name, const char* otherwise) const {
    const char* value = variable_((std::string(prefix) + name).c_str());
    return value && *value ? value : otherwise;
  }

  void number(const char* name, uint64_t least, uint64_t most, uint64_t& target) const {
    const std::string value = text(name, "");
    if (value.empty()) return;
    const auto parsed = whole_number(value);
    if (parsed && *parsed >= least && *parsed <= most) {
      target = *parsed;
    } else {
      wrong(name, value, "expected a number from " + std::to_string(least) + " to " + std::to_string(most));
    }
  }

  void flag(const char* name, bool& target) const {
    uint64_t value = target;
    number(name, 0, 1, value);
    target = value != 0;
  }

  void wrong(const char* name, const std::string& value, const std::string& reason) const {
    if (result_.problem.empty()) result_.problem = std::string(prefix) + name + "=" + value + ": " + reason;
  }

 private:
  static constexpr const char* prefix = "WAVESCOPE_SOFTGPU_";
  const std::function<const char*(const char*)>& variable_;
  Configuration& result_;
};

void read_durations(const Reader& reader, Configuration& result) {
  const std::string all = reader.text("KERNEL_NS", "2000");
  if (const auto duration = Duration::parse(all)) {
    result.durations = DurationTable(*duration);
  } else {
    reader.wrong("KERNEL_NS", all, "expected nanoseconds, uniform:LOW:HIGH, exponential:MEAN or lognormal:MEDIAN:SIGMA");
  }
  const std::string path = reader.text("DURATIONS", "");
  if (path.empty()) return;
  const auto content = file_text(path);
  if (!content) return reader.wrong("DURATIONS", path, std::strerror(errno));
  const std::string problem = result.durations.add_lines(*content);
  if (!problem.empty()) reader.wrong("DURATIONS", path, problem);
}

void read_pacing(const Reader& reader, Pacing& pacing) {
  uint64_t spin_us = pacing.spin_ns / 1000;
  uint64_t longest_sleep_us = pacing.longest_sleep_ns / 1000;
  reader.number("SPIN_US", 0, 1'000'000, spin_us);
  reader.number("SLEEP_US", 1, 1'000'000, longest_sleep_us);
  pacing.spin_ns = spin_us * 1000;
  pacing.longest_sleep_ns = longest_sleep_us * 1000;
  reader.flag("STRICT_DOORBELL", pacing.needs_doorbell);
  reader.number("CONTENTION", 0, 10'000, pacing.contention_percent);
  reader.number("COPY_GBPS", 1, 100'000, pacing.copy_bytes_per_ns);
  reader.number("COPY_LATENCY_NS", 0, 1'000'000'000, pacing.copy_latency_ns);
}

}  // namespace

void read_configuration(const std::function<const char*(const char*)>& variable, Configuration& result) {
  const Reader reader(variable, result);
  read_durations(reader, result);
  reader.number("SEED", 0, UINT64_MAX, result.seed);
  read_pacing(reader, result.pacing);
  result.truth_path = reader.text("TRUTH", "");
  const std::string faults = reader.text("FAULTS", "");
  const std::string problem = result.faults.add(faults);
  if (!problem.empty()) reader.wrong("FAULTS", faults, problem);
}

}  // namespace softgpu
