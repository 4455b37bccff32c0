#include "collector_hip/call.h"

#include <atomic>
#include <cstddef>

namespace wavescope::hip {
namespace {

std::atomic<bool> described[static_cast<std::size_t>(Function::kCount)];

void describe(Session& session, Function function) {
  std::atomic<bool>& done = described[static_cast<std::size_t>(function)];
  if (!done.exchange(true)) session.facts().append(function_fact(function));
}

std::atomic<KernelNames*> names{nullptr};

// A child's own files need the functions anew, and its texts have other ids. The parent's names are left where they are:
// one of its threads may have held their lock.
void forget_parent() {
  for (std::atomic<bool>& done : described) done = false;
  names = nullptr;
}

__attribute__((constructor)) void watch_forks() { Session::at_fork_child(forget_parent); }

}  // namespace

KernelNames& kernel_names() {
  KernelNames* known = names.load(std::memory_order_acquire);
  if (__builtin_expect(known != nullptr, 1)) return *known;
  auto* made = new KernelNames();
  if (names.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *known;
}

WavescopeCallRecord* new_call(Function function, const void* stream) {
  if (settings().mode != Mode::kHip || current_correlation() != 0) return nullptr;
  Session* session = Session::current();
  if (session == nullptr || !session->recording()) return nullptr;
  if (__builtin_expect(!described[static_cast<std::size_t>(function)].load(std::memory_order_acquire), 0)) {
    describe(*session, function);
  }
  WavescopeCallRecord* record = session->new_call();
  if (record == nullptr) return nullptr;
  const ThreadState& thread = thread_state();
  record->function = static_cast<uint16_t>(function);
  record->thread = thread.thread_id;
  record->correlation = session->next_correlation();
  record->stream = reinterpret_cast<uint64_t>(stream);
  record->marker = thread.marker;
  return record;
}

}  // namespace wavescope::hip
