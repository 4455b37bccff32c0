// Reads protobuf fields from bytes that may be damaged: every read is checked against the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wavescope {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;              // of numbers
  const std::uint8_t* bytes = nullptr;  // of length-delimited fields
  std::size_t size = 0;
};

class WireReader {
 public:
  WireReader(const std::uint8_t* data, std::size_t size) : position_(data), end_(data + size) {}

  bool at_end() const { return position_ == end_; }
  const std::uint8_t* position() const { return position_; }

  bool varint(std::uint64_t* value) {
    *value = 0;
    for (unsigned shift = 0; shift < 64 && position_ != end_; shift += 7) {
      const std::uint8_t byte = *position_++;
      *value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80U) {
        return true;
      }
    }
    return false;
  }

  // The next field; false at damaged bytes. Call only when not at the end.
  bool next(Field* field) {
    std::uint64_t tag = 0;
    if (!varint(&tag) || (tag >> 3U) == 0 || (tag >> 3U) > 0x1FFFFFFFU) {
      return false;
    }
    field->number = static_cast<std::uint32_t>(tag >> 3U);
    switch (tag & 7U) {
      case 0: field->type = WireType::kVarint; return varint(&field->value);
      case 1: field->type = WireType::kFixed64; return fixed(8, &field->value);
      case 2: field->type = WireType::kLength; return length(field);
      case 5: field->type = WireType::kFixed32; return fixed(4, &field->value);
      default: return false;
    }
  }

 private:
  std::size_t left() const { return static_cast<std::size_t>(end_ - position_); }

  bool fixed(std::size_t size, std::uint64_t* value) {
    if (left() < size) {
      return false;
    }
    *value = 0;
    for (std::size_t at = 0; at < size; ++at) {
      *value |= static_cast<std::uint64_t>(position_[at]) << (8 * at);
    }
    position_ += size;
    return true;
  }

  bool length(Field* field) {
    std::uint64_t size = 0;
    if (!varint(&size) || size > left()) {
      return false;
    }
    field->bytes = position_;
    field->size = static_cast<std::size_t>(size);
    position_ += field->size;
    return true;
  }

  const std::uint8_t* position_;
  const std::uint8_t* end_;
};

}  // namespace wavescope
