#include "collector_hip/functions.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "format/chunk_format.h"

namespace wavescope::hip {
namespace {

struct Row {
  const char* name;
  const char* symbol;
  const char* kind;
  const char* arguments;  // names, each ended by a space
};

#define NUMBER(parameter) #parameter " "
#define NUMBER_AS(name, expression) #name " "
#define ADDRESS(parameter) #parameter ":address "
#define ADDRESS_AS(name, expression) #name ":address "
#define RESULT(name, parameter) #name ":address "
#define TEXT(parameter) #parameter ":text "
#define KERNEL(function, stream) "kernel:text "
#define KERNEL_OF(function) "kernel:text "
#define BLOCK(x, y, z) "block:xyz "

#define HIP_FUNCTION(kind, name, parameters, passed, stream, kept) {#name, #name, #kind, "" kept},
#define HIP_NEWER_FUNCTION(since, ...) HIP_FUNCTION(__VA_ARGS__)
#define HIP_CXX_FUNCTION(kind, name, parameters, passed, stream, kept, symbol) {#name, symbol, #kind, "" kept},
constexpr Row kRows[] = {
#include "collector_hip/hip_functions.def"
};

static_assert(sizeof kRows / sizeof *kRows == static_cast<std::size_t>(Function::kCount), "one row per function");

constexpr std::size_t kept_arguments(const char* names) {
  std::size_t count = 0;
  for (; *names != '\0'; ++names) count += *names == ' ';
  return count;
}

constexpr bool arguments_fit() {
  for (const Row& row : kRows) {
    if (kept_arguments(row.arguments) > std::extent_v<decltype(WavescopeCallRecord::arguments)>) return false;
  }
  return true;
}
static_assert(arguments_fit(), "a row keeps more arguments than a record has room for");

const Row& row_of(Function function) { return kRows[static_cast<std::size_t>(function)]; }

std::vector<std::string> words(const char* text) {
  std::vector<std::string> found;
  for (const char* end = std::strchr(text, ' '); end != nullptr; end = std::strchr(text, ' ')) {
    found.emplace_back(text, end);
    text = end + 1;
  }
  return found;
}

}  // namespace

const char* symbol_of(Function function) { return row_of(function).symbol; }

bool has_row(const char* symbol) {
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const Row& row) { return std::strcmp(row.symbol, symbol) == 0; });
}

Fact function_fact(Function function) {
  const Row& row = row_of(function);
  Fact fact("function");
  fact.add("function", static_cast<uint32_t>(function)).add("name", row.name).add("kind", row.kind);
  fact.add("arguments", words(row.arguments));
  return fact;
}

}  // namespace wavescope::hip
