#include "core/control.h"

#include <cstring>

#include "core/own_file.h"

namespace wavescope {
namespace {

uint64_t saturating_add(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

}  // namespace

Control::Control(const std::string& path, const Settings& settings, uint64_t start_ns)
    : page_(&own_),
      first_ns_(saturating_add(start_ns, settings.delay_ns)),
      last_ns_(saturating_add(first_ns_, settings.duration_ns)),
      windowed_(settings.delay_ns != 0 || last_ns_ != UINT64_MAX) {
  std::memcpy(own_.magic, WAVESCOPE_CHUNK_MAGIC, sizeof own_.magic);
  own_.version = WAVESCOPE_CHUNK_VERSION;
  own_.recording = settings.start_paused ? 0 : 1;
  FileWindow window;
  if (OwnFile(path).map(0, WAVESCOPE_PAGE_BYTES, window, &own_, sizeof own_) != Refusal::kNone) return;
  page_ = reinterpret_cast<WavescopeControlPage*>(window.pages);
  *page_ = own_;
}

// Who reads asks first and looks then whether something is being dropped; here it is the other way round.
bool Control::begin_dropping() {
  __atomic_store_n(&page_->dropping, 1u, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&page_->still_until_ns, __ATOMIC_SEQ_CST) <= boottime_ns()) return true;
  end_dropping();
  return false;
}

void Control::watch(void (*changed)(void* context), void* context) {
  watcher_.store(context, std::memory_order_relaxed);
  changed_.store(changed, std::memory_order_release);
}

}  // namespace wavescope
