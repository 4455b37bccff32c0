// code.json: `{"code":[["s_nop 0",0,1,"a.py:3",1,6400,672,8044,5264,0],..],"header":..,"version":..}`. Only what every
// known version writes is read here; anything else is left to the caller, who reads it more slowly.
#include <chrono>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "chrome_json/string_table.h"
#include "chrome_json/text.h"
#include "chrome_json/tokens.h"
#include "thread_trace/integers.h"
#include "thread_trace/thread_trace.h"

namespace {

using wavescope::chrome_json::Cursor;
using wavescope::chrome_json::Scalar;
using wavescope::chrome_json::Scan;
using wavescope::chrome_json::StringTable;
using wavescope::chrome_json::append_unescaped;
using wavescope::chrome_json::expect;
using wavescope::chrome_json::is_valid_utf8;
using wavescope::chrome_json::scan_key;
using wavescope::chrome_json::scan_object_separator;
using wavescope::chrome_json::scan_object_start;
using wavescope::chrome_json::scan_string;
using wavescope::chrome_json::skip_space;
using wavescope::chrome_json::skip_value;
using wavescope::thread_trace::Number;
using wavescope::thread_trace::scan_integer;

uint64_t seed() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) * 0x9E3779B97F4A7C15U;
}

struct Member {
  std::string name;
  const char* begin;
  const char* end;
};

}  // namespace

struct ws_code_file {
  ws_code_file(const char* from, size_t size) : text(from), end(from + size) {}

  bool find_members() {
    Cursor cursor{text, end};
    skip_space(cursor);
    bool more = false;
    if (scan_object_start(cursor, more) != Scan::done) return false;
    while (more) {
      std::string_view key;
      if (scan_key(cursor, scratch, key) != Scan::done) return false;
      const char* const begin = cursor.at;
      if (skip_value(cursor, 1) != Scan::done) return false;
      members.push_back({std::string(key), begin, cursor.at});
      if (scan_object_separator(cursor, more) != Scan::done) return false;
    }
    skip_space(cursor);
    return cursor.at >= end;
  }

  const Member* member(std::string_view name) const {
    const Member* found = nullptr;
    for (const Member& each : members) {
      if (each.name == name) found = &each;
    }
    return found;
  }

  const char* text;
  const char* end;
  std::vector<Member> members;
  StringTable tables[WS_CODE_TEXTS] = {StringTable(seed()), StringTable(seed())};
  std::string scratch;
  std::string blob;
  std::vector<int64_t> ends;
};

namespace {

class RowReader {
 public:
  RowReader(ws_code_file& file, const ws_code_columns& columns, int64_t& rows)
      : file_(file), columns_(columns), rows_(rows) {}

  // True when every row is regular.
  bool read(const Member& code) {
    Cursor cursor{code.begin, file_.end};
    if (*cursor.at != '[') return false;
    ++cursor.at;
    skip_space(cursor);
    if (*cursor.at == ']') return true;
    for (;;) {
      if (rows_ >= columns_.capacity || !read_row(cursor)) return false;
      ++rows_;
      skip_space(cursor);
      if (*cursor.at == ']') return true;
      if (expect(cursor, ',', "") != Scan::done) return false;
      skip_space(cursor);
    }
  }

 private:
  bool read_row(Cursor& cursor) {
    if (expect(cursor, '[', "") != Scan::done) return false;
    for (int32_t place = 0;; ++place) {
      skip_space(cursor);
      if (!read_cell(cursor, place)) return false;
      skip_space(cursor);
      if (*cursor.at == ']') {
        ++cursor.at;
        return place + 1 >= columns_.width;
      }
      if (expect(cursor, ',', "") != Scan::done) return false;
    }
  }

  bool read_cell(Cursor& cursor, int32_t place) {
    for (int32_t index = 0; index < columns_.integer_count; ++index) {
      if (columns_.integer_places[index] != place) continue;
      return scan_integer(cursor, columns_.integers[index][rows_]) == Number::integer;
    }
    for (int32_t index = 0; index < WS_CODE_TEXTS; ++index) {
      if (columns_.text_places[index] == place) return read_text(cursor, index);
    }
    return skip_value(cursor, 3) == Scan::done;
  }

  bool read_text(Cursor& cursor, int32_t index) {
    Scalar string;
    if (*cursor.at != '"' || scan_string(cursor, string) != Scan::done) return false;
    std::string_view text = string.text;
    if (string.kind == Scalar::Kind::escaped_string) {
      file_.scratch.clear();
      append_unescaped(text, file_.scratch);
      text = file_.scratch;
    } else if (!is_valid_utf8(text)) {
      return false;
    }
    columns_.texts[index][rows_] = file_.tables[index].intern(text, last_[index]);
    last_[index] = columns_.texts[index][rows_];
    return true;
  }

  ws_code_file& file_;
  const ws_code_columns& columns_;
  int64_t& rows_;
  int32_t last_[WS_CODE_TEXTS] = {-1, -1};
};

}  // namespace

ws_code_file* ws_code_open(const char* text, size_t size) {
  ws_code_file* file = nullptr;
  try {
    file = new ws_code_file(text, size);
    if (file->find_members()) return file;
  } catch (const std::exception&) {
  }
  delete file;
  return nullptr;
}

void ws_code_close(ws_code_file* file) { delete file; }

int ws_code_member(const ws_code_file* file, const char* name, int64_t* begin, int64_t* end) {
  const Member* const found = file->member(name);
  if (found == nullptr) return 1;
  *begin = found->begin - file->text;
  *end = found->end - file->text;
  return 0;
}

int64_t ws_code_read(ws_code_file* file, const ws_code_columns* columns) {
  const Member* const code = file->member("code");
  if (code == nullptr) return -1;
  try {
    int64_t rows = 0;
    return RowReader(*file, *columns, rows).read(*code) ? rows : -1;
  } catch (const std::exception&) {
    return -1;
  }
}

const char* ws_code_texts(ws_code_file* file, int32_t index, const int64_t** ends, int64_t* count) {
  try {
    file->tables[index].take_new(file->blob, file->ends);
  } catch (const std::exception&) {
    return nullptr;
  }
  *ends = file->ends.data();
  *count = static_cast<int64_t>(file->ends.size());
  return file->blob.data();
}
