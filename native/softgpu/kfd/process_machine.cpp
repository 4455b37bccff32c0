#include "softgpu/kfd/process_machine.h"

#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "softgpu/kfd/paths.h"

namespace softgpu::kfd {

namespace {

// Initialized before any code runs: other libraries open devices in their constructors.
std::atomic<Machine*> opened{nullptr};
pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

void flush_at_exit() {
  if (Machine* here = machine()) here->engine.flush_truth();
}

void before_fork() { pthread_mutex_lock(&opening); }

void in_parent() { pthread_mutex_unlock(&opening); }

// A child of fork has no schedulers: as with the kernel driver, it must open the GPUs anew.
void in_child() {
  opened.store(nullptr, std::memory_order_release);
  pthread_mutex_unlock(&opening);
}

void prepare_process() {
  static std::atomic<bool> is_prepared{false};
  if (is_prepared.exchange(true)) return;
  pthread_atfork(before_fork, in_parent, in_child);
  std::atexit(flush_at_exit);
}

Machine* new_machine() {
  std::string problem;
  auto here = Machine::open(tree_folder(), std::getenv, problem);
  if (!here) std::fprintf(stderr, "wavescope softgpu: %s\n", problem.c_str());
  return here.release();
}

}  // namespace

Machine* machine() { return opened.load(std::memory_order_acquire); }

Machine* open_machine() {
  if (Machine* here = machine()) return here;
  prepare_process();
  pthread_mutex_lock(&opening);
  if (!machine()) opened.store(new_machine(), std::memory_order_release);
  pthread_mutex_unlock(&opening);
  return machine();
}

}  // namespace softgpu::kfd
