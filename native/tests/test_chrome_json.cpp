// The Chrome JSON reader: values, pieces of every size, bad input.
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "chrome_json/chrome_json.h"

namespace {

constexpr int64_t kAbsent = WAVESCOPE_CHROME_ABSENT;

struct Row {
  char phase;
  std::string name, category, kind, process, thread, args;
  int flags, id_kind;
  int64_t id, start_ns, duration_ns;
  std::vector<int64_t> arguments;

  bool operator==(const Row& other) const {
    return phase == other.phase && name == other.name && category == other.category && kind == other.kind &&
           process == other.process && thread == other.thread && args == other.args && flags == other.flags &&
           id_kind == other.id_kind && id == other.id && start_ns == other.start_ns && duration_ns == other.duration_ns &&
           arguments == other.arguments;
  }
};

struct Result {
  std::vector<Row> rows;
  std::vector<std::string> texts, keys, metadata;
  WavescopeChromeCounts counts{};
  std::string error;
  int64_t error_offset = 0;
};

struct Columns {
  explicit Columns(size_t capacity)
      : bytes(3, std::vector<uint8_t>(capacity)),
        codes(5, std::vector<int32_t>(capacity)),
        numbers(4 + WAVESCOPE_CHROME_ARGUMENT_COUNT, std::vector<int64_t>(capacity)) {
    pointers.phase = bytes[0].data();
    pointers.flags = bytes[1].data();
    pointers.id_kind = bytes[2].data();
    pointers.name = codes[0].data();
    pointers.category = codes[1].data();
    pointers.kind = codes[2].data();
    pointers.process = codes[3].data();
    pointers.thread = codes[4].data();
    pointers.id = numbers[0].data();
    pointers.start_ns = numbers[1].data();
    pointers.duration_ns = numbers[2].data();
    pointers.args_end = numbers[3].data();
    for (size_t index = 0; index < WAVESCOPE_CHROME_ARGUMENT_COUNT; ++index) {
      pointers.arguments[index] = numbers[4 + index].data();
    }
  }

