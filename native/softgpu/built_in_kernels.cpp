#include "softgpu/built_in_kernels.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace softgpu {

namespace {

// The kernel's arguments by their offsets, and host pointers for the addresses among them.
class Arguments {
 public:
  Arguments(const DispatchPacket& dispatch, const Memory& memory)
      : first_(reinterpret_cast<const char*>(memory.translate(dispatch.kernel_arguments))), memory_(memory) {}

  template <class Value>
  Value get(size_t offset) const {
    Value value;
    std::memcpy(&value, first_ + offset, sizeof value);
    return value;
  }

  uint64_t word(size_t offset) const { return get<uint64_t>(offset); }

  char* pointer(uint64_t address) const {
    return reinterpret_cast<char*>(memory_.translate(static_cast<uintptr_t>(address)));
  }

 private:
  const char* first_;
  const Memory& memory_;
};

// HIP 5: (source, destination, source start, destination start, units of 4 bytes, bytes of the last unit)
// HIP 6: (source, destination, bytes, bytes after the last unit, bytes of a unit, end of whole units, stride)
BuiltInOutcome copy_bytes(const DispatchPacket& dispatch, const Memory& memory) {
  const Arguments arguments(dispatch, memory);
  const bool is_of_hip6 = arguments.word(32) == arguments.word(8) + arguments.word(16) - arguments.get<uint32_t>(24);
  if (is_of_hip6) {
    std::memmove(arguments.pointer(arguments.word(8)), arguments.pointer(arguments.word(0)), arguments.word(16));
    return BuiltInOutcome::done;
  }
  const uint64_t bytes = (arguments.word(32) - 1) * 4 + arguments.get<uint32_t>(40);
  std::memmove(arguments.pointer(arguments.word(8) + arguments.word(24)),
               arguments.pointer(arguments.word(0) + arguments.word(16)), bytes);
  return BuiltInOutcome::done;
}

// (source, destination, source start, destination start, units, bytes of a unit)
BuiltInOutcome copy_units(const DispatchPacket& dispatch, const Memory& memory) {
  const Arguments arguments(dispatch, memory);
  const uint64_t unit = arguments.get<uint32_t>(40);
  std::memmove(arguments.pointer(arguments.word(8) + arguments.word(24) * unit),
               arguments.pointer(arguments.word(0) + arguments.word(16) * unit), arguments.word(32) * unit);
  return BuiltInOutcome::done;
}

// {row pitch, slice pitch, start} of both sides, then {width, height, depth, bytes of a unit}
BuiltInOutcome copy_box(const DispatchPacket& dispatch, const Memory& memory) {
  struct Four {
    uint64_t x, y, z, w;
  };
  const Arguments arguments(dispatch, memory);
  const auto from = arguments.get<Four>(32);
  const auto to = arguments.get<Four>(64);
  const auto size = arguments.get<Four>(96);
  for (uint64_t slice = 0; slice < size.z; ++slice) {
    for (uint64_t row = 0; row < size.y; ++row) {
      const uint64_t source = from.z + slice * from.y + row * from.x;
      const uint64_t target = to.z + slice * to.y + row * to.x;
      std::memmove(arguments.pointer(arguments.word(8) + target * size.w),
                   arguments.pointer(arguments.word(0) + source * size.w), size.x * size.w);
    }
  }
  return BuiltInOutcome::done;
}

struct FillShape {
  uint64_t columns, rows, pitch;
};

// Four pointers, of 1, 2, 4 and 8 byte units, of which one is set; pattern, its units, start.
void fill(const Arguments& arguments, FillShape shape) {
  for (size_t width = 0; width < 4; ++width) {
    const uint64_t buffer = arguments.word(8 * width);
    if (!buffer) continue;
    const uint64_t unit = uint64_t{1} << width;
    const uint64_t pattern_bytes = arguments.get<uint32_t>(40) * unit;
    const char* pattern = arguments.pointer(arguments.word(32));
    for (uint64_t row = 0; row < shape.rows; ++row) {
      char* target = arguments.pointer(buffer + (arguments.word(48) + row * shape.pitch) * unit);
      for (uint64_t column = 0; column < shape.columns; ++column) {
        std::memcpy(target + column * pattern_bytes, pattern, pattern_bytes);
      }
    }
    return;
  }
}

// HIP 6: (destination, pattern, its units, bytes of a unit, end, stride)
void fill_to_end(const Arguments& arguments, uint64_t unit) {
  const uint64_t pattern_bytes = arguments.get<uint32_t>(16) * unit;
  const char* pattern = arguments.pointer(arguments.word(8));
  char* target = arguments.pointer(arguments.word(0));
  const uint64_t bytes = arguments.word(24) - arguments.word(0);
  for (uint64_t done = 0; pattern_bytes && done < bytes; done += pattern_bytes) {
    std::memcpy(target + done, pattern, std::min(pattern_bytes, bytes - done));
  }
}

BuiltInOutcome fill_line(const DispatchPacket& dispatch, const Memory& memory) {
  const Arguments arguments(dispatch, memory);
  // In HIP 5 this is the upper half of an address or 0.
  const uint32_t unit = arguments.get<uint32_t>(20);
  const bool is_of_hip6 = unit && unit <= 16 && (unit & (unit - 1)) == 0;
  if (is_of_hip6) {
    fill_to_end(arguments, unit);
    return BuiltInOutcome::done;
  }
  fill(arguments, {arguments.word(56), 1, 0});
  return BuiltInOutcome::done;
}

BuiltInOutcome fill_rectangle(const DispatchPacket& dispatch, const Memory& memory) {
  const Arguments arguments(dispatch, memory);
  fill(arguments, {arguments.word(56), arguments.word(64), arguments.word(72)});
  return BuiltInOutcome::done;
}

// (32 bit pointer or 0, 64 bit pointer or 0, value)
BuiltInOutcome write_value(const DispatchPacket& dispatch, const Memory& memory) {
  const Arguments arguments(dispatch, memory);
  const uint64_t value = arguments.word(16);
  if (const uint64_t narrow = arguments.word(0)) {
    auto* target = reinterpret_cast<uint32_t*>(arguments.pointer(narrow));
    __atomic_store_n(target, static_cast<uint32_t>(value), __ATOMIC_RELEASE);
  } else if (const uint64_t wide = arguments.word(8)) {
    __atomic_store_n(reinterpret_cast<uint64_t*>(arguments.pointer(wide)), value, __ATOMIC_RELEASE);
  }
  return BuiltInOutcome::done;
}

// (32 bit pointer or 0, 64 bit pointer or 0, value, comparison, mask)
BuiltInOutcome wait_for_value(const DispatchPacket& dispatch, const Memory& memory) {
  const Arguments arguments(dispatch, memory);
  const uint64_t value = arguments.word(16);
  const uint64_t mask = arguments.word(32);
  uint64_t found = 0;
  if (const uint64_t narrow = arguments.word(0)) {
    found = __atomic_load_n(reinterpret_cast<uint32_t*>(arguments.pointer(narrow)), __ATOMIC_ACQUIRE);
  } else if (const uint64_t wide = arguments.word(8)) {
    found = __atomic_load_n(reinterpret_cast<uint64_t*>(arguments.pointer(wide)), __ATOMIC_ACQUIRE);
  }
  found &= mask;
  bool is_met = false;
  switch (arguments.word(24)) {
    case 0: is_met = found >= value; break;
    case 1: is_met = found == value; break;
    case 2: is_met = (found & value) != 0; break;
    default: is_met = (~(found | value) & mask) != 0; break;
  }
  return is_met ? BuiltInOutcome::done : BuiltInOutcome::not_yet;
}

constexpr std::pair<std::string_view, BuiltIn> hip_kernels[] = {
    {"__amd_rocclr_copyBuffer", copy_bytes},       {"__amd_rocclr_copyBufferAligned", copy_units},
    {"__amd_rocclr_copyBufferRect", copy_box},     {"__amd_rocclr_copyBufferRectAligned", copy_box},
    {"__amd_rocclr_fillBufferAligned", fill_line}, {"__amd_rocclr_fillBufferAligned2D", fill_rectangle},
    {"__amd_rocclr_streamOpsWrite", write_value},  {"__amd_rocclr_streamOpsWait", wait_for_value},
};

// What ROCr's shaders get. A copy is cut into phases of different width, which are contiguous.
struct AlignedCopyArguments {
  uint64_t source, target, middle[4], last_source, last_target, source_end, target_end;
  uint32_t work_items;
};

struct MisalignedCopyArguments {
  uint64_t source, target, second_source, second_target, source_end, target_end;
  uint32_t work_items;
};

struct FillArguments {
  uint64_t target, second_target, target_end;
  uint32_t value, work_items;
};

}  // namespace

