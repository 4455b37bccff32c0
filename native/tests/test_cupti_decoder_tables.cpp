// Names of kernels and streams, many of each, and threads that deliver buffers at the same time.
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "cupti_fixture.h"

// A session is never destroyed.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }

namespace wavescope::cupti {
namespace {

std::string fact_of(uint64_t object, const std::string& name, uint32_t registers, uint32_t shared, uint32_t local) {
  return Fact("kernel")
      .add("object", object)
      .add("name", name)
      .add("vgprs", registers)
      .add("lds_bytes", shared)
      .add("scratch_bytes", local)
      .line();
}

// A module was unloaded, and where its kernel's name was another one begins.
void a_pointer_may_come_to_name_another_kernel() {
  DecodingProcess process;
  char place[64] = "first";
  const Buffer buffer = Buffer().add(a_kernel(place, 1, 2));
  process.decode(buffer);
  std::strcpy(place, "second one");
  process.decode(buffer);
  std::strcpy(place, "second");
  process.decode(buffer);
  std::strcpy(place, "first");
  process.decode(buffer);
  const auto ops = process.ops();
  CHECK(ops.size() == 4);
  CHECK(ops[0].op.kernel == 1 && ops[1].op.kernel == 2 && ops[2].op.kernel == 3 && ops[3].op.kernel == 1);
  const auto facts = process.recorded.facts("\"fact\":\"kernel\"");
  CHECK(facts.size() == 3);
  CHECK(facts[0] == fact_of(1, "first", 32, 0, 0) && facts[1] == fact_of(2, "second one", 32, 0, 0));
  CHECK(facts[2] == fact_of(3, "second", 32, 0, 0));
}

void what_a_kernel_needs_is_part_of_it() {
  DecodingProcess process;
  const std::string name = "softmax", same_name = "softmax";
  KernelRecord record = a_kernel(name.c_str(), 1, 2), same = a_kernel(same_name.c_str(), 1, 2);
  KernelRecord more_registers = record, more_shared = record, more_dynamic = record, more_local = record, nameless = record;
  more_registers.registers_per_thread = 64;
  more_shared.static_shared_bytes = 256;
  more_dynamic.dynamic_shared_bytes = 256;  // the sum is what counts
  more_local.local_bytes_per_thread = 8;
  nameless.name = nullptr;
  Buffer buffer;
  buffer.add(record).add(same).add(more_registers).add(more_shared).add(more_dynamic).add(more_local).add(nameless);
  process.decode(buffer);
  std::vector<uint64_t> objects;
  for (const auto& op : process.ops()) objects.push_back(op.op.kernel);
  CHECK((objects == std::vector<uint64_t>{1, 1, 2, 3, 3, 4, 5}));
  const auto facts = process.recorded.facts("\"fact\":\"kernel\"");
  CHECK(facts.size() == 5);
  CHECK(facts[1] == fact_of(2, name, 64, 0, 0) && facts[2] == fact_of(3, name, 32, 256, 0));
  CHECK(facts[3] == fact_of(4, name, 32, 0, 8) && facts[4] == fact_of(5, "", 32, 0, 0));
}

// More names than are kept at hand by their pointers, long ones among them, in an order that repeats.
void thousands_of_kernels_keep_their_names() {
  constexpr std::size_t kNames = 10000;
  DecodingProcess process;
  std::vector<std::string> names;
  for (std::size_t at = 0; at < kNames; ++at) names.push_back("kernel_" + std::to_string(at) + std::string(at % 100, 'x'));
  names[7] += std::string(20000, 'y');
  Buffer buffer;
  for (const std::string& name : names) buffer.add(a_kernel(name.c_str(), 1, 2));
  process.decode(buffer);
  process.decode(buffer);
  const auto ops = process.ops();
  CHECK(ops.size() == 2 * kNames);
  for (std::size_t at = 0; at < ops.size(); ++at) CHECK(ops[at].op.kernel == at % kNames + 1);
  const auto facts = process.recorded.facts("\"fact\":\"kernel\"");
  CHECK(facts.size() == kNames);
  for (std::size_t at = 0; at < kNames; ++at) CHECK(facts[at] == fact_of(at + 1, names[at], 32, 0, 0));
  CHECK(process.counters().timed == 2 * kNames);
}

void contexts_and_gpus_have_streams_of_the_same_number() {
  DecodingProcess process;
  const auto on = [](uint32_t gpu, uint32_t context, uint32_t stream) {
    KernelRecord record = a_kernel("k", 1, 2);
    record.device = gpu;
    record.context = context;
    record.stream = stream;
    return record;
  };
  // Those that differ by 256 are at the same place of the table of recent ones.
  Buffer buffer;
  buffer.add(on(0, 1, 7)).add(on(0, 2, 7)).add(on(1, 1, 7)).add(on(0, 1, 263)).add(on(0, 1, 7)).add(on(1, 1, 7));
  buffer.add(on(256, 1, 7)).add(on(0, 1, 7));
  process.decode(buffer);
  std::vector<uint32_t> queues;
  for (const auto& op : process.ops()) queues.push_back(op.op.queue);
  CHECK((queues == std::vector<uint32_t>{0, 1, 2, 3, 0, 2, 4, 0}));
  CHECK(process.recorded.facts("\"fact\":\"queue\"").size() == 5);
  CHECK(process.decoder.gpus() == (uint64_t{1} << 63 | 3));
  CHECK(process.counters(0).timed == 5 && process.counters(1).timed == 2);
}

void seventy_thousand_streams_are_too_many_but_no_harm() {
  constexpr uint32_t kStreams = 70000;
  constexpr uint32_t kOwn = 0xfffd;
  DecodingProcess process;
  Buffer buffer;
  for (uint32_t stream = 0; stream < kStreams; ++stream) {
    KernelRecord record = a_kernel("k", 1, 2);
    record.stream = stream;
    buffer.add(record);
  }
  process.decode(buffer);
  const auto ops = process.ops();
  CHECK(ops.size() == kStreams);
  for (uint32_t at = 0; at < kStreams; ++at) CHECK(ops[at].op.queue == (at < kOwn ? at : kOwn));
  const auto queues = process.recorded.facts("\"fact\":\"queue\"");
  CHECK(queues.size() == kOwn + 1);
  CHECK(queues.back() == Fact("queue").add("queue", kOwn).add("gpu", 0).add("name", "other streams").line());
  CHECK(process.recorded.facts("there were more than 65533 streams: the later ones are shown as one").size() == 1);
}

void kernel_starts_are_told_once() {
  DecodingProcess process;
  KernelRecord other = a_kernel("k", 500, 600);
  other.stream = 8;
  MemcpyRecord copy = a_copy(CopyKind::kDeviceToHost, 8, 1, 2);
  copy.stream = 9;
  process.decode(
      Buffer().add(a_kernel("k", 30, 31)).add(copy).add(other).add(a_kernel("k", 10, 99)).add(a_kernel("k", 0, 5)));
  process.decode(Buffer().add(a_kernel("k", 20, 21)));
  const auto starts = process.decoder.take_kernel_starts();
  CHECK(starts.size() == 2);
  CHECK(starts[0].queue == 0 && starts[0].first == 10 && starts[0].last == 30 && starts[0].kernels == 3);
  CHECK(starts[1].queue == 2 && starts[1].first == 500 && starts[1].last == 500);
  CHECK(process.decoder.take_kernel_starts().empty());
  process.decode(Buffer().add(a_kernel("k", 7, 8)));
  const auto later = process.decoder.take_kernel_starts();
  CHECK(later.size() == 1 && later[0].queue == 0 && later[0].first == 7 && later[0].kernels == 1);
}

void threads_deliver_at_the_same_time() {
  constexpr uint32_t kThreads = 4, kRounds = 20, kKernels = 500;
  DecodingProcess process;
  std::vector<std::string> names;
  for (uint32_t at = 0; at < kKernels; ++at) names.push_back("kernel " + std::to_string(at % 50));
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (uint32_t round = 0; round < kRounds; ++round) {
        Buffer buffer;
        for (uint32_t at = 0; at < kKernels; ++at) {
          KernelRecord record = a_kernel(names[at].c_str(), 1 + at, 2 + at);
          record.device = thread % 2;
          record.stream = thread;
          record.correlation = 1 + (thread * kRounds + round) * kKernels + at;
          process.notes.put(record.correlation, LaunchNote{100 + thread, at});
          buffer.add(record);
        }
        process.decode(buffer);
      }
    });
  }
  uint64_t gpus = 0;
  while (gpus != 3) {
    gpus |= process.decoder.gpus();
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  process.decoder.finish();

  const auto ops = process.ops();
  CHECK(ops.size() == kThreads * kRounds * kKernels);
  std::set<uint64_t> correlations;
  std::vector<std::string> name_of_object(51);
  for (const std::string& fact : process.recorded.facts("\"fact\":\"kernel\"")) {
    unsigned object = 0, number = 0;
    CHECK(std::sscanf(fact.c_str(), "{\"fact\":\"kernel\",\"object\":%u,\"name\":\"kernel %u\"", &object, &number) == 2);
    CHECK(object <= 50 && name_of_object[object].empty());
    name_of_object[object] = "kernel " + std::to_string(number);
  }
  for (const auto& each : ops) {
    const WavescopeOpRecord& op = each.op;
    const uint64_t place = op.correlation - 1, at = place % kKernels;
    CHECK(correlations.insert(op.correlation).second);
    CHECK(op.thread == 100 + place / kKernels / kRounds && op.marker == at && op.start == 1 + at);
    CHECK(op.gpu == (op.thread - 100) % 2 && name_of_object[op.kernel] == names[at]);
  }
  CHECK(process.counters(0).timed + process.counters(1).timed == ops.size());
}

}  // namespace
}  // namespace wavescope::cupti

int main() {
  using namespace wavescope::cupti;
  in_child(a_pointer_may_come_to_name_another_kernel);
  in_child(what_a_kernel_needs_is_part_of_it);
  in_child(thousands_of_kernels_keep_their_names);
  in_child(contexts_and_gpus_have_streams_of_the_same_number);
  in_child(seventy_thousand_streams_are_too_many_but_no_harm);
  in_child(kernel_starts_are_told_once);
  in_child(threads_deliver_at_the_same_time);
  return 0;
}
