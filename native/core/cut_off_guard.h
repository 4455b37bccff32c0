// Keeps a mapped file that somebody else shortens from ending the program.
//
// To touch a page that its file has no longer is a SIGBUS, and the space was there when it was mapped: no check before the
// touch can be in time. So pages of watched windows that are gone are replaced by empty memory, and what is stored there
// afterwards is lost, which the owner of the window can ask for. The handler is installed only where the program left the
// signal to the system; every other SIGBUS then ends the program as it would have without it.
#ifndef WAVESCOPE_CORE_CUT_OFF_GUARD_H
#define WAVESCOPE_CORE_CUT_OFF_GUARD_H

#include <cstddef>
#include <cstdint>

namespace wavescope {

class CutOffGuard {
 public:
  static constexpr int kNobody = -1;

  // The number by which the window is known; kNobody when there are too many. Safe in a signal handler, as all of this.
  // `stand_in`, if any, is what the beginning of the window then has instead of zeros.
  static int watch(char* pages, uint64_t bytes, const void* stand_in = nullptr, std::size_t stand_in_bytes = 0);
  static void forget(int window);
  static bool was_cut(int window);

  // Windows that were cut since the process began.
  static uint64_t cut_count();
};

}  // namespace wavescope

#endif
