// Numbers distinct rows of integer columns with an open-addressing hash table; see trace_encoder.h.

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "trace_encoder/trace_encoder.h"

namespace {

constexpr std::int32_t kEmpty = -1;

std::uint64_t mixed(std::uint64_t hash, std::int64_t value) {
  hash ^= static_cast<std::uint64_t>(value);
  hash *= 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 32U);
}

}  // namespace

struct WavescopeDistinctRows {
  explicit WavescopeDistinctRows(std::size_t column_count) : columns(column_count), slots(1024, kEmpty) {}

  std::size_t columns;
  std::vector<std::int64_t> values;  // the distinct rows, one after another
  std::vector<std::uint64_t> hashes;
  std::vector<std::int32_t> slots;

  std::int32_t* slot_of(std::uint64_t hash, const std::int64_t* row) {
    const std::size_t mask = slots.size() - 1;
    for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
      const std::int32_t number = slots[at];
      if (number == kEmpty) {
        return &slots[at];
      }
      const auto index = static_cast<std::size_t>(number);
      if (hashes[index] == hash && std::equal(row, row + columns, values.data() + index * columns)) {
        return &slots[at];
      }
    }
  }

  void grow() {
    slots.assign(slots.size() * 2, kEmpty);
    const std::size_t mask = slots.size() - 1;
    for (std::size_t number = 0; number < hashes.size(); ++number) {
      std::size_t at = hashes[number] & mask;
      while (slots[at] != kEmpty) {
        at = (at + 1) & mask;
      }
      slots[at] = static_cast<std::int32_t>(number);
    }
  }
};

extern "C" WavescopeDistinctRows* wavescope_distinct_rows_open(std::int64_t columns) {
  try {
    return new WavescopeDistinctRows(static_cast<std::size_t>(columns));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

extern "C" void wavescope_distinct_rows_close(WavescopeDistinctRows* distinct) { delete distinct; }

extern "C" std::int64_t wavescope_distinct_rows_number(WavescopeDistinctRows* distinct, std::int64_t rows,
                                                       const std::int64_t* const* columns, std::int32_t* number,
                                                       std::int64_t* first) {
  try {
    std::int64_t added = 0;
    std::vector<std::int64_t> row_values(distinct->columns);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::uint64_t hash = 0;
      for (std::size_t column = 0; column < distinct->columns; ++column) {
        row_values[column] = columns[column][row];
        hash = mixed(hash, row_values[column]);
      }
      std::int32_t* slot = distinct->slot_of(hash, row_values.data());
      if (*slot == kEmpty) {
        *slot = static_cast<std::int32_t>(distinct->hashes.size());
        number[row] = *slot;
        distinct->hashes.push_back(hash);
        distinct->values.insert(distinct->values.end(), row_values.begin(), row_values.end());
        first[added++] = row;
        if (distinct->hashes.size() * 2 > distinct->slots.size()) {
          distinct->grow();
        }
      } else {
        number[row] = *slot;
      }
    }
    return added;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}
