#include "core/file_thread.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <mutex>

namespace wavescope {
namespace {

// Newer than the headers of some systems.
constexpr long kCloseRange = 436;
constexpr unsigned kOwnTable = 1u << 1;

enum class State : uint32_t { kNotStarted, kStarting, kReady, kNone };

struct Request {
  void (*work)(void*) = nullptr;
  void* context = nullptr;
};

// A word to wait for: a futex.
class Counter {
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

// Of one process; never destroyed, as threads use it until the process is gone.
struct Shared {
  const pid_t process = getpid();
  std::mutex turn;  // of who asks
  std::atomic<State> state{State::kNotStarted};
  Counter asked;
  Counter answered;
  Request request;
};

std::atomic<Shared*> current{nullptr};

// A child that was made without the C library's fork has its parent's memory, but not this thread.
Shared& shared() {
  Shared* known = current.load(std::memory_order_acquire);
  if (known != nullptr && known->process == getpid()) return *known;
  auto* made = new Shared;
  if (current.compare_exchange_strong(known, made)) return *made;
  delete made;
  return *known;
}

bool make_own_table() {
  if (syscall(kCloseRange, 0u, ~0u, kOwnTable) == 0) return true;
  if (unshare(CLONE_FILES) != 0) return false;
  const long limit = sysconf(_SC_OPEN_MAX);
  for (int descriptor = 0; descriptor < limit; ++descriptor) close(descriptor);
  return true;
}

// What some library may say on this thread must not reach a file of the session.
void fill_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (open("/dev/null", O_RDWR) < 0) return;
  }
}

void* serve(void* opaque) {
  auto& self = *static_cast<Shared*>(opaque);
  pthread_setname_np(pthread_self(), "wavescope-files");
  const bool is_apart = make_own_table();
  if (is_apart) fill_standard_descriptors();
  uint32_t seen = self.asked.value();
  self.state.store(is_apart ? State::kReady : State::kNone, std::memory_order_release);
  self.answered.advance();
  while (is_apart) {
    self.asked.wait_while(seen);
    ++seen;
    self.request.work(self.request.context);
    self.answered.advance();
  }
  return nullptr;
}

void start(Shared& self) {
  self.state.store(State::kStarting, std::memory_order_release);
  const uint32_t before = self.answered.value();
  // The program's signals are none of this thread's business; that of a page that is gone is.
  sigset_t most;
  sigset_t kept;
  sigfillset(&most);
  sigdelset(&most, SIGBUS);
  pthread_sigmask(SIG_SETMASK, &most, &kept);
  pthread_t thread{};
  const bool is_started = pthread_create(&thread, nullptr, serve, &self) == 0;
  if (is_started) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &kept, nullptr);
  if (is_started) self.answered.wait_while(before);
  else self.state.store(State::kNone, std::memory_order_release);
}

}  // namespace

bool FileThread::run(void (*work)(void*), void* context) {
  Shared& self = shared();
  if (self.state.load(std::memory_order_acquire) == State::kNone) return false;
  const std::lock_guard<std::mutex> lock(self.turn);
  if (self.state.load(std::memory_order_relaxed) == State::kNotStarted) start(self);
  if (self.state.load(std::memory_order_relaxed) != State::kReady) return false;
  self.request = Request{work, context};
  const uint32_t before = self.answered.value();
  self.asked.advance();
  self.answered.wait_while(before);
  return true;
}

void FileThread::forget_in_child() { current.store(nullptr, std::memory_order_release); }

void FileThread::do_without() {
  if (Shared* self = current.load(std::memory_order_acquire)) self->state.store(State::kNone, std::memory_order_release);
}

}  // namespace wavescope