  std::vector<std::vector<uint8_t>> bytes;
  std::vector<std::vector<int32_t>> codes;
  std::vector<std::vector<int64_t>> numbers;
  WavescopeChromeColumns pointers{};
};

using Parser = std::unique_ptr<WavescopeChromeParser, decltype(&wavescope_chrome_close)>;

void take(WavescopeChromeParser* parser, WavescopeChromeTable table, std::vector<std::string>& texts) {
  const int64_t* ends = nullptr;
  size_t count = 0;
  const char* blob = wavescope_chrome_take(parser, table, &ends, &count);
  int64_t start = 0;
  for (size_t index = 0; index < count; ++index) {
    texts.emplace_back(blob + start, static_cast<size_t>(ends[index] - start));
    start = ends[index];
  }
}

std::string text_at(const std::vector<std::string>& texts, int32_t code) {
  return code < 0 ? "<none>" : texts[static_cast<size_t>(code)];
}

void collect(WavescopeChromeParser* parser, const Columns& columns, size_t count, Result& result) {
  take(parser, WAVESCOPE_CHROME_TEXTS, result.texts);
  take(parser, WAVESCOPE_CHROME_KEYS, result.keys);
  take(parser, WAVESCOPE_CHROME_METADATA, result.metadata);
  size_t args_size = 0;
  const char* args = wavescope_chrome_args(parser, &args_size);
  const WavescopeChromeColumns& each = columns.pointers;
  for (size_t row = 0; row < count; ++row) {
    const int64_t args_start = row == 0 ? 0 : each.args_end[row - 1];
    CHECK(each.args_end[row] <= static_cast<int64_t>(args_size));
    std::vector<int64_t> arguments;
    for (size_t index = 0; index < WAVESCOPE_CHROME_ARGUMENT_COUNT; ++index) {
      arguments.push_back(each.arguments[index][row]);
    }
    result.rows.push_back({static_cast<char>(each.phase[row]), text_at(result.texts, each.name[row]),
                           text_at(result.texts, each.category[row]), text_at(result.texts, each.kind[row]),
                           text_at(result.keys, each.process[row]), text_at(result.keys, each.thread[row]),
                           std::string(args + args_start, static_cast<size_t>(each.args_end[row] - args_start)),
                           each.flags[row], each.id_kind[row], each.id[row], each.start_ns[row], each.duration_ns[row],
                           arguments});
  }
}

// Reads `json`, fed `piece` bytes at a time, in batches of `capacity`.
Result read(const std::string& json, size_t piece = SIZE_MAX, size_t capacity = 7) {
  Parser parser(wavescope_chrome_open(), wavescope_chrome_close);
  CHECK(parser != nullptr);
  CHECK(wavescope_chrome_drop_args(parser.get(), "dropped", 7) == 0);
  Columns columns(capacity);
  Result result;
  size_t fed = 0;
  size_t rows = 0;
  for (;;) {
    const WavescopeChromeStatus status = wavescope_chrome_next(parser.get(), &columns.pointers, capacity, &rows);
    if (status == WAVESCOPE_CHROME_NEED_INPUT && fed < json.size()) {
      const size_t size = std::min(piece, json.size() - fed);
      // A copy of exactly this size lets the sanitizer see any read beyond it.
      const std::vector<char> bytes(json.begin() + static_cast<std::ptrdiff_t>(fed),
                                    json.begin() + static_cast<std::ptrdiff_t>(fed + size));
      CHECK(wavescope_chrome_feed(parser.get(), bytes.data(), size) == 0);
      fed += size;
    } else if (status == WAVESCOPE_CHROME_NEED_INPUT) {
      wavescope_chrome_finish(parser.get());
    } else {
      collect(parser.get(), columns, rows, result);
      rows = 0;
      if (status == WAVESCOPE_CHROME_ERROR) result.error = wavescope_chrome_error(parser.get(), &result.error_offset);
      if (status != WAVESCOPE_CHROME_BATCH_FULL) break;
    }
  }
  wavescope_chrome_get_counts(parser.get(), &result.counts);
  return result;
}

Row only_row(const std::string& json) {
  const Result result = read(json);
  CHECK(result.error.empty());
  CHECK(result.rows.size() == 1);
  return result.rows[0];
}

void check_times() {
  const std::vector<std::pair<std::string, int64_t>> cases = {
      {"6520618853487.683", 6520618853487683},
      {"0", 0},
      {"-0", 0},
      {"12", 12000},
      {"-2.5", -2500},
      {"1.5e3", 1500000},
      {"15E-1", 1500},
      {"1e+2", 100000},
      {"0.0004", 0},
      {"0.0005", 1},
      {"-0.0005", -1},
      {"0.00049999999999999999999", 0},
      {"1.2345", 1235},
      {"9223372036854775.807", INT64_MAX},
      {"-9223372036854775.808", INT64_MIN},
      {"0.000000000000000000000000000001e30", 1000},
      {"100000000000000000000000000000000e-30", 100000},
      {"0e999999999999999999999", 0},
      {"1e-999999999999999999999", 0},
      {std::string("0.") + std::string(100000, '0') + "1", 0},
  };
  for (const auto& [text, expected] : cases) {
    const Row number = only_row("[{\"ts\":" + text + "}]");
    CHECK(number.flags == WAVESCOPE_CHROME_HAS_TS);
    CHECK(number.start_ns == expected);
    const Row quoted = only_row("[{\"dur\":\"" + text + "\"}]");
    CHECK(quoted.flags == WAVESCOPE_CHROME_HAS_DUR);
    CHECK(quoted.duration_ns == expected);
  }
  for (const char* text : {"9223372036854775.808", "-9223372036854775.8091", "1e300", "1e99999999999999999999", "NaN",
                           "-Infinity", "\"\"", "\"abc\"", "\"1 \"", "\"0x10\"", "\"1e\"", "\".\"", "\"--1\""}) {
    const Result result = read(std::string("[{\"ts\":") + text + "}]");
    CHECK(result.rows.size() == 1 && result.rows[0].flags == 0);
    CHECK(result.counts.unusable_times == 1);
  }
  for (const char* text : {"null", "true", "[1]", "{\"a\":1}"}) {
    const Result result = read(std::string("[{\"ts\":") + text + "}]");
    CHECK(result.rows[0].flags == 0 && result.counts.unusable_times == 0);
  }
}

void check_fields() {
  const Row row = only_row(R"({"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": "stream 7", "ts": 1.5, "dur": 2, "id": 12, "bp": "e",
     "unknown": [1, {"a": []}],
     "args": {"External id": 5, "device": 3, "stream": "7", "correlation": 99, "bytes": 1e3, "graph id": 4,
              "graph node id": 8589934593, "grid": [2, 66, 1], "block": [384, 1], "registers per thread": 168,
              "shared memory": 213188, "context": 1, "kind": "Dispatch Kernel", "queue": 6, "sequence": 21, "process": 22,
              "thread": 23, "hardware_queue": 24, "kernel": 25, "scratch_bytes": 26, "source_device": 27,
              "target_device": 28, "marker": 29, "other": " a b "}}]})");
  CHECK(row.phase == 'X' && row.category == "kernel" && row.name == "gemm" && row.kind == "Dispatch Kernel");
  CHECK(row.process == "n0" && row.thread == "sstream 7");
  CHECK(row.start_ns == 1500 && row.duration_ns == 2000);
  CHECK(row.id_kind == WAVESCOPE_CHROME_ID_NUMBER && row.id == 12);
  CHECK(row.flags ==
        (WAVESCOPE_CHROME_HAS_TS | WAVESCOPE_CHROME_HAS_DUR | WAVESCOPE_CHROME_BINDS_ENCLOSING | WAVESCOPE_CHROME_HAS_ARGS));
  const std::vector<int64_t> expected = {99, 5,   3, 7,       6,  1,  1000, 4,  8589934593, 168, 213188, 2,  66,
                                         1,  384, 1, kAbsent, 21, 22, 23,   24, 25,         26,  27,     28, 29};
  CHECK(row.arguments == expected);
  CHECK(row.args.find("\"other\":\" a b \"}") != std::string::npos);
  CHECK(row.args.find("\"grid\":[2,66,1],") != std::string::npos);

  const Row sparse = only_row("[{}]");
  CHECK(sparse.phase == 0 && sparse.name == "<none>" && sparse.process == "<none>" && sparse.flags == 0);
  CHECK(sparse.id_kind == WAVESCOPE_CHROME_ID_NONE && sparse.args.empty());
  CHECK(sparse.arguments == std::vector<int64_t>(WAVESCOPE_CHROME_ARGUMENT_COUNT, kAbsent));

  const Row export_style = only_row(
      R"([{"name":"short","args":{"full_name":"whole","gpu":2,"grid":"1024,2,1","workgroup":"256x1x1","lds_bytes":8}}])");
  CHECK(export_style.name == "whole");
  CHECK(export_style.flags == (WAVESCOPE_CHROME_HAS_ARGS | WAVESCOPE_CHROME_GRID_IS_TEXT));
  CHECK(export_style.arguments[WAVESCOPE_CHROME_DEVICE] == 2 && export_style.arguments[WAVESCOPE_CHROME_SHARED_MEMORY] == 8);
  CHECK(export_style.arguments[WAVESCOPE_CHROME_GRID_X] == 1024 && export_style.arguments[WAVESCOPE_CHROME_GRID_Y] == 2);
  CHECK(export_style.arguments[WAVESCOPE_CHROME_BLOCK_X] == 256 && export_style.arguments[WAVESCOPE_CHROME_BLOCK_Z] == 1);

  const Row twice = only_row(R"([{"ts":1,"args":{"device":1,"kind":"a"},"ts":2,"args":{"stream":3},"name":"a","name":7}])");
  CHECK(twice.start_ns == 2000 && twice.name == "7" && twice.kind == "<none>");
  CHECK(twice.arguments[WAVESCOPE_CHROME_DEVICE] == kAbsent && twice.arguments[WAVESCOPE_CHROME_STREAM] == 3);
  CHECK(twice.args == "{\"stream\":3}");

  CHECK(only_row(R"([{"cat":"dropped","args":{"device":1}}])").args.empty());
  CHECK(only_row(R"([{"id":"0x7f"}])").id_kind == WAVESCOPE_CHROME_ID_TEXT);
  CHECK(only_row(R"([{"id":"0x7f"}])").id == (int64_t{1} << 62) + 127);
  CHECK(only_row(R"([{"id":"127"}])").id_kind == WAVESCOPE_CHROME_ID_TEXT && only_row(R"([{"id":"127"}])").id == 127);
  for (const char* other : {R"([{"id":"0127"}])", R"([{"id":""}])", R"([{"id":"0x"}])", R"([{"id":"0X7F"}])",
                            R"([{"id":"-1"}])", R"([{"id":"1000000000000000"}])", R"([{"id":1.5}])"}) {
    CHECK(only_row(other).id_kind == WAVESCOPE_CHROME_ID_TEXT && only_row(other).id == -1);
  }
  CHECK(only_row(R"([{"id":18446744073709551615}])").id_kind == WAVESCOPE_CHROME_ID_TEXT);
  CHECK(only_row(R"([{"pid":18446744073709551615}])").process == "n18446744073709551615");
}

