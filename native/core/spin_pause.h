// Tells the processor that a loop waits for another thread.
#ifndef WAVESCOPE_CORE_SPIN_PAUSE_H
#define WAVESCOPE_CORE_SPIN_PAUSE_H

namespace wavescope {

inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

}  // namespace wavescope

#endif
