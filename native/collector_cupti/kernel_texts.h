// Ids of kernel names in the text stream, by where CUPTI keeps the name: looking a text up takes a lock and its hash.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_KERNEL_TEXTS_H
#define WAVESCOPE_COLLECTOR_CUPTI_KERNEL_TEXTS_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/text_log.h"

namespace wavescope::cupti {

class KernelTexts {
 public:
  explicit KernelTexts(TextLog& texts) : texts_(texts) {}
  ~KernelTexts();
  KernelTexts(const KernelTexts&) = delete;
  KernelTexts& operator=(const KernelTexts&) = delete;

  // 0 for no name. The text is compared each time: another module's may lie where one was that is unloaded.
  uint64_t find(const char* name);

 private:
  static constexpr std::size_t kPlaces = 4096;  // names in excess of them are looked up each time

  struct Known {
    const char* address;
    std::string text;
    uint64_t id;
  };

  TextLog& texts_;
  std::atomic<const Known*> known_[kPlaces] = {};
};

}  // namespace wavescope::cupti

#endif
