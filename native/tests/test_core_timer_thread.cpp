// A thread that does its rounds when they are due or it is woken.
#include <atomic>
#include <chrono>
#include <thread>

#include "check.h"
#include "core/clock.h"
#include "core/timer_thread.h"

using namespace wavescope;

namespace {

struct Work {
  std::atomic<uint64_t> sleep_ns{3600u * uint64_t{1000000000}};
  std::atomic<int> rounds{0};
  std::atomic<int> last{0};
  std::atomic<bool> hangs{false};
};

uint64_t do_round(void* context) {
  auto* work = static_cast<Work*>(context);
  ++work->rounds;
  return work->sleep_ns;
}

void do_last_work(void* context) {
  auto* work = static_cast<Work*>(context);
  while (work->hangs.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ++work->last;
}

template <typename Condition>
void wait_until(Condition condition) {
  const uint64_t deadline_ns = boottime_ns() + 30000000000;
  while (!condition()) {
    CHECK(boottime_ns() < deadline_ns);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Its threads may outlive a test.
Work& new_work() { return *new Work; }
TimerThread& new_thread(Work& work) { return *new TimerThread({"test", do_round, do_last_work, &work}); }

void it_sleeps_until_it_is_woken() {
  Work& work = new_work();
  TimerThread& thread = new_thread(work);
  CHECK(thread.finish(1));  // there is no thread yet
  CHECK(thread.start() && thread.start());
  wait_until([&] { return work.rounds == 1; });
  for (int round = 2; round < 20; ++round) {
    thread.wake();
    wait_until([&] { return work.rounds >= round; });
  }
  CHECK(thread.finish(30000000000));
  CHECK(work.last == 1);
  CHECK(thread.rounds() == static_cast<uint64_t>(work.rounds));
}

void it_comes_back_by_itself() {
  Work& work = new_work();
  work.sleep_ns = 1000000;
  TimerThread& thread = new_thread(work);
  CHECK(thread.start());
  wait_until([&] { return work.rounds > 10; });
  CHECK(thread.finish(30000000000) && thread.finish(30000000000));
  CHECK(work.last == 1);
}

void its_end_is_not_waited_for_longer_than_said() {
  Work& work = new_work();
  work.hangs = true;
  TimerThread& thread = new_thread(work);
  CHECK(thread.start());
  CHECK(!thread.finish(5000000));
  work.hangs = false;
  wait_until([&] { return work.last == 1; });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }

int main() {
  it_sleeps_until_it_is_woken();
  it_comes_back_by_itself();
  its_end_is_not_waited_for_longer_than_said();
  return 0;
}
