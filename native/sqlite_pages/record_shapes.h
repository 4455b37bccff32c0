// Where the wanted values of a record lie, remembered by the record's header: most rows of a table share few headers.
#ifndef WAVESCOPE_SQLITE_RECORD_SHAPES_H
#define WAVESCOPE_SQLITE_RECORD_SHAPES_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

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
    Header header;
    if (entries_.empty() || !read_header(record, available, header)) return nullptr;
    const Entry& entry = entries_[place_of(header)];
    // Word by word: the arrays' own comparison is a call for each row.
    const bool same = entry.header[0] == header[0] && entry.header[1] == header[1];
    return same ? &entry.shape : nullptr;
  }

  void remember(const uint8_t* record, uint64_t available, const RecordShape& shape) {
    Header header;
    if (!read_header(record, available, header)) return;
    entries_.resize(kPlaces);  // at the first one: small tables do without
    entries_[place_of(header)] = {header, shape};
  }

 private:
  using Header = std::array<uint64_t, 2>;
  struct Entry {
    Header header{};  // its first byte is the header's length: all zero is none
    RecordShape shape;
  };
  static constexpr unsigned kPlaceBits = 10;
  static constexpr size_t kPlaces = size_t{1} << kPlaceBits;

  // Longer headers, and the few records too short to be loaded at once, are not remembered.
  static bool read_header(const uint8_t* record, uint64_t available, Header& header) {
    if (available < sizeof header || record[0] == 0 || record[0] > sizeof header) return false;
    std::memcpy(header.data(), record, sizeof header);
    const unsigned length = record[0];
    header[0] &= length >= 8 ? ~uint64_t{0} : first_bytes(length);
    header[1] &= length <= 8 ? 0 : first_bytes(length - 8);
    return true;
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
    return (header[0] * 0x9e3779b97f4a7c15u ^ header[1] * 0xc2b2ae3d27d4eb4fu) >> (64 - kPlaceBits);
  }

  std::vector<Entry> entries_;
};

}  // namespace wavescope::sqlite_pages

#endif
