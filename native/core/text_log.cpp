#include "core/text_log.h"

#include <cstring>
#include <new>

#include "core/spare_memory.h"
#include "format/chunk_format.h"

namespace wavescope {
namespace {

constexpr std::size_t kLongestText = 65536;
constexpr uint64_t kMostRememberedBytes = uint64_t{64} << 20;
constexpr std::size_t kBytesPerEntry = 96;  // of the hash table, about

}  // namespace

TextLog::TextLog(const std::string& path, ByteBudget& budget)
    : log_(path, budget, WhenCut::kEnds, ByteBudget::Lasting::kText) {}

uint64_t TextLog::refused() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return refused_;
}

Refusal TextLog::refusal() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return refusal_;
}

uint64_t TextLog::intern(std::string_view text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  try {
    return known_or_written(text.substr(0, kLongestText));
  } catch (const std::bad_alloc&) {
    ++refused_;
    refusal_ = Refusal::kNoMemory;
    return 0;
  }
}

uint64_t TextLog::known_or_written(std::string_view text) {
  std::string key(text);
  const auto known = ids_.find(key);
  if (known != ids_.end()) return known->second;
  const uint64_t id = write(text);
  if (id == 0) {
    ++refused_;
    refusal_ = log_.refusal();
  } else if (remembered_bytes_ < kMostRememberedBytes && !spare_memory.is_in_use()) {
    remembered_bytes_ += text.size() + kBytesPerEntry;
    ids_.emplace(std::move(key), id);
  }
  return id;
}

uint64_t TextLog::write(std::string_view text) {
  const WavescopeTextEntry head{last_id_ + 1, text.size()};
  entry_.assign(sizeof head + (text.size() + 7) / 8 * 8, '\0');
  std::memcpy(entry_.data(), &head, sizeof head);
  std::memcpy(entry_.data() + sizeof head, text.data(), text.size());
  if (!log_.append(entry_.data(), entry_.size())) return 0;
  return ++last_id_;
}

}  // namespace wavescope
