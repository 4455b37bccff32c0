// A queue of SDMA packets (the layout of gfx9 and gfx10): copies, fills, fences, polls, timestamps.
#ifndef WAVESCOPE_SOFTGPU_SDMA_QUEUE_H
#define WAVESCOPE_SOFTGPU_SDMA_QUEUE_H

#include "softgpu/queue.h"

namespace softgpu {

class SdmaQueue final : public Queue {
 public:
  SdmaQueue(uint64_t id, const QueueServices& services, const QueueMemory& memory);

  Progress advance() override;

 private:
  // A runtime cuts one copy into packets; the log shows it as one op.
  struct Transfer {
    const char* kind = nullptr;  // nullptr: none under way
    uint64_t packet = 0;
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    uint64_t bytes = 0;
    bool is_stamped = false;  // its end has been written; what follows is bookkeeping
  };
  struct Outcome {
    enum class State { done, waits_for_memory, waits_for_end, unknown } state;
    uint32_t words = 0;
  };

  Outcome execute(const uint32_t* words);
  Outcome copy(const uint32_t* words);
  uint64_t copy_linear(const uint32_t* words);
  uint64_t copy_window(const uint32_t* words);
  Outcome fill(const uint32_t* words);
  Outcome poll(const uint32_t* words);
  Outcome stamp(const uint32_t* words);
  Outcome add_to_memory(const uint32_t* words);
  Outcome fence(const uint32_t* words);
  void add_to_transfer(const char* kind, uint64_t bytes);
  void end_transfer(uint64_t signal);
  bool has_ended() const { return services_.clock.now_ns() >= free_at_ns_; }
  uint64_t start_ns() const;

  template <class Value>
  Value* pointer(const uint32_t* low_word) const;

  uint64_t read_ = 0;     // position in bytes, never wrapped
  uint64_t visible_ = 0;  // bytes below it were written when last looked
  uint64_t unmet_ns_ = 0;
  bool has_failed_ = false;
  Transfer transfer_;
};

}  // namespace softgpu

#endif
