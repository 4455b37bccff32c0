#include "chrome_json/string_table.h"

#include <cstring>
#include <limits>
#include <stdexcept>

namespace wavescope::chrome_json {
namespace {

constexpr size_t kPageSize = 64 * 1024;
constexpr size_t kFirstSlots = 1024;

__extension__ using Wide = unsigned __int128;

uint64_t mix(uint64_t left, uint64_t right) {
  const Wide product = static_cast<Wide>(left) * right;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t word_at(const char* bytes, size_t size) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, size);
  return word;
}

}  // namespace

uint64_t StringTable::hash_of(std::string_view text) const {
  constexpr uint64_t first_factor = 0x9E3779B97F4A7C15U;
  constexpr uint64_t second_factor = 0xD1B54A32D192ED03U;
  const char* at = text.data();
  size_t left = text.size();
  uint64_t hash = seed_ ^ mix(static_cast<uint64_t>(left) + first_factor, second_factor);
  for (; left >= 16; at += 16, left -= 16) {
    hash = mix(word_at(at, 8) ^ first_factor ^ hash, word_at(at + 8, 8) ^ second_factor);
  }
  const uint64_t low = word_at(at, left < 8 ? left : 8);
  const uint64_t high = left > 8 ? word_at(at + 8, left - 8) : 0;
  return mix(mix(low ^ first_factor ^ hash, high ^ second_factor), second_factor);
}

size_t StringTable::slot_of(std::string_view text, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t index = static_cast<size_t>(hash) & mask;
  while (slots_[index].code >= 0) {
    if (slots_[index].hash == static_cast<uint32_t>(hash >> 32) && at(slots_[index].code) == text) break;
    index = (index + 1) & mask;
  }
  return index;
}

int32_t StringTable::find(std::string_view text) const {
  return slots_.empty() ? -1 : slots_[slot_of(text, hash_of(text))].code;
}

int32_t StringTable::intern(std::string_view text) {
  if (texts_.size() * 2 >= slots_.size()) grow();
  const uint64_t hash = hash_of(text);
  const size_t index = slot_of(text, hash);
  if (slots_[index].code >= 0) return slots_[index].code;
  if (texts_.size() >= static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    throw std::length_error("too many different texts");
  }
  texts_.push_back(store(text));
  const int32_t code = static_cast<int32_t>(texts_.size() - 1);
  slots_[index] = {static_cast<uint32_t>(hash >> 32), code};
  return code;
}

int32_t StringTable::intern(std::string_view text, int32_t hint) {
  return hint >= 0 && at(hint) == text ? hint : intern(text);
}

std::string_view StringTable::store(std::string_view text) {
  if (text.size() > page_left_) {
    const size_t size = text.size() > kPageSize / 4 ? text.size() : kPageSize;
    pages_.push_back(std::make_unique<char[]>(size));
    if (size != kPageSize) {
      std::memcpy(pages_.back().get(), text.data(), text.size());
      return {pages_.back().get(), text.size()};
    }
    page_at_ = pages_.back().get();
    page_left_ = size;
  }
  if (!text.empty()) std::memcpy(page_at_, text.data(), text.size());
  const std::string_view stored(page_at_, text.size());
  page_at_ += text.size();
  page_left_ -= text.size();
  return stored;
}

void StringTable::grow() {
  std::vector<Slot> larger(slots_.empty() ? kFirstSlots : slots_.size() * 2, Slot{0, -1});
  slots_.swap(larger);
  const size_t mask = slots_.size() - 1;
  for (size_t code = 0; code < texts_.size(); ++code) {
    const uint64_t hash = hash_of(texts_[code]);
    size_t index = static_cast<size_t>(hash) & mask;
    while (slots_[index].code >= 0) index = (index + 1) & mask;
    slots_[index] = {static_cast<uint32_t>(hash >> 32), static_cast<int32_t>(code)};
  }
}

void StringTable::take_new(std::string& blob, std::vector<int64_t>& ends) {
  blob.clear();
  ends.clear();
  for (; taken_ < texts_.size(); ++taken_) {
    blob.append(texts_[taken_]);
    ends.push_back(static_cast<int64_t>(blob.size()));
  }
}

}  // namespace wavescope::chrome_json
