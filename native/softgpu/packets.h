// What runtimes and GPUs share in memory: AQL packets, signals, AMD's vendor packets.
// Declared here, so that the engine builds without the vendor's headers; a test compares them where there are any.
#ifndef WAVESCOPE_SOFTGPU_PACKETS_H
#define WAVESCOPE_SOFTGPU_PACKETS_H

#include <cstdint>

namespace softgpu {

enum class PacketType : uint8_t {
  vendor = 0,
  invalid = 1,
  kernel_dispatch = 2,
  barrier_and = 3,
  agent_dispatch = 4,
  barrier_or = 5,
};

struct DispatchPacket {
  uint16_t header;
  uint16_t setup;
  uint16_t workgroup_size[3];
  uint16_t reserved0;
  uint32_t grid_size[3];
  uint32_t private_segment_bytes;
  uint32_t group_segment_bytes;
  uint64_t kernel_object;
  uint64_t kernel_arguments;
  uint64_t reserved2;
  uint64_t completion_signal;
};

constexpr int barrier_signal_count = 5;

struct BarrierPacket {
  uint16_t header;
  uint16_t reserved0;
  uint32_t reserved1;
  uint64_t awaited_signal[barrier_signal_count];
  uint64_t reserved2;
  uint64_t completion_signal;
};

// A vendor packet of this format waits until (signal & mask) compares with value as asked.
constexpr uint8_t vendor_barrier_value = 2;

enum class Comparison : uint32_t { equal = 0, not_equal = 1, less = 2, greater_or_equal = 3 };

struct BarrierValuePacket {
  uint16_t header;
  uint8_t format;
  uint8_t reserved;
  uint32_t reserved0;
  uint64_t signal;
  int64_t value;
  int64_t mask;
  Comparison comparison;
  uint32_t reserved1;
  uint64_t reserved2;
  uint64_t reserved3;
  uint64_t completion_signal;
};

union Packet {
  DispatchPacket dispatch;
  BarrierPacket barrier;
  BarrierValuePacket barrier_value;
};

static_assert(sizeof(Packet) == 64);

inline PacketType packet_type(uint16_t header) { return static_cast<PacketType>(header & 0xff); }

// amd_signal_t: what a signal's handle points to.
struct Signal {
  int64_t kind;
  int64_t value;
  uint64_t event_mailbox;
  uint32_t event_id;
  uint32_t reserved1;
  uint64_t start_ticks;
  uint64_t end_ticks;
  uint64_t queue;
  uint32_t reserved3[2];
};

static_assert(sizeof(Signal) == 64);

// Bit of the queue's properties that asks for timestamps.
constexpr uint32_t queue_profiling_bit = 1U << 3;

// Reasons for which a queue stops; reported as bit (reason - 1).
enum class QueueError : uint32_t {
  illegal_instruction = 4,
  code_invalid = 18,
  packet_unsupported = 20,
  workgroup_size_invalid = 21,
};

}  // namespace softgpu

#endif
