#include <chrono>
#include <exception>
#include <new>

#include "chrome_json/chrome_json.h"
#include "chrome_json/parser.h"

using wavescope::chrome_json::Parser;

struct WavescopeChromeParser {
  explicit WavescopeChromeParser(uint64_t seed) : parser(seed) {}
  Parser parser;
};

namespace {

constexpr const char* kNoMemory = "not enough memory";

// Runs `action`; exceptions, which only exhausted memory or 2^31 texts can raise, become the parser's error.
template <typename Result, typename Action>
Result guarded(WavescopeChromeParser* handle, Result otherwise, Action action) {
  try {
    return action(handle->parser);
  } catch (const std::exception&) {
    handle->parser.fail(kNoMemory, handle->parser.offset());
    return otherwise;
  }
}

}  // namespace

WavescopeChromeParser* wavescope_chrome_open(void) {
  try {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    return new WavescopeChromeParser(static_cast<uint64_t>(now) * 0x9E3779B97F4A7C15U);
  } catch (const std::exception&) {
    return nullptr;
  }
}

void wavescope_chrome_close(WavescopeChromeParser* handle) { delete handle; }

int wavescope_chrome_drop_args(WavescopeChromeParser* handle, const char* category, size_t size) {
  return guarded(handle, -1, [&](Parser& parser) {
    parser.drop_args({category, size});
    return 0;
  });
}

int wavescope_chrome_feed(WavescopeChromeParser* handle, const char* bytes, size_t size) {
  return guarded(handle, -1, [&](Parser& parser) { return parser.feed({bytes, size}) ? 0 : -1; });
}

void wavescope_chrome_finish(WavescopeChromeParser* handle) { handle->parser.finish(); }

WavescopeChromeStatus wavescope_chrome_next(WavescopeChromeParser* handle, const WavescopeChromeColumns* columns,
                                            size_t capacity, size_t* rows) {
  return guarded(handle, WAVESCOPE_CHROME_ERROR, [&](Parser& parser) { return parser.next(*columns, capacity, *rows); });
}

const char* wavescope_chrome_args(const WavescopeChromeParser* handle, size_t* size) {
  *size = handle->parser.args().size();
  return handle->parser.args().data();
}

const char* wavescope_chrome_take(WavescopeChromeParser* handle, WavescopeChromeTable table, const int64_t** ends,
                                  size_t* count) {
  return guarded(handle, static_cast<const char*>(nullptr),
                 [&](Parser& parser) { return parser.take(table, *ends, *count); });
}

void wavescope_chrome_get_counts(const WavescopeChromeParser* handle, WavescopeChromeCounts* counts) {
  *counts = handle->parser.counts();
}

const char* wavescope_chrome_error(const WavescopeChromeParser* handle, int64_t* offset) {
  *offset = handle->parser.error_offset();
  return handle->parser.error();
}
