// Texts numbered in order of first appearance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace wavescope::chrome_json {

class StringTable {
 public:
  // Hashes are seeded so that no file can be written to make them collide.
  explicit StringTable(uint64_t seed) : seed_(seed) {}

  // The code of `text`, -1 when it is not in the table.
  int32_t find(std::string_view text) const;
  // The code of `text`, added when new. Throws std::bad_alloc, std::length_error.
  int32_t intern(std::string_view text);
  // The same, trying the code `hint` first: for columns in which a value mostly repeats.
  int32_t intern(std::string_view text, int32_t hint);

  std::string_view at(int32_t code) const { return texts_[static_cast<size_t>(code)]; }

  // Concatenates the texts added since the last call into `blob` and where each ends into `ends`.
  void take_new(std::string& blob, std::vector<int64_t>& ends);

 private:
  struct Slot {
    uint32_t hash;
    int32_t code;
  };

  uint64_t hash_of(std::string_view text) const;
  size_t slot_of(std::string_view text, uint64_t hash) const;
  std::string_view store(std::string_view text);
  void grow();

  uint64_t seed_;
  std::vector<Slot> slots_;
  std::vector<std::string_view> texts_;
  std::vector<std::unique_ptr<char[]>> pages_;
  char* page_at_ = nullptr;
  size_t page_left_ = 0;
  size_t taken_ = 0;
};

}  // namespace wavescope::chrome_json