BuiltIn hip_built_in(std::string_view kernel_name) {
  for (const auto& [name, built_in] : hip_kernels) {
    if (name == kernel_name) return built_in;
  }
  return nullptr;
}

BuiltInOutcome run_rocr_shader(const DispatchPacket& dispatch, const Memory& memory) {
  if (!dispatch.kernel_arguments) return BuiltInOutcome::done;
  const Arguments arguments(dispatch, memory);
  const uint32_t items = dispatch.grid_size[0];
  const auto filled = arguments.get<FillArguments>(0);
  if (filled.work_items == items && filled.target <= filled.second_target && filled.second_target <= filled.target_end) {
    auto* target = reinterpret_cast<uint32_t*>(arguments.pointer(filled.target));
    std::fill_n(target, (filled.target_end - filled.target) / sizeof(uint32_t), filled.value);
    return BuiltInOutcome::done;
  }
  const auto aligned = arguments.get<AlignedCopyArguments>(0);
  const uint64_t distance = aligned.target - aligned.source;
  if (aligned.work_items == items && aligned.target_end - aligned.source_end == distance &&
      aligned.last_target - aligned.last_source == distance && aligned.source <= aligned.source_end) {
    std::memmove(arguments.pointer(aligned.target), arguments.pointer(aligned.source), aligned.source_end - aligned.source);
    return BuiltInOutcome::done;
  }
  const auto misaligned = arguments.get<MisalignedCopyArguments>(0);
  if (misaligned.work_items == items && misaligned.source <= misaligned.source_end &&
      misaligned.target_end - misaligned.source_end == misaligned.target - misaligned.source) {
    std::memmove(arguments.pointer(misaligned.target), arguments.pointer(misaligned.source),
                 misaligned.source_end - misaligned.source);
  }
  return BuiltInOutcome::done;
}

}  // namespace softgpu
