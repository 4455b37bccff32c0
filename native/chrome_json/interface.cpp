#include <chrono>
#include <exception>
#include <new>

#include "chrome_json/chrome_json.h"
#include "chrome_json/parser.h"

using wavescope::chrome_json::Parser;

struct ws_chrome_parser {
  explicit ws_chrome_parser(uint64_t seed) : parser(seed) {}
  Parser parser;
};

namespace {

constexpr const char *kNoMemory = "not enough memory";

// Runs `action`; exceptions, which only exhausted memory or 2^31 texts can raise, become the parser's error.
template <typename Result, typename Action>
Result guarded(ws_chrome_parser *handle, Result otherwise, Action action) {
  try {
    return action(handle->parser);
  } catch (const std::exception &) {
    handle->parser.fail(kNoMemory, handle->parser.offset());
    return otherwise;
  }
}

}  // namespace

ws_chrome_parser *ws_chrome_open(void) {
  try {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    return new ws_chrome_parser(static_cast<uint64_t>(now) * 0x9E3779B97F4A7C15U);
  } catch (const std::exception &) {
    return nullptr;
  }
}

void ws_chrome_close(ws_chrome_parser *handle) { delete handle; }

int ws_chrome_drop_args(ws_chrome_parser *handle, const char *category, size_t size) {
  return guarded(handle, -1, [&](Parser &parser) {
    parser.drop_args({category, size});
    return 0;
  });
}

int ws_chrome_feed(ws_chrome_parser *handle, const char *bytes, size_t size) {
  return guarded(handle, -1, [&](Parser &parser) { return parser.feed({bytes, size}) ? 0 : -1; });
}

void ws_chrome_finish(ws_chrome_parser *handle) { handle->parser.finish(); }

ws_chrome_status ws_chrome_next(ws_chrome_parser *handle, const ws_chrome_columns *columns, size_t capacity,
                                size_t *rows) {
  return guarded(handle, WS_CHROME_ERROR, [&](Parser &parser) { return parser.next(*columns, capacity, *rows); });
}

const char *ws_chrome_args(const ws_chrome_parser *handle, size_t *size) {
  *size = handle->parser.args().size();
  return handle->parser.args().data();
}

const char *ws_chrome_take(ws_chrome_parser *handle, ws_chrome_table table, const int64_t **ends, size_t *count) {
  return guarded(handle, static_cast<const char *>(nullptr),
                 [&](Parser &parser) { return parser.take(table, *ends, *count); });
}

void ws_chrome_get_counts(const ws_chrome_parser *handle, ws_chrome_counts *counts) {
  *counts = handle->parser.counts();
}

const char *ws_chrome_error(const ws_chrome_parser *handle, int64_t *offset) {
  *offset = handle->parser.error_offset();
  return handle->parser.error();
}
