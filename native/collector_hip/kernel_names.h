// Kernel names by the address that launches them: a host stub or a hipFunction_t.
#ifndef WAVESCOPE_COLLECTOR_HIP_KERNEL_NAMES_H
#define WAVESCOPE_COLLECTOR_HIP_KERNEL_NAMES_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace wavescope::hip {

// A hash table of a fixed size that is read without a lock. When it is full, further names are asked for each time.
class KernelNames {
 public:
  // The text id that was learned for the address; 0 when it is not known.
  uint64_t find(const void* address) const;
  // Asks the HIP runtime and learns the answer; 0 when it has none.
  uint64_t learn_stub(const void* address, void* stream);
  uint64_t learn_function(void* address);

  // A module was unloaded, so that an address may come to mean another kernel; or texts have other ids.
  void forget();

 private:
  static constexpr std::size_t kPlaces = 1u << 14;
  static constexpr std::size_t kMostUsed = kPlaces / 4 * 3;

  struct Place {
    std::atomic<const void*> address;
    std::atomic<uint64_t> text;
  };

  static std::size_t first_place(const void* address) {
    return (reinterpret_cast<uint64_t>(address) * 0x9e3779b97f4a7c15u) >> 50;  // the upper 14 bits
  }
  uint64_t learn(const void* address, const char* name, uint64_t generation);

  std::mutex mutex_;
  std::atomic<uint64_t> generation_{0};
  std::size_t used_ = 0;
  Place places_[kPlaces];
};

// The names of this process; never destroyed.
KernelNames& kernel_names();

}  // namespace wavescope::hip

#endif
