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

struct RecordShape {
  uint64_t end = 0;                 // behind the last wanted value, and so behind the header
  uint64_t most_behind = 0;         // so many bytes of the record may follow at most
  std::vector<StoredValue> values;  // one for each wanted column, in record order
};

class RecordShapes {
 public:
  // The shape of records with this one's header, nullptr when it is not remembered. `available` bytes are readable.
  const RecordShape* find(const uint8_t* record, uint64_t available) const {
    Header header{};
    if (entries_.empty() || !read_header(record, available, header)) return nullptr;
    const Entry& entry = entries_[place_of(header)];
    // Without branches and in registers: the arrays' own comparison is a call for each row.
    const uint64_t difference = (entry.header[0] ^ header[0]) | (entry.header[1] ^ header[1]) |
                                (entry.header[2] ^ header[2]) | (entry.header[3] ^ header[3]);
    return difference == 0 ? &entry.shape : nullptr;
  }

  void remember(const uint8_t* record, uint64_t available, const RecordShape& shape) {
    Header header{};
    if (!read_header(record, available, header)) return;
    entries_.resize(kPlaces);  // at the first one: small tables do without
    entries_[place_of(header)] = {header, shape};
  }

 private:
  using Header = std::array<uint64_t, 4>;
  struct Entry {
    Header header{};  // its first byte is the header's length: all zero is none
    RecordShape shape;
  };
  static constexpr unsigned kPlaceBits = 10;
  static constexpr size_t kPlaces = size_t{1} << kPlaceBits;

  // Longer headers are not remembered. Shorter records may be loaded, too: kReadSlack bytes behind each can be read.
  static bool read_header(const uint8_t* record, uint64_t available, Header& header) {
    static_assert(sizeof header <= kReadSlack);
    constexpr unsigned kHalf = sizeof header / 2;
    const unsigned length = record[0];
    if (length == 0 || length > sizeof header || length > available) return false;
    std::memcpy(header.data(), record, kHalf);
    keep_first_bytes(header[0], header[1], std::min(length, kHalf));
    if (length <= kHalf) return true;
    std::memcpy(header.data() + 2, record + kHalf, kHalf);
    keep_first_bytes(header[2], header[3], length - kHalf);
    return true;
  }

  // Of two words as they lie in memory.
  static void keep_first_bytes(uint64_t& first, uint64_t& second, unsigned count) {
    first &= count >= 8 ? ~uint64_t{0} : first_bytes(count);
    second &= count <= 8 ? 0 : first_bytes(count - 8);
  }

  // A mask for the first 1 to 8 bytes in memory.
  static uint64_t first_bytes(unsigned count) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return ~uint64_t{0} >> (64 - 8 * count);
#else
    return ~uint64_t{0} << (64 - 8 * count);
#endif
  }

  static size_t place_of(const Header& header) {
    const uint64_t first = header[0] * 0x9e3779b97f4a7c15u ^ header[1] * 0xc2b2ae3d27d4eb4fu;
    const uint64_t second = header[2] * 0x165667b19e3779f9u ^ header[3] * 0x27d4eb2f165667c5u;
    return (first ^ second) >> (64 - kPlaceBits);
  }

  std::vector<Entry> entries_;
};

}  // namespace wavescope::sqlite_pages

#endif
