// The facts stream: JSON objects, one a line.
#ifndef WAVESCOPE_CORE_FACTS_LOG_H
#define WAVESCOPE_CORE_FACTS_LOG_H

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/append_log.h"

namespace wavescope {

// One fact being written down: Fact("agent").add("gpu", 0).add("name", "gfx90a").
class Fact {
 public:
  explicit Fact(std::string_view kind);

  Fact& add(std::string_view member, std::string_view text);
  Fact& add(std::string_view member, const char* text) { return add(member, std::string_view(text)); }
  Fact& add(std::string_view member, uint64_t number);
  Fact& add(std::string_view member, uint32_t number) { return add(member, uint64_t{number}); }
  Fact& add(std::string_view member, int number);
  Fact& add(std::string_view member, const std::vector<std::string>& texts);

  // The finished line, with its line end.
  std::string line() const { return text_ + "}\n"; }

 private:
  void name(std::string_view member);

  std::string text_;
};

// `text` as a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

class FactsLog {
 public:
  FactsLog(const std::string& path, ByteBudget& budget);

  bool usable() const { return log_.usable(); }
  bool append(const Fact& fact);  // any thread
  // At the end of the process, where waiting for the lock might take for ever.
  bool append_unlocked(const char* line, std::size_t length) { return log_.append(line, length); }

  // The process ends: how is told whatever the limit.
  void begin_last_words() { log_.begin_last_words(); }

  // Gives back space that was allocated ahead. Safe in a signal handler.
  void trim() { log_.trim(); }

  // A note fact: something was not recorded, and why.
  bool note(std::string_view text, uint64_t count = 1);

 private:
  std::mutex mutex_;
  AppendLog log_;
};

}  // namespace wavescope

#endif
