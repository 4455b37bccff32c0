// The facts of GPUs, as a driver that is played here tells them.
#include <cstdint>
#include <cstring>

#include "check.h"
#include "collector_cupti/devices.h"
#include "core/session.h"
#include "recorded_session.h"

namespace wavescope::cupti {
namespace {

bool is_initialized = false;
constexpr int kNotInitialized = 3, kInvalidValue = 1;

int get_count(int* count) {
  *count = 3;
  return is_initialized ? 0 : kNotInitialized;
}

int get(int* device, int ordinal) {
  *device = 40 + ordinal;
  return ordinal == 1 ? kInvalidValue : 0;
}

int get_name(char* name, int bytes, int device) {
  std::strncpy(name, device == 40 ? "NVIDIA H200" : "NVIDIA A10", static_cast<std::size_t>(bytes));
  return 0;
}

int get_uuid(DeviceUuid* uuid, int device) {
  for (int at = 0; at < 16; ++at) uuid->bytes[at] = static_cast<uint8_t>(device == 40 ? 0x11 * at : 255 - at);
  return 0;
}

int get_memory(std::size_t* bytes, int device) {
  *bytes = 150754820096;
  return device == 40 ? 0 : kInvalidValue;
}

int get_attribute(int* value, DeviceAttribute attribute, int device) {
  *value = -1;
  if (device != 40) return attribute == DeviceAttribute::kMultiprocessors ? 0 : kInvalidValue;
  switch (attribute) {
    case DeviceAttribute::kWarpSize: *value = 32; break;
    case DeviceAttribute::kClockKhz: *value = 1980000; break;
    case DeviceAttribute::kMultiprocessors: *value = 132; break;
    case DeviceAttribute::kPciBus: *value = 0x1b; break;
    case DeviceAttribute::kPciDevice: *value = 2; break;
    case DeviceAttribute::kMemoryClockKhz: *value = 3201000; break;
    case DeviceAttribute::kMemoryWidthBits: *value = 6144; break;
    case DeviceAttribute::kCapabilityMajor: *value = 9; break;
    case DeviceAttribute::kCapabilityMinor: *value = 0; break;
  }
  return 0;
}

}  // namespace
}  // namespace wavescope::cupti

int main() {
  using namespace wavescope;
  using namespace wavescope::cupti;
  const RecordedSession recorded("standard");
  Devices devices(Session::current()->facts());
  const CudaDriver driver{get_count, get, get_name, get_uuid, get_memory, get_attribute};

  CHECK(!devices.describe());  // no libcuda in this process
  CHECK(!devices.describe(CudaDriver{}));
  CHECK(!devices.describe(driver));
  CHECK(recorded.facts("\"fact\":\"agent\"").empty());

  is_initialized = true;
  CHECK(devices.describe(driver));
  CHECK(devices.describe(driver));
  CHECK(devices.describe());
  const auto agents = recorded.facts("\"fact\":\"agent\"");
  CHECK(agents.size() == 2);
  CHECK(agents[0] == Fact("agent")
                         .add("gpu", 0)
                         .add("name", "sm_90")
                         .add("product", "NVIDIA H200")
                         .add("uuid", "GPU-00112233-4455-6677-8899-aabbccddeeff")
                         .add("cu_count", 132)
                         .add("clock_mhz", 1980)
                         .add("memory_clock_mhz", 3201)
                         .add("memory_width_bits", 6144)
                         .add("wave_size", 32)
                         .add("bdf", 0x1b10)
                         .add("memory_bytes", uint64_t{150754820096})
                         .line());
  CHECK(agents[1] == Fact("agent")
                         .add("gpu", 2)
                         .add("product", "NVIDIA A10")
                         .add("uuid", "GPU-fffefdfc-fbfa-f9f8-f7f6-f5f4f3f2f1f0")
                         .line());
  return 0;
}
