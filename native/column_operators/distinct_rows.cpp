// Numbers distinct rows of integer columns with an open-addressing hash table; see column_operators.h.
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "column_operators/column_operators.h"

namespace {

constexpr int32_t kEmpty = -1;
constexpr std::size_t kFirstSlots = 1024;

// Whole columns of which one row at a time is looked at.
struct Row {
  const int64_t* const* columns;
  std::size_t column_count;
  std::size_t index = 0;

  int64_t value(std::size_t column) const { return columns[column][index]; }

  uint64_t hash() const {
    uint64_t hash = 0;
    for (std::size_t column = 0; column < column_count; ++column) {
      hash ^= static_cast<uint64_t>(value(column));
      hash *= 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    }
    return hash;
  }

  bool equals(const int64_t* values) const {
    for (std::size_t column = 0; column < column_count; ++column) {
      if (values[column] != value(column)) return false;
    }
    return true;
  }
};

}  // namespace

struct WavescopeDistinctRows {
  explicit WavescopeDistinctRows(std::size_t columns) : column_count(columns), slots(kFirstSlots, kEmpty) {}

  std::size_t column_count;
  std::vector<int64_t> values;  // the distinct rows, one after another
  std::vector<uint64_t> hashes;
  std::vector<int32_t> slots;

  // Where the number of `row` is, or where to put it.
  int32_t& slot_of(uint64_t hash, const Row& row) {
    const std::size_t mask = slots.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
      int32_t& slot = slots[at];
      if (slot == kEmpty) return slot;
      const auto number = static_cast<std::size_t>(slot);
      if (hashes[number] == hash && row.equals(values.data() + number * column_count)) return slot;
    }
  }

  int32_t add(uint64_t hash, const Row& row) {
    const auto number = static_cast<int32_t>(hashes.size());
    hashes.push_back(hash);
    for (std::size_t column = 0; column < column_count; ++column) values.push_back(row.value(column));
    return number;
  }

  void grow() {
    slots.assign(slots.size() * 2, kEmpty);
    const std::size_t mask = slots.size() - 1;
    for (std::size_t number = 0; number < hashes.size(); ++number) {
      std::size_t at = hashes[number] & mask;
      while (slots[at] != kEmpty) at = (at + 1) & mask;
      slots[at] = static_cast<int32_t>(number);
    }
  }
};

WavescopeDistinctRows* wavescope_distinct_rows_open(int64_t columns) {
  try {
    return new WavescopeDistinctRows(static_cast<std::size_t>(columns));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void wavescope_distinct_rows_close(WavescopeDistinctRows* distinct) { delete distinct; }

int64_t wavescope_distinct_rows_number(WavescopeDistinctRows* distinct, int64_t rows, const int64_t* const* columns,
                                       int32_t* number, int64_t* first) {
  try {
    int64_t added = 0;
    Row row{columns, distinct->column_count};
    for (; row.index < static_cast<std::size_t>(rows); ++row.index) {
      const uint64_t hash = row.hash();
      int32_t& slot = distinct->slot_of(hash, row);
      if (slot == kEmpty) {
        slot = distinct->add(hash, row);
        number[row.index] = slot;
        first[added++] = static_cast<int64_t>(row.index);
        if (distinct->hashes.size() * 2 > distinct->slots.size()) distinct->grow();
      } else {
        number[row.index] = slot;
      }
    }
    return added;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}
