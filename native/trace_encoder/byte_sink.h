// Writes bytes and numbers one after another into a buffer whose size was checked before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wavescope {

inline std::size_t varint_size(std::uint64_t value) {
  std::size_t size = 1;
  while (value >= 0x80U) {
    value >>= 7U;
    ++size;
  }
  return size;
}

inline std::size_t decimal_size(std::int64_t value) {
  std::uint64_t rest = static_cast<std::uint64_t>(value);
  std::size_t size = 1;
  if (value < 0) {
    rest = std::uint64_t{0} - rest;
    ++size;
  }
  for (; rest >= 10U; rest /= 10U) {
    ++size;
  }
  return size;
}

class ByteSink {
 public:
  explicit ByteSink(std::uint8_t* position) : position_(position) {}

  std::uint8_t* position() const { return position_; }

  void byte(std::uint8_t value) { *position_++ = value; }

  void bytes(const std::uint8_t* source, std::size_t size) {
    if (size != 0) {
      std::memcpy(position_, source, size);
      position_ += size;
    }
  }

  template <std::size_t Size>
  void literal(const char (&text)[Size]) {
    std::memcpy(position_, text, Size - 1);
    position_ += Size - 1;
  }

  void varint(std::uint64_t value) {
    while (value >= 0x80U) {
      byte(static_cast<std::uint8_t>(value | 0x80U));
      value >>= 7U;
    }
    byte(static_cast<std::uint8_t>(value));
  }

  void fixed64(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      byte(static_cast<std::uint8_t>(value >> static_cast<unsigned>(shift)));
    }
  }

  void decimal(std::uint64_t value) {
    std::uint8_t digits[20];
    std::size_t count = 0;
    do {
      digits[count++] = static_cast<std::uint8_t>('0' + value % 10U);
      value /= 10U;
    } while (value != 0);
    while (count != 0) {
      byte(digits[--count]);
    }
  }

  void signed_decimal(std::int64_t value) {
    if (value < 0) {
      byte('-');
      decimal(std::uint64_t{0} - static_cast<std::uint64_t>(value));
    } else {
      decimal(static_cast<std::uint64_t>(value));
    }
  }

  // Nanoseconds as microseconds with three decimals.
  void microseconds(std::uint64_t nanoseconds) {
    decimal(nanoseconds / 1000U);
    const std::uint64_t rest = nanoseconds % 1000U;
    byte('.');
    byte(static_cast<std::uint8_t>('0' + rest / 100U));
    byte(static_cast<std::uint8_t>('0' + rest / 10U % 10U));
    byte(static_cast<std::uint8_t>('0' + rest % 10U));
  }

 private:
  std::uint8_t* position_;
};

// bytes[offsets[index] .. offsets[index + 1]]
struct Span {
  const std::uint8_t* data;
  std::size_t size;

  static Span of(const std::uint8_t* bytes, const std::int64_t* offsets, std::int64_t index) {
    return {bytes + offsets[index], static_cast<std::size_t>(offsets[index + 1] - offsets[index])};
  }
};

}  // namespace wavescope
