#include "core/apart_thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <mutex>
#include <utility>

#include "core/quiet_thread.h"

namespace wavescope {
namespace {

// Newer than the headers of some systems.
constexpr long kCloseRange = 436;
constexpr unsigned kOwnTable = 1u << 1;

// From the program's table to one that holds `kept` alone, if anything.
bool make_own_table(int kept) {
  if (syscall(kCloseRange, static_cast<unsigned>(kept + 1), ~0u, kOwnTable) == 0) {
    return kept <= 0 || syscall(kCloseRange, 0u, static_cast<unsigned>(kept - 1), 0u) == 0;
  }
  if (unshare(CLONE_FILES) != 0) return false;
  const long limit = sysconf(_SC_OPEN_MAX);
  for (int descriptor = 0; descriptor < limit; ++descriptor) {
    if (descriptor != kept) close(descriptor);
  }
  return true;
}

}  // namespace

// A word to wait for: a futex.
class ApartThread::Counter {
 public:
  uint32_t value() const { return value_.load(std::memory_order_acquire); }
  void advance() {
    value_.fetch_add(1, std::memory_order_release);
    syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }
  void wait_while(uint32_t seen) const {
    while (value() == seen) syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
  }

 private:
  std::atomic<uint32_t> value_{0};
};

enum class ApartThread::Stage : uint32_t { kNotStarted, kReady, kNone };

struct ApartThread::Shared {
  Shared(const char* its_name, int its_kept, std::function<bool()> its_prepare)
      : name(its_name), kept(its_kept), prepare(std::move(its_prepare)) {}

  const char* const name;
  const int kept;
  const std::function<bool()> prepare;
  const pid_t process = getpid();
  std::mutex turn;  // of who asks
  std::atomic<Stage> stage{Stage::kNotStarted};
  Counter asked;
  Counter answered;
  void (*work)(void*) = nullptr;  // null: end
  void* context = nullptr;

  // With the turn.
  void ask(void (*wanted)(void*), void* its_context) {
    work = wanted;
    context = its_context;
    const uint32_t before = answered.value();
    asked.advance();
    answered.wait_while(before);
  }
};

ApartThread::ApartThread(const char* name, int kept, std::function<bool()> prepare)
    : shared_(std::make_shared<Shared>(name, kept, std::move(prepare))) {}

bool ApartThread::is_of_this_process() const { return shared_->process == getpid(); }

void* ApartThread::serve(void* opaque) {
  const std::unique_ptr<std::shared_ptr<Shared>> owned(static_cast<std::shared_ptr<Shared>*>(opaque));
  Shared& self = **owned;
  pthread_setname_np(pthread_self(), self.name);
  bool goes_on = make_own_table(self.kept) && self.prepare();
  uint32_t seen = self.asked.value();
  self.stage.store(goes_on ? Stage::kReady : Stage::kNone, std::memory_order_release);
  self.answered.advance();
  while (goes_on) {
    self.asked.wait_while(seen);
    ++seen;
    goes_on = self.work != nullptr;
    if (goes_on) self.work(self.context);
    else make_own_table(-1);  // the table itself may outlive the answer for a moment
    self.answered.advance();
  }
  return nullptr;
}

void ApartThread::start() {
  Shared& self = *shared_;
  const uint32_t before = self.answered.value();
  auto* with_thread = new std::shared_ptr<Shared>(shared_);
  if (MostSignalsBlocked().start_thread(serve, with_thread)) return self.answered.wait_while(before);
  delete with_thread;
  self.stage.store(Stage::kNone, std::memory_order_release);
}

bool ApartThread::run(void (*work)(void*), void* context) {
  Shared& self = *shared_;
  if (self.stage.load(std::memory_order_acquire) == Stage::kNone || !is_of_this_process()) return false;
  const std::lock_guard<std::mutex> lock(self.turn);
  if (self.stage.load(std::memory_order_relaxed) == Stage::kNotStarted) start();
  if (self.stage.load(std::memory_order_relaxed) != Stage::kReady) return false;
  self.ask(work, context);
  return true;
}

void ApartThread::do_without() { shared_->stage.store(Stage::kNone, std::memory_order_release); }

void ApartThread::end() {
  Shared& self = *shared_;
  if (!is_of_this_process()) return;
  const std::lock_guard<std::mutex> lock(self.turn);
  if (self.stage.exchange(Stage::kNone) == Stage::kReady) self.ask(nullptr, nullptr);
}

}  // namespace wavescope
