// Where the wanted values of a record lie, remembered by the record's header: most rows of a table share few headers.
#ifndef WAVESCOPE_SQLITE_RECORD_SHAPES_H
#define WAVESCOPE_SQLITE_RECORD_SHAPES_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "sqlite_pages/page_format.h"

namespace wavescope::sqlite_pages {

struct StoredValue {
  uint32_t offset = 0;  // from the start of the record
  uint32_t bytes = 0;
  uint32_t type = 0;  // serial type; 0 also for a column that the record is too short to have
  // For the integers of integer columns, nearly all there is in a trace, one formula for stored numbers and for those
  // that the type alone says: ((eight bytes at the offset >> shift) & mask) + constant. Rows mix them at random.
  bool is_integer = false;
  uint8_t shift = 0;
  int64_t mask = 0;
  int64_t constant = 0;
};

// The same once more for records of which all wanted values are integers: those to load apart from those that the header
// says, of which there are often more.
struct LoadedInteger {
  uint32_t offset;
  uint32_t shift;
  size_t column;
};
struct ImpliedInteger {
  int64_t value;
  size_t column;
};

struct RecordShape {
  uint64_t end = 0;                 // behind the last wanted value, and so behind the header
  uint64_t most_behind = 0;         // so many bytes of the record may follow at most
  std::vector<StoredValue> values;  // one for each wanted column, in record order
  bool has_only_integers = false;
  std::vector<LoadedInteger> loaded;
  std::vector<ImpliedInteger> implied;
};

class RecordShapes {
 public:
  using Header = std::array<uint64_t, 4>;
  struct Entry {
    Header header{};  // its first byte is the header's length: all zero is none
    RecordShape shape;

    // `kReadSlack` bytes behind the record are readable, however short it is.
    bool is_of(const uint8_t* record) const {
      const Header& mask = kMasks[length()];
      const uint64_t first = (bytes_at(record, 0) & mask[0]) ^ header[0];
      const uint64_t second = (bytes_at(record, 1) & mask[1]) ^ header[1];
      if ((first | second) != 0) return false;
      if (length() <= kHalf) return true;
      const uint64_t third = (bytes_at(record, 2) & mask[2]) ^ header[2];
      const uint64_t fourth = (bytes_at(record, 3) & mask[3]) ^ header[3];
      return (third | fourth) == 0;
    }

   private:
    unsigned length() const {
      uint8_t first;
      std::memcpy(&first, header.data(), sizeof first);
      return first;
    }
  };

  // What is remembered of records with this one's header, nullptr if nothing is. `available` bytes are readable.
  const Entry* find(const uint8_t* record, uint64_t available) const {
    const unsigned length = record[0];
    if (entries_.empty() || length == 0 || length > sizeof(Header) || length > available) return nullptr;
    // Without branches and in registers: the arrays' own comparison is a call for each row.
    const uint64_t first = word(record, length, 0), second = word(record, length, 1);
    uint64_t third = 0, fourth = 0;
    if (length > kHalf) third = word(record, length, 2), fourth = word(record, length, 3);
    const Entry& entry = entries_[place_of(first, second, third, fourth)];
    const uint64_t difference =
        (entry.header[0] ^ first) | (entry.header[1] ^ second) | (entry.header[2] ^ third) | (entry.header[3] ^ fourth);
    return difference == 0 ? &entry : nullptr;
  }

  void remember(const uint8_t* record, uint64_t available, const RecordShape& shape) {
    const unsigned length = record[0];
    if (length == 0 || length > sizeof(Header) || length > available) return;
    const Header header = {word(record, length, 0), word(record, length, 1), word(record, length, 2),
                           word(record, length, 3)};
    entries_.resize(kPlaces);  // at the first one: small tables do without
    entries_[place_of(header[0], header[1], header[2], header[3])] = {header, shape};
  }

 private:
  static constexpr unsigned kPlaceBits = 10;
  static constexpr size_t kPlaces = size_t{1} << kPlaceBits;

  static constexpr unsigned kHalf = sizeof(Header) / 2;

  // Longer headers are not remembered. Shorter records may be loaded, too: kReadSlack bytes behind each can be read.
  static uint64_t word(const uint8_t* record, unsigned length, unsigned number) {
    static_assert(sizeof(Header) <= kReadSlack);
    return bytes_at(record, number) & kMasks[length][number];
  }

  static uint64_t bytes_at(const uint8_t* record, unsigned number) {
    uint64_t bytes;
    std::memcpy(&bytes, record + 8 * number, sizeof bytes);
    return bytes;
  }

  using Masks = std::array<Header, sizeof(Header) + 1>;

  // Of headers of each length the bytes that count in each of their words.
  static constexpr Masks masks() {
    Masks masks{};
    for (unsigned length = 0; length < masks.size(); ++length) {
      for (unsigned number = 0; number < masks[length].size(); ++number) {
        const unsigned begin = 8 * number;
        const unsigned count = length <= begin ? 0 : std::min(length - begin, 8u);
        masks[length][number] = first_bytes(count);
      }
    }
    return masks;
  }

  // A mask for the first 0 to 8 bytes in memory.
  static constexpr uint64_t first_bytes(unsigned count) {
    if (count == 0) return 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return ~uint64_t{0} >> (64 - 8 * count);
#else
    return ~uint64_t{0} << (64 - 8 * count);
#endif
  }

  static size_t place_of(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth) {
    const uint64_t mixed = (first * 0x9e3779b97f4a7c15u ^ second * 0xc2b2ae3d27d4eb4fu) ^
                           (third * 0x165667b19e3779f9u ^ fourth * 0x27d4eb2f165667c5u);
    return mixed >> (64 - kPlaceBits);
  }

  static const Masks kMasks;
  std::vector<Entry> entries_;
};

inline constexpr RecordShapes::Masks RecordShapes::kMasks = RecordShapes::masks();

}  // namespace wavescope::sqlite_pages

#endif