void check_text() {
  CHECK(only_row(R"([{"name":"a\"\\\/\b\f\n\r\tA\u00e9\u20ac\ud83d\ude00"}])").name ==
        "a\"\\/\b\f\n\r\tA\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  CHECK(only_row(R"([{"\u006eame":"x","\u0070h":"\u0058"}])").phase == 'X');
  const std::vector<std::pair<std::string, std::string>> repaired = {
      {"\\ud83d!", "\xEF\xBF\xBD!"},
      {"\\ude00\\ud83d", "\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xFF", "\xEF\xBF\xBD"},
      {"\xE2\x82", "\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"12345678\xE2\x82\xAC\xE2(", "12345678\xE2\x82\xAC\xEF\xBF\xBD("},
  };
  for (const auto& [text, expected] : repaired) {
    const Result result = read("[{\"name\":\"" + text + "\"},{\"name\":\"" + text + "\"}]");
    CHECK(result.rows.size() == 2 && result.rows[0].name == expected && result.rows[1].name == expected);
    CHECK(result.counts.replaced_texts == 2);
    CHECK(result.texts.size() == 2);  // "dropped" and this one
  }
  const Row args =
      only_row("[{\"args\": {\"a\\n\": \"x\ny\\ud800\xFF\", \"b\" : [NaN, -Infinity, Infinity, -1.50e+3], \"c\":true}}]");
  CHECK(args.args ==
        "{\"a\\n\":\"x\\u000ay\\ufffd\xEF\xBF\xBD\",\"b\":[\"NaN\",\"-Infinity\",\"Infinity\",-1.50e+3],\"c\":true}");
  const std::string long_name(1000000, 'n');
  const Result result = read("[{\"name\":\"" + long_name + "\"},{\"name\":\"" + long_name + "x\"}]", 1000);
  CHECK(result.rows.size() == 2 && result.rows[0].name == long_name && result.rows[1].name == long_name + "x");
}

void check_top_level() {
  const Result members = read(R"( {"a": [1, 2 ], "b\u0062": "x", "traceEvents": [{"ph":"i"}], "c": {"d": null}} )");
  CHECK(members.rows.size() == 1 && members.counts.has_events == 1 && members.counts.is_array == 0);
  const std::vector<std::string> expected = {"a", "[1,2]", "bb", "\"x\"", "c", "{\"d\":null}"};
  CHECK(members.metadata == expected);
  CHECK(read("\xEF\xBB\xBF[]").error.empty());
  CHECK(read("{}").counts.has_events == 0);
  CHECK(read(R"({"traceEvents": []})").counts.has_events == 1);

  const Result mixed = read("[1, \"a\", null, [{}], {\"ph\":\"X\"}, ]");
  CHECK(mixed.error.empty() && mixed.rows.size() == 1 && mixed.counts.not_objects == 4);

  for (const char* open : {"[", "[{}", "[{},", "[{} , \n"}) {
    const Result result = read(open);
    CHECK(result.error.empty() && result.counts.truncated == 0);
  }
  for (const char* cut : {"[{", "[{\"a\":1", "[{},{\"name\":\"x", "{", "{\"traceEvents\":[{}", "{\"traceEvents\":[{}]",
                          "{\"a\":[1,", "[{\"a\":tr", "[{\"a\":-", "[{\"a\":1.", "[{\"a\":\"\\u00"}) {
    const Result result = read(cut);
    CHECK(result.error.empty() && result.counts.truncated == 1);
  }
}

void check_errors() {
  const std::vector<std::pair<std::string, int64_t>> cases = {
      {"", 0},
      {"  \n", 0},
      {"x", 0},
      {"12", 0},
      {"[{} {}]", 4},
      {"[{\"a\" 1}]", 6},
      {"[{\"a\":}]", 6},
      {"[{\"a\":01}]", 7},
      {"[{\"a\":1.}]", 8},
      {"[{\"a\":+1}]", 6},
      {"[{\"a\":truf}]", 6},
      {"[{\"a\":\"\\x\"}]", 7},
      {"[{\"a\":\"\\u12g4\"}]", 7},
      {"[{\"a\":1,}]", 8},
      {"[{a:1}]", 2},
      {"[{\"a\":[1,]}]", 9},
      {"[{}] x", 5},
      {"{\"traceEvents\": 5}", 16},
      {"{\"traceEvents\": {}}", 16},
      {"{,}", 1},
      {"[}", 1},
  };
  for (const auto& [json, offset] : cases) {
    for (size_t piece : {SIZE_MAX, size_t{1}}) {
      const Result result = read(json, piece);
      CHECK(!result.error.empty());
      CHECK(result.error_offset == offset);
    }
  }
  const std::string deep = "[" + std::string(255, '[') + std::string(255, ']') + "]";
  CHECK(read(deep).error.empty());
  CHECK(!read("[" + std::string(256, '[') + std::string(256, ']') + "]").error.empty());
  CHECK(!read(std::string(10000000, '[')).error.empty());
  CHECK(!read("[{\"args\":" + std::string(100000, '[')).error.empty());
  CHECK(!read("{\"a\":" + std::string(100000, '{')).error.empty());
}

const char kSample[] = R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "MI\u0033"}], "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::\u00e9 \"q\"", "pid": 397, "tid": "397", "ts": 3853558627928.420, "dur": 1.5e1,
   "args": {"External id": 2563, "Input Dims": [[1, 2], []], "s": "a\\b", "n": NaN, "f": -0.5e-3, "t": true, "z": null}},
  {"ph": "s", "id": 78585, "pid": 397, "tid": 397, "ts": "3853558628430.489", "cat": "ac2g", "name": "ac2g"}, 5,
  {"ph": "M", "name": "process_name", "pid": "Spans", "tid": 0, "args": {"name": "python3"}}, {},
  {"ph": "X", "cat": "kernel", "args": {"grid": [1, 2, 3], "block": "4,5,6", "kind": "k", "correlation": 7}}
], "traceName": "h.json"})";

