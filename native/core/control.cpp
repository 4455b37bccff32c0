#include "core/control.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "core/file_space.h"

namespace wavescope {
namespace {

WavescopeControlPage* map_page(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return nullptr;
  void* page = MAP_FAILED;
  if (file_size_limit() >= WAVESCOPE_PAGE_BYTES && allocate_file_space(file, 0, WAVESCOPE_PAGE_BYTES)) {
    page = mmap(nullptr, WAVESCOPE_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  return page == MAP_FAILED ? nullptr : static_cast<WavescopeControlPage*>(page);
}

uint64_t saturating_add(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

}  // namespace

Control::Control(const std::string& path, const Settings& settings, uint64_t start_ns)
    : page_(map_page(path)),
      first_ns_(saturating_add(start_ns, settings.delay_ns)),
      last_ns_(saturating_add(first_ns_, settings.duration_ns)),
      windowed_(settings.delay_ns != 0 || last_ns_ != UINT64_MAX) {
  if (page_ == nullptr) page_ = &own_;
  std::memcpy(page_->magic, WAVESCOPE_CHUNK_MAGIC, sizeof page_->magic);
  page_->version = WAVESCOPE_CHUNK_VERSION;
  if (settings.start_paused) pause();
  else resume();
}

}  // namespace wavescope
