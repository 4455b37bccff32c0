// The runtimes' own kernels: arguments of HIP 5 and HIP 6, and addresses that only GPUs know.
#include <cstring>
#include <vector>

#include "check.h"
#include "softgpu/built_in_kernels.h"

using namespace softgpu;

namespace {

// Arguments of a kernel, laid out by hand.
class ArgumentBlock {
 public:
  template <class Value>
  ArgumentBlock& put(size_t offset, Value value) {
    std::memcpy(bytes_ + offset, &value, sizeof value);
    return *this;
  }
  DispatchPacket dispatch() const {
    DispatchPacket packet{};
    packet.kernel_arguments = reinterpret_cast<uint64_t>(bytes_);
    return packet;
  }

 private:
  alignas(8) char bytes_[256]{};
};

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void run(const char* name, const ArgumentBlock& arguments, const Memory& memory) {
  CHECK(hip_built_in(name)(arguments.dispatch(), memory) == BuiltInOutcome::done);
}

void test_copies_of_both_generations() {
  const Memory memory;
  const char source[] = "0123456789abcdefghi";
  std::vector<char> target(32, '-');
  ArgumentBlock of_hip5;  // 2 units of 4 bytes and 3 bytes, from 1 to 2
  of_hip5.put(0, address(source)).put(8, address(target.data())).put(16, uint64_t{1}).put(24, uint64_t{2});
  of_hip5.put(32, uint64_t{3}).put(40, uint32_t{3});
  run("__amd_rocclr_copyBuffer", of_hip5, memory);
  CHECK(std::memcmp(target.data(), "--123456789ab-", 14) == 0);

  target.assign(32, '-');
  ArgumentBlock of_hip6;  // 19 bytes: a unit of 16 and 3 more
  of_hip6.put(0, address(source)).put(8, address(target.data())).put(16, uint64_t{19}).put(24, uint32_t{3});
  of_hip6.put(28, uint32_t{16}).put(32, address(target.data() + 16)).put(40, uint32_t{64});
  run("__amd_rocclr_copyBuffer", of_hip6, memory);
  CHECK(std::memcmp(target.data(), "0123456789abcdefghi-", 20) == 0);
}

void test_fills_of_both_generations() {
  const Memory memory;
  const char pattern[] = "ab";
  std::vector<char> target(16, '-');
  ArgumentBlock of_hip5;  // units of 2 bytes, from the first on, 3 of them
  of_hip5.put(8, address(target.data())).put(32, address(pattern)).put(40, uint32_t{1}).put(48, uint64_t{1});
  of_hip5.put(56, uint64_t{3});
  run("__amd_rocclr_fillBufferAligned", of_hip5, memory);
  CHECK(std::memcmp(target.data(), "--ababab-", 9) == 0);

  target.assign(16, '-');
  ArgumentBlock of_hip6;  // 5 bytes, with half a pattern at the end
  of_hip6.put(0, address(target.data())).put(8, address(pattern)).put(16, uint32_t{2}).put(20, uint32_t{1});
  of_hip6.put(24, address(target.data() + 5)).put(32, uint32_t{256});
  run("__amd_rocclr_fillBufferAligned", of_hip6, memory);
  CHECK(std::memcmp(target.data(), "ababa-", 6) == 0);
}

void test_addresses_are_translated() {
  constexpr uint64_t as_gpus_know_it = 0x7000'0000'0000;
  const uint64_t value = 77;
  uint64_t written = 0;
  ArgumentBlock arguments;
  arguments.put(0, uint64_t{0}).put(8, as_gpus_know_it + 4096).put(16, value);
  Memory memory;
  memory.add({as_gpus_know_it, arguments.dispatch().kernel_arguments, 256, false});
  memory.add({as_gpus_know_it + 4096, address(&written), sizeof written, false});
  DispatchPacket packet{};
  packet.kernel_arguments = as_gpus_know_it;
  CHECK(hip_built_in("__amd_rocclr_streamOpsWrite")(packet, memory) == BuiltInOutcome::done);
  CHECK(written == 77);
}

}  // namespace

int main() {
  test_copies_of_both_generations();
  test_fills_of_both_generations();
  test_addresses_are_translated();
  return 0;
}
