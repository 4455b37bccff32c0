// A file that only grows at its end, written through a mapped window that moves along with it.
//
// What is appended counts from the moment its first word is stored (last, with release order; the first byte where it does
// not lie on a multiple of eight), which is never zero: what a killed process leaves is whole up to its last piece, and
// zeros follow.
#ifndef WAVESCOPE_CORE_APPEND_LOG_H
#define WAVESCOPE_CORE_APPEND_LOG_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/byte_budget.h"
#include "core/own_file.h"

namespace wavescope {

// What becomes of a log that somebody else shortened.
enum class WhenCut : uint8_t { kEnds, kGoesOn };

class AppendLog {
 public:
  AppendLog(const std::string& path, ByteBudget& budget, WhenCut when_cut = WhenCut::kEnds,
            ByteBudget::Lasting what = ByteBudget::Lasting::kFact);
  ~AppendLog();
  // From now on all has room.
  void begin_last_words() { what_.store(ByteBudget::Lasting::kLastWord, std::memory_order_relaxed); }
  AppendLog(const AppendLog&) = delete;
  AppendLog& operator=(const AppendLog&) = delete;

  bool usable() const { return file_.is_made(); }

  // Appends all of it or nothing; false when it was refused. One thread at a time.
  bool append(const void* bytes, std::size_t count);

  // Why the last one was refused.
  Refusal refusal() const { return refusal_; }

  // Gives back space that was allocated ahead. Safe in a signal handler.
  void trim();

 private:
  Refusal make_room(std::size_t count);

  OwnFile file_;
  const WhenCut when_cut_;
  std::atomic<ByteBudget::Lasting> what_;
  FileWindow window_;
  uint64_t length_ = 0;
  uint64_t room_end_ = 0;
  Refusal refusal_ = Refusal::kNone;
  ByteBudget& budget_;
};

}  // namespace wavescope

#endif
