#include "core/file_thread.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>

namespace wavescope {
namespace {

// Of one process; never destroyed, as threads use it until the process is gone.
std::atomic<ApartThread*> file_thread{nullptr};

// What some library may say on this thread must not reach a file of the session.
bool fill_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (open("/dev/null", O_RDWR) < 0) break;
  }
  return true;
}

}  // namespace

// A child that was made without the C library's fork has its parent's memory, but not this thread.
ApartThread& FileThread::current() {
  ApartThread* known = file_thread.load(std::memory_order_acquire);
  if (known != nullptr && known->is_of_this_process()) return *known;
  auto* made = new ApartThread("wavescope-files", -1, fill_standard_descriptors);
  if (file_thread.compare_exchange_strong(known, made)) return *made;
  delete made;
  return *known;
}

void FileThread::forget_in_child() { file_thread.store(nullptr, std::memory_order_release); }

void FileThread::do_without() {
  if (ApartThread* known = file_thread.load(std::memory_order_acquire)) known->do_without();
}

}  // namespace wavescope
