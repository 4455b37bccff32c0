#include "collector_cupti/devices.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>

#include "core/next_symbol.h"

namespace wavescope::cupti {
namespace {

constexpr int kSuccess = 0;
constexpr const char* kDriverLibrary = "libcuda.so.1";

template <typename Function>
void take(void* library, const char* symbol, Function& function) {
  if (void* found = linker_dlsym()(library, symbol)) function = reinterpret_cast<Function>(found);
}

// As nvidia-smi writes it.
std::string text_of(const DeviceUuid& uuid) {
  std::string text = "GPU";
  for (int at = 0; at < 16; ++at) {
    char digits[4];
    const bool begins_group = at == 0 || at == 4 || at == 6 || at == 8 || at == 10;
    std::snprintf(digits, sizeof digits, begins_group ? "-%02x" : "%02x", uuid.bytes[at]);
    text += digits;
  }
  return text;
}

// 0 when it is not known.
uint32_t attribute_of(const CudaDriver& driver, DeviceAttribute attribute, int device) {
  int value = 0;
  if (driver.device_get_attribute == nullptr) return 0;
  if (driver.device_get_attribute(&value, attribute, device) != kSuccess || value < 0) return 0;
  return static_cast<uint32_t>(value);
}

}  // namespace

CudaDriver CudaDriver::of_process() {
  CudaDriver driver;
  void* library = dlopen(kDriverLibrary, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return driver;
  take(library, "cuDeviceGetCount", driver.device_get_count);
  take(library, "cuDeviceGet", driver.device_get);
  take(library, "cuDeviceGetName", driver.device_get_name);
  take(library, "cuDeviceGetUuid", driver.device_get_uuid);
  take(library, "cuDeviceGetUuid_v2", driver.device_get_uuid);  // tells the parts of a divided GPU apart
  take(library, "cuDeviceTotalMem_v2", driver.device_total_memory);
  take(library, "cuDeviceGetAttribute", driver.device_get_attribute);
  dlclose(library);  // the process has it loaded by itself
  return driver;
}

bool Devices::describe(const CudaDriver& driver) {
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || is_done()) return is_done();
  int count = 0;
  if (driver.device_get_count == nullptr || driver.device_get == nullptr) return false;
  if (driver.device_get_count(&count) != kSuccess) return false;
  for (int ordinal = 0; ordinal < count; ++ordinal) describe_one(driver, ordinal);
  count_.store(static_cast<uint32_t>(std::max(count, 0)));
  is_done_.store(true, std::memory_order_release);
  return true;
}

void Devices::describe_one(const CudaDriver& driver, int ordinal) {
  int device = 0;
  if (driver.device_get(&device, ordinal) != kSuccess) return;
  Fact fact("agent");
  fact.add("gpu", ordinal);
  const auto attribute = [&](DeviceAttribute wanted) { return attribute_of(driver, wanted, device); };
  const auto add_known = [&](const char* member, uint64_t value) {
    if (value != 0) fact.add(member, value);
  };
  if (const uint32_t major = attribute(DeviceAttribute::kCapabilityMajor)) {
    fact.add("name", "sm_" + std::to_string(major) + std::to_string(attribute(DeviceAttribute::kCapabilityMinor)));
  }
  char name[256] = {};
  if (driver.device_get_name != nullptr && driver.device_get_name(name, sizeof name - 1, device) == kSuccess) {
    fact.add("product", std::string_view(name, strnlen(name, sizeof name)));
  }
  DeviceUuid uuid{};
  if (driver.device_get_uuid != nullptr && driver.device_get_uuid(&uuid, device) == kSuccess)
    fact.add("uuid", text_of(uuid));
  add_known("cu_count", attribute(DeviceAttribute::kMultiprocessors));
  add_known("clock_mhz", attribute(DeviceAttribute::kClockKhz) / 1000);
  add_known("memory_clock_mhz", attribute(DeviceAttribute::kMemoryClockKhz) / 1000);
  add_known("memory_width_bits", attribute(DeviceAttribute::kMemoryWidthBits));
  add_known("wave_size", attribute(DeviceAttribute::kWarpSize));
  add_known("bdf", attribute(DeviceAttribute::kPciBus) << 8 | attribute(DeviceAttribute::kPciDevice) << 3);
  std::size_t memory_bytes = 0;
  if (driver.device_total_memory != nullptr && driver.device_total_memory(&memory_bytes, device) == kSuccess) {
    add_known("memory_bytes", memory_bytes);
  }
  facts_.append(fact);
}

}  // namespace wavescope::cupti
