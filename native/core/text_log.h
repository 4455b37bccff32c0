// The text stream: each string once, known elsewhere by its id.
#ifndef WAVESCOPE_CORE_TEXT_LOG_H
#define WAVESCOPE_CORE_TEXT_LOG_H

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/append_log.h"

namespace wavescope {

class TextLog {
 public:
  TextLog(const std::string& path, ByteBudget& budget);

  // The id of the text, written before it is returned; 0 when it could not be written. Any thread. What is longer than
  // 64 KiB is cut. Memory is bounded: when very many different texts were seen, or the process had no more memory, further
  // ones are written each time.
  uint64_t intern(std::string_view text);

  // How often a text could not be written, and why the last of these could not.
  uint64_t refused();
  Refusal refusal();

  // Gives back space that was allocated ahead. Safe in a signal handler.
  void trim() { log_.trim(); }

 private:
  uint64_t known_or_written(std::string_view text);
  uint64_t write(std::string_view text);

  std::mutex mutex_;
  AppendLog log_;
  uint64_t last_id_ = 0;
  uint64_t refused_ = 0;
  Refusal refusal_ = Refusal::kNone;
  uint64_t remembered_bytes_ = 0;
  std::unordered_map<std::string, uint64_t> ids_;
  std::vector<char> entry_;
};

}  // namespace wavescope

#endif
