// The stream: input in pieces, the top level of the file, and rows into the caller's columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chrome_json/chrome_json.h"
#include "chrome_json/event.h"
#include "chrome_json/string_table.h"
#include "chrome_json/tokens.h"

namespace wavescope::chrome_json {

class Parser {
 public:
  explicit Parser(uint64_t seed) : texts_(seed), keys_(seed), ids_(seed) {}

  void drop_args(std::string_view category) { dropped_categories_.push_back(texts_.intern(category)); }
  bool feed(std::string_view bytes);
  void finish() { finished_ = true; }
  WavescopeChromeStatus next(const WavescopeChromeColumns& columns, size_t capacity, size_t& rows);
  const char* take(WavescopeChromeTable table, const int64_t*& ends, size_t& count);

  std::string_view args() const { return args_; }
  const WavescopeChromeCounts& counts() const { return counts_; }
  const char* error() const { return error_; }
  int64_t error_offset() const { return error_offset_; }
  // Ends the parse; `why` must outlive the parser.
  void fail(const char* why, int64_t offset);
  int64_t offset() const { return consumed_ + static_cast<int64_t>(position_); }

 private:
  enum class State : uint8_t { start, first_member, member, after_member, element, after_element, trailer, end, failed };

  Scan step(Cursor& cursor, const WavescopeChromeColumns& columns, size_t& rows);
  Scan step_start(Cursor& cursor);
  Scan step_member(Cursor& cursor);
  Scan step_element(Cursor& cursor, const WavescopeChromeColumns& columns, size_t& rows);
  Scan step_after_element(Cursor& cursor);
  WavescopeChromeStatus input_is_used_up();
  void keep_metadata(std::string_view name, std::string_view value);
  void store(const WavescopeChromeColumns& columns, size_t row);
  uint8_t letter(const Scalar& scalar);
  int32_t text_code(const Scalar& scalar, int32_t hint);
  int32_t key_code(StringTable& table, const Scalar& scalar, int32_t hint);
  void store_id(const WavescopeChromeColumns& columns, size_t row);
  void store_args(const WavescopeChromeColumns& columns, size_t row);
  int64_t time_ns(const Scalar& scalar, uint8_t flag, uint8_t& flags);
  int depth() const { return counts_.is_array != 0 ? 1 : 2; }

  State state_ = State::start;
  bool finished_ = false;

  std::string input_;        // what is fed and not yet forgotten, then kPadding zero bytes
  size_t position_ = 0;      // consumed bytes of input_
  size_t retry_size_ = 0;    // an incomplete token is not tried again with less than this many bytes
  int64_t consumed_ = 0;     // bytes of the stream before input_

  EventReader reader_;
  Event event_;
  StringTable texts_;
  StringTable keys_;
  StringTable ids_;
  std::vector<int32_t> dropped_categories_;
  int32_t last_category_ = -1;
  int32_t last_process_ = -1;
  int32_t last_thread_ = -1;
  std::string scratch_;
  std::string key_scratch_;

  std::string args_;
  std::string metadata_;
  std::vector<int64_t> metadata_ends_;
  size_t metadata_size_ = 0;
  std::string taken_;
  std::vector<int64_t> taken_ends_;

  WavescopeChromeCounts counts_{};
  const char* error_ = "";
  int64_t error_offset_ = 0;
};

}  // namespace wavescope::chrome_json
