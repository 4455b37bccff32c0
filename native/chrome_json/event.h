// One element of the event list, read but not yet stored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "chrome_json/chrome_json.h"
#include "chrome_json/tokens.h"

namespace wavescope::chrome_json {

// The texts point into the input. Of a member that occurs twice the last one counts.
struct Event {
  Scalar phase;
  Scalar name;
  Scalar category;
  Scalar process;
  Scalar thread;
  Scalar start;
  Scalar duration;
  Scalar id;
  Scalar binding_point;
  Scalar kind;
  Scalar full_name;
  bool grid_is_text = false;
  std::string_view args;  // the whole object, empty when there is none
  int64_t arguments[WAVESCOPE_CHROME_ARGUMENT_COUNT];
};

// What a scalar stands for: its text, unescaped and repaired into `scratch` where needed (and then *replaced is set when
// something had to be replaced).
std::string_view resolve(const Scalar& scalar, std::string& scratch, bool* replaced);

class EventReader {
 public:
  // Reads the object at the cursor; `depth` counts the containers around it.
  Scan read(Cursor& cursor, int depth, Event& event);

 private:
  Scan read_args(Cursor& cursor, int depth, Event& event);
  Scan read_argument(Cursor& cursor, int depth, std::string_view key, Event& event);
  Scan read_integer(Cursor& cursor, int depth, int64_t& value);
  Scan read_triple(Cursor& cursor, int depth, int64_t* values, bool& is_text);
  Scan read_triple_text(Cursor& cursor, int64_t* values);

  std::string key_scratch_;
  std::string number_scratch_;
};

}  // namespace wavescope::chrome_json
