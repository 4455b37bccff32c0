// Variables, durations, faults, patterns and clocks of the software GPU.
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "check.h"
#include "softgpu/configuration.h"

using namespace softgpu;

namespace {

std::unique_ptr<Configuration> configured(const std::map<std::string, std::string>& variables) {
  auto result = std::make_unique<Configuration>();
  read_configuration(
      [&](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      *result);
  return result;
}

std::string problem_of(const std::string& name, const std::string& value) {
  return configured({{"WAVESCOPE_SOFTGPU_" + name, value}})->problem;
}

void test_patterns() {
  CHECK(TextPattern("gemm").matches("_Z8big_gemmPf"));
  CHECK(!TextPattern("gemm").matches("_Z3addPf"));
  CHECK(TextPattern("_Z*gemm*").matches("_Z8big_gemmPf"));
  CHECK(!TextPattern("gemm*").matches("_Z8big_gemmPf"));
  CHECK(TextPattern("a?c*d*").matches("abcxxd"));
  CHECK(!TextPattern("a?c*de").matches("abcxxd"));
  CHECK(TextPattern("").matches("anything"));
  CHECK(TextPattern("*").matches(""));
}

void test_durations() {
  CHECK(Duration::parse("5000")->draw(77) == 5000);
  CHECK(!Duration::parse("-1") && !Duration::parse("5us") && !Duration::parse("uniform:5:1"));
  CHECK(!Duration::parse("lognormal:5000") && !Duration::parse("lognormal:nan:1") && !Duration::parse(""));
  const auto uniform = *Duration::parse("uniform:100:200");
  const auto exponential = *Duration::parse("exponential:10000");
  const auto lognormal = *Duration::parse("lognormal:5000:0.5");
  double exponential_sum = 0;
  int below_median = 0;
  constexpr int draws = 20'000;
  for (int index = 0; index < draws; ++index) {
    const auto bits = static_cast<uint64_t>(index) * 2;
    CHECK(uniform.draw(bits) >= 100 && uniform.draw(bits) <= 200);
    exponential_sum += static_cast<double>(exponential.draw(bits));
    below_median += lognormal.draw(bits) < 5000;
    CHECK(lognormal.draw(bits) == lognormal.draw(bits));
  }
  CHECK(std::fabs(exponential_sum / draws - 10'000) < 300);
  CHECK(std::abs(below_median - draws / 2) < draws / 50);
}

void test_duration_table() {
  DurationTable table(Duration::constant(7));
  CHECK(table.add_lines("kernel,duration\n# comment\n gemm , 900 \n\n*norm*,uniform:1:1\n").empty());
  CHECK(table.of("my_gemm").draw(0) == 900);
  CHECK(table.of("rms_norm_kernel").draw(0) == 1);
  CHECK(table.of("other").draw(0) == 7);
  CHECK(table.add_lines("good,1\nbad").find("line 2") != std::string::npos);
  CHECK(!table.add_lines("name,12ms").empty());
}

void test_configuration() {
  const auto defaults = configured({});
  CHECK(defaults->problem.empty() && defaults->gpu_count == 1);
  CHECK(defaults->durations.of("x").draw(0) == 2000);
  const auto set = configured({{"WAVESCOPE_SOFTGPU_KERNEL_NS", "123"},
                               {"WAVESCOPE_SOFTGPU_SPIN_US", "5"},
                               {"WAVESCOPE_SOFTGPU_STRICT_DOORBELL", "1"}});
  CHECK(set->problem.empty() && set->pacing.spin_ns == 5000);
  CHECK(set->durations.of("x").draw(0) == 123 && set->pacing.needs_doorbell);
  CHECK(problem_of("SLEEP_US", "0").find("from 1 to 1000000") != std::string::npos);
  CHECK(problem_of("CONTENTION", "two") == "WAVESCOPE_SOFTGPU_CONTENTION=two: expected a number from 0 to 10000");
  CHECK(!problem_of("KERNEL_NS", "fast").empty());
  CHECK(!problem_of("DURATIONS", "/no/such/file").empty());
  CHECK(!problem_of("FAULTS", "explode").empty());
  CHECK(!problem_of("STRICT_DOORBELL", "2").empty());
}

void test_fault_specifications() {
  FaultTable table;
  CHECK(table.add("hang,kernel=slow*,ms=3,after=1,every=2,count=2; slow_interrupt,us=500,gpu=1").empty());
  CHECK(table.of_kernel("fast", 0).empty());
  const auto hang = table.of_kernel("slow_one", 0);
  CHECK(hang.size() == 1);
  const uint64_t expected[] = {0, 3'000'000, 0, 3'000'000, 0, 0, 0};
  for (const uint64_t longer_by : expected) CHECK(FaultTable::effects(hang).longer_by_ns == longer_by);
  CHECK(table.of_kernel("fast", 1).size() == 1);
  CHECK(FaultTable::effects(table.of_kernel("fast", 1)).interrupt_delay_ns == 500'000);

  for (const char* wrong : {"hang,ms", "hang,ms=x", "hang,every=0", "fail,code=64", "clock_drift,ppm=1e99",
                            "hang,ms=99999999999999", "=", "clock_jump,by_us=9999999999999999"}) {
    FaultTable other;
    CHECK(!other.add(wrong).empty());
  }
  FaultTable endless;
  CHECK(endless.add("hang").empty());
  CHECK(FaultTable::effects(endless.of_kernel("", 0)).longer_by_ns == never_ns);
}

void test_clock() {
  const GpuClock plain(1000, 50, 0, {});
  CHECK(plain.ticks(50) == 1000 && plain.ticks(1050) == 1100);
  FaultTable table;
  CHECK(table.add("clock_drift,ppm=50;clock_jump,at_ms=10,by_us=-200").empty());
  const GpuClock odd(1000, 0, table.clock_drift_ppb(0), table.clock_jumps(0));
  CHECK(odd.ticks(1'000'000) == 1000 + 100'005);
  CHECK(odd.ticks(10'000'000) == 1000 + 1'000'050 - 20'000);
  const uint64_t month_ns = 2'592'000'000'000'000;
  CHECK(odd.ticks(month_ns) == 1000 + (month_ns + month_ns / 20'000 - 200'000) / 10);
}

}  // namespace

int main() {
  test_patterns();
  test_durations();
  test_duration_table();
  test_configuration();
  test_fault_specifications();
  test_clock();
  return 0;
}
