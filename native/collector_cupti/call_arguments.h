// Visitors of a function's parameters (collector_cupti/parameters): their names, and what a record keeps of them before and
// after the call.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_CALL_ARGUMENTS_H
#define WAVESCOPE_COLLECTOR_CUPTI_CALL_ARGUMENTS_H

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/session.h"
#include "format/chunk_format.h"

namespace wavescope::cupti {

// As the "arguments" of a function fact.
class ArgumentNames {
 public:
  const std::vector<std::string>& names() const { return names_; }

  void number(const char* name, uint64_t) { names_.emplace_back(name); }
  void address(const char* name, const void*) { add(name, ":address"); }
  void result(const char* name, const void*) { add(name, ":address"); }
  void text(const char* name, const char*) { add(name, ":text"); }
  void kernel() { add("kernel", ":text"); }
  void block(uint32_t, uint32_t, uint32_t) { add("block", ":xyz"); }
  void stream(const void*) {}

 private:
  void add(const char* name, const char* type) { names_.push_back(std::string(name) + type); }

  std::vector<std::string> names_;
};

// Keeps what the program passed, before the call. What the call will leave is 0 until then.
class EntryArguments {
 public:
  EntryArguments(Session& session, WavescopeCallRecord& record, uint64_t kernel_text)
      : session_(session), record_(record), kernel_text_(kernel_text) {}

  void number(const char*, uint64_t value) { put(value); }
  void address(const char*, const void* value) { put(reinterpret_cast<uint64_t>(value)); }
  void result(const char*, const void*) { put(0); }
  void text(const char*, const char* value) { put(value == nullptr ? 0 : session_.texts().intern(value)); }
  void kernel() { put(kernel_text_); }
  void block(uint64_t x, uint64_t y, uint64_t z) {
    constexpr uint64_t kMost = (1u << 21) - 1;
    put(std::min(x, kMost) | std::min(y, kMost) << 21 | std::min(z, kMost) << 42);
  }
  void stream(const void* handle) { record_.stream = reinterpret_cast<uint64_t>(handle); }

 private:
  void put(uint64_t value) { record_.arguments[at_++] = value; }

  Session& session_;
  WavescopeCallRecord& record_;
  const uint64_t kernel_text_;
  int at_ = 0;
};

// Keeps what a successful call left.
class ExitArguments {
 public:
  explicit ExitArguments(WavescopeCallRecord& record) : slot_(record.arguments) {}

  void number(const char*, uint64_t) { ++slot_; }
  void address(const char*, const void*) { ++slot_; }
  void result(const char*, void* const* left) { *slot_++ = left == nullptr ? 0 : reinterpret_cast<uint64_t>(*left); }
  void text(const char*, const char*) { ++slot_; }
  void kernel() { ++slot_; }
  void block(uint64_t, uint64_t, uint64_t) { ++slot_; }
  void stream(const void*) {}

 private:
  uint64_t* slot_;
};

}  // namespace wavescope::cupti

#endif