bool same(const Result& left, const Result& right) {
  return left.rows == right.rows && left.texts == right.texts && left.keys == right.keys &&
         left.metadata == right.metadata && left.error == right.error && left.error_offset == right.error_offset &&
         std::memcmp(&left.counts, &right.counts, sizeof left.counts) == 0;
}

// However the input is cut into pieces and rows into batches, the result is the same.
void check_pieces() {
  const Result whole = read(kSample);
  CHECK(whole.error.empty() && whole.rows.size() == 5 && whole.counts.truncated == 0);
  for (size_t piece = 1; piece < 40; ++piece) {
    CHECK(same(whole, read(kSample, piece, 1 + piece % 9)));
  }
}

// Every prefix is read without an error, and its events are the first ones of the whole.
void check_prefixes() {
  const std::string sample = kSample;
  const Result whole = read(sample);
  for (size_t size = 1; size < sample.size(); ++size) {
    const Result result = read(sample.substr(0, size), 16);
    CHECK(result.error.empty() && result.counts.truncated == 1);
    CHECK(result.rows.size() <= whole.rows.size());
    for (size_t row = 0; row < result.rows.size(); ++row) CHECK(result.rows[row] == whole.rows[row]);
  }
}

// Damaged input gives some result, the same one for any cutting into pieces.
void check_damaged() {
  uint64_t state = 0x2545F4914F6CDD1D;
  const auto random = [&state](size_t bound) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<size_t>(state >> 33) % bound;
  };
  const std::string interesting = "{}[]\",:\\u0eE+-.truefalsnIN \n\x80\xff\xed";
  for (int round = 0; round < 4000; ++round) {
    std::string json = kSample;
    for (size_t change = 0; change <= random(4); ++change) {
      const size_t at = random(json.size());
      switch (random(3)) {
        case 0: json[at] = interesting[random(interesting.size())]; break;
        case 1: json.erase(at, 1 + random(20)); break;
        default: json.insert(at, json.substr(random(json.size()), random(30)));
      }
      if (json.empty()) json = "[";
    }
    CHECK(same(read(json), read(json, 1 + random(64))));
  }
}

}  // namespace

int main() {
  check_times();
  check_fields();
  check_text();
  check_top_level();
  check_errors();
  check_pieces();
  check_prefixes();
  check_damaged();
  return 0;
}
