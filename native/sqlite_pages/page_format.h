// The parts of the SQLite file format that reader and writer share (https://www.sqlite.org/fileformat2.html).
#ifndef WAVESCOPE_SQLITE_PAGE_FORMAT_H
#define WAVESCOPE_SQLITE_PAGE_FORMAT_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wavescope::sqlite_pages {

constexpr size_t kFileHeaderBytes = 100;
constexpr uint32_t kSmallestPage = 512;
constexpr uint32_t kLargestPage = 65536;
constexpr uint32_t kSmallestUsable = 480;
constexpr uint64_t kLargestPayload = 1'000'000'000;  // SQLITE_MAX_LENGTH as SQLite is usually built
constexpr uint64_t kPendingByte = 0x40000000;        // the page that holds it is never used
constexpr uint8_t kLeafTable = 0x0d;
constexpr uint8_t kInteriorTable = 0x05;
constexpr size_t kLeafHeaderBytes = 8;
constexpr size_t kInteriorHeaderBytes = 12;
constexpr size_t kReadSlack = 32;  // readable bytes behind every buffer, so that integers and headers load at once

inline uint32_t load_u16(const uint8_t* bytes) { return static_cast<uint32_t>(bytes[0]) << 8 | bytes[1]; }

inline uint32_t load_u32(const uint8_t* bytes) {
  return static_cast<uint32_t>(bytes[0]) << 24 | static_cast<uint32_t>(bytes[1]) << 16 |
         static_cast<uint32_t>(bytes[2]) << 8 | bytes[3];
}

inline uint64_t load_u64(const uint8_t* bytes) { return static_cast<uint64_t>(load_u32(bytes)) << 32 | load_u32(bytes + 4); }

inline void store_u16(uint8_t* bytes, size_t value) {
  bytes[0] = static_cast<uint8_t>(value >> 8);
  bytes[1] = static_cast<uint8_t>(value);
}

inline void store_u32(uint8_t* bytes, uint32_t value) {
  store_u16(bytes, value >> 16);
  store_u16(bytes + 2, value & 0xffff);
}

// The byte after the varint at `bytes`, or nullptr when it does not end before `end`.
inline const uint8_t* read_varint(const uint8_t* bytes, const uint8_t* end, uint64_t& value) {
  uint64_t result = 0;
  for (int index = 0; index < 8; ++index) {
    if (bytes >= end) return nullptr;
    const uint8_t byte = *bytes++;
    result = result << 7 | (byte & 0x7f);
    if (byte < 0x80) {
      value = result;
      return bytes;
    }
  }
  if (bytes >= end) return nullptr;
  value = result << 8 | *bytes;
  return bytes + 1;
}

inline size_t varint_bytes(uint64_t value) {
  if (value >> 56 != 0) return 9;
  size_t count = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++count;
  }
  return count;
}

// Writes `value` and returns the byte after it.
inline uint8_t* write_varint(uint8_t* bytes, uint64_t value) {
  if (value < 0x80) {
    *bytes = static_cast<uint8_t>(value);
    return bytes + 1;
  }
  const size_t count = varint_bytes(value);
  size_t index = count;
  if (count == 9) {
    bytes[--index] = static_cast<uint8_t>(value);
    value >>= 8;
    while (index > 0) {
      bytes[--index] = static_cast<uint8_t>(value | 0x80);
      value >>= 7;
    }
    return bytes + count;
  }
  bytes[--index] = static_cast<uint8_t>(value & 0x7f);
  while (index > 0) {
    value >>= 7;
    bytes[--index] = static_cast<uint8_t>(value | 0x80);
  }
  return bytes + count;
}

// How much of a record stays in the leaf; the rest goes to overflow pages.
struct PayloadSplit {
  uint64_t largest_local = 0;
  uint64_t smallest_local = 0;
  uint64_t overflow_bytes = 0;  // of payload per overflow page

  PayloadSplit() = default;
  explicit PayloadSplit(uint32_t usable)
      : largest_local(usable - 35), smallest_local((usable - 12) * 32 / 255 - 23), overflow_bytes(usable - 4) {}

  uint64_t local(uint64_t payload) const {
    if (payload <= largest_local) return payload;
    const uint64_t wanted = smallest_local + (payload - smallest_local) % overflow_bytes;
    return wanted <= largest_local ? wanted : smallest_local;
  }
};

struct FileHeader {
  uint32_t page_bytes = 0;
  uint32_t usable_bytes = 0;
  uint32_t write_version = 0;
  uint32_t read_version = 0;
  uint32_t change_counter = 0;
  uint32_t page_count = 0;
  uint32_t first_freelist_page = 0;
  uint32_t freelist_pages = 0;
  uint32_t schema_format = 0;
  uint32_t largest_root = 0;  // nonzero with auto_vacuum
  uint32_t encoding = 0;
  uint32_t version_valid_for = 0;
};

// False when these are not the first bytes of a SQLite file.
inline bool parse_file_header(const uint8_t* bytes, FileHeader& header) {
  if (std::memcmp(bytes, "SQLite format 3", 16) != 0) return false;
  const uint32_t stored = load_u16(bytes + 16);
  header.page_bytes = stored == 1 ? kLargestPage : stored;
  const bool power_of_two = (header.page_bytes & (header.page_bytes - 1)) == 0;
  if (header.page_bytes < kSmallestPage || !power_of_two) return false;
  header.usable_bytes = header.page_bytes - bytes[20];
  if (header.usable_bytes < kSmallestUsable) return false;
  if (bytes[21] != 64 || bytes[22] != 32 || bytes[23] != 32) return false;
  header.write_version = bytes[18];
  header.read_version = bytes[19];
  header.change_counter = load_u32(bytes + 24);
  header.page_count = load_u32(bytes + 28);
  header.first_freelist_page = load_u32(bytes + 32);
  header.freelist_pages = load_u32(bytes + 36);
  header.schema_format = load_u32(bytes + 44);
  header.largest_root = load_u32(bytes + 52);
  header.encoding = load_u32(bytes + 56);
  header.version_valid_for = load_u32(bytes + 92);
  return true;
}

}  // namespace wavescope::sqlite_pages

#endif
