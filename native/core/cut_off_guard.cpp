#include "core/cut_off_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace wavescope {
namespace {

constexpr int kMostWindows = 8192;

enum class State : uint32_t { kFree, kChanging, kWatched, kCut };

struct Window {
  std::atomic<State> state{State::kFree};
  char* begin = nullptr;
  char* end = nullptr;
  const void* stand_in = nullptr;
  std::size_t stand_in_bytes = 0;
};

Window windows[kMostWindows];
std::atomic<int> used_windows{0};
std::atomic<uint64_t> cut_windows{0};
std::atomic<bool> installed{false};

void replace_pages(const Window& window) {
  const auto bytes = static_cast<std::size_t>(window.end - window.begin);
  void* pages =
      mmap(window.begin, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (pages != MAP_FAILED && window.stand_in != nullptr) std::memcpy(pages, window.stand_in, window.stand_in_bytes);
}

// Whether the address is in a watched window, whose pages are there again then. Of several threads at the same window one
// replaces it; the others come again until it has.
bool repair(const char* address) {
  const int count = std::min(used_windows.load(std::memory_order_acquire), kMostWindows);
  for (int at = 0; at < count; ++at) {
    Window& window = windows[at];
    State state = window.state.load(std::memory_order_acquire);
    if ((state != State::kWatched && state != State::kCut) || address < window.begin || address >= window.end) continue;
    if (state == State::kWatched && window.state.compare_exchange_strong(state, State::kCut)) {
      replace_pages(window);
      cut_windows.fetch_add(1);
    }
    return true;
  }
  return false;
}

void on_bus_error(int number, siginfo_t* info, void*) {
  const int error = errno;
  const bool is_fault = info->si_code > 0;
  if (!is_fault || !repair(static_cast<const char*>(info->si_addr))) {
    struct sigaction by_system{};
    by_system.sa_handler = SIG_DFL;
    sigaction(number, &by_system, nullptr);
    // A fault repeats itself; what was sent is sent again, and is delivered when this handler returns.
    if (!is_fault) syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
  }
  errno = error;
}

void install() {
  if (installed.exchange(true)) return;
  struct sigaction now{};
  if (sigaction(SIGBUS, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
  struct sigaction ours{};
  ours.sa_sigaction = on_bus_error;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGBUS, &ours, nullptr);
}

}  // namespace

int CutOffGuard::watch(char* pages, uint64_t bytes, const void* stand_in, std::size_t stand_in_bytes) {
  install();
  for (int at = 0; at < kMostWindows; ++at) {
    Window& window = windows[at];
    State state = State::kFree;
    if (!window.state.compare_exchange_strong(state, State::kChanging)) continue;
    window.begin = pages;
    window.end = pages + bytes;
    window.stand_in = stand_in;
    window.stand_in_bytes = stand_in_bytes;
    window.state.store(State::kWatched, std::memory_order_release);
    for (int used = used_windows.load(); used <= at && !used_windows.compare_exchange_weak(used, at + 1);) {
    }
    return at;
  }
  return kNobody;
}

void CutOffGuard::forget(int window) {
  if (window != kNobody) windows[window].state.store(State::kFree, std::memory_order_release);
}

bool CutOffGuard::was_cut(int window) {
  return window != kNobody && windows[window].state.load(std::memory_order_acquire) == State::kCut;
}

uint64_t CutOffGuard::cut_count() { return cut_windows.load(std::memory_order_relaxed); }

}  // namespace wavescope
