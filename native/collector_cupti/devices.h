// The GPUs of the process as the CUDA driver describes them, each told to the session once.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_DEVICES_H
#define WAVESCOPE_COLLECTOR_CUPTI_DEVICES_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "core/facts_log.h"

namespace wavescope::cupti {

// Attributes of cuDeviceGetAttribute.
enum class DeviceAttribute : uint32_t {
  kWarpSize = 10,
  kClockKhz = 13,
  kMultiprocessors = 16,
  kPciBus = 33,
  kPciDevice = 34,
  kMemoryClockKhz = 36,
  kMemoryWidthBits = 37,
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
};

struct DeviceUuid {
  uint8_t bytes[16];
};

// What is used of libcuda; any may be null. They return 0 when it went well.
struct CudaDriver {
  int (*device_get_count)(int* count) = nullptr;
  int (*device_get)(int* device, int ordinal) = nullptr;
  int (*device_get_name)(char* name, int bytes, int device) = nullptr;
  int (*device_get_uuid)(DeviceUuid* uuid, int device) = nullptr;
  int (*device_total_memory)(std::size_t* bytes, int device) = nullptr;
  int (*device_get_attribute)(int* value, DeviceAttribute attribute, int device) = nullptr;

  // Of the libcuda that the process has loaded; all null when it has none.
  static CudaDriver of_process();
};

class Devices {
 public:
  explicit Devices(FactsLog& facts) : facts_(facts) {}
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  // Writes the facts of all GPUs; true when that is done or was done before, false as long as CUDA is not initialized, or
  // while another thread is at it. Calls the driver.
  bool describe() { return is_done() || describe(CudaDriver::of_process()); }
  bool describe(const CudaDriver& driver);

  bool is_done() const { return is_done_.load(std::memory_order_acquire); }
  // That have been described.
  uint32_t count() const { return count_.load(); }

 private:
  void describe_one(const CudaDriver& driver, int ordinal);

  FactsLog& facts_;
  std::mutex mutex_;  // of describing; never waited for, because the driver may wait for who would
  std::atomic<bool> is_done_{false};
  std::atomic<uint32_t> count_{0};
};

}  // namespace wavescope::cupti

#endif
