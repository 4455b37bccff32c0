// A thread of the collector sleeps while there is nothing to do, and is there when there is.
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "collector_hsa/worker.h"
#include "tests/check.h"

using namespace wavescope;

namespace {

constexpr long kPeriodNs = 1000000;
constexpr long kIdleNs = 60000000000;
constexpr uint64_t kLimitNs = 30000000000;

struct Work {
  std::atomic<int> published{0};
  std::atomic<int> done{0};

  static Worker::Activity take(void* opaque) {
    auto* self = static_cast<Work*>(opaque);
    if (self->done.load() == self->published.load()) return Worker::Activity::kIdle;
    self->done.fetch_add(1);
    return Worker::Activity::kBusy;
  }
};

template <typename Condition>
bool comes_true(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kLimitNs);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

bool has_fence() {
  const long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  return known > 0 && (known & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
}

// Without the fence it has to look from time to time, as it may miss that somebody wakes it.
void an_idle_thread_sleeps_until_somebody_wakes_it() {
  Work work;
  Worker worker({"test", Urgency::kAsOthers, kPeriodNs, kIdleNs, Work::take, nullptr, &work});
  worker.start();
  for (int item = 1; item <= 200; ++item) {
    work.published.store(item);
    worker.wake();
    CHECK(comes_true([&] { return work.done.load() == item; }));
  }
  CHECK(comes_true([&] { return worker.is_asleep(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it looks once more before it sleeps
  const uint64_t rounds = worker.rounds();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  CHECK(!has_fence() || worker.rounds() == rounds);
  work.published.fetch_add(1);
  worker.wake();
  CHECK(comes_true([&] { return work.done.load() == 201; }));
  CHECK(worker.finish(kLimitNs));
}

}  // namespace

int main() {
  an_idle_thread_sleeps_until_somebody_wakes_it();
  return 0;
}
