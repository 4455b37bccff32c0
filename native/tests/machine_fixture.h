// A machine of two small GPUs for tests, in a folder of its own, and the driver's calls to it.
#ifndef WAVESCOPE_TESTS_MACHINE_FIXTURE_H
#define WAVESCOPE_TESTS_MACHINE_FIXTURE_H

#include <sys/ioctl.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "check.h"
#include "softgpu/kfd/ioctls.h"
#include "softgpu/kfd/kfd_abi.h"
#include "softgpu/kfd/machine.h"

namespace softgpu::kfd {

constexpr uint64_t mebibyte = uint64_t{1} << 20;
constexpr uint64_t vram_bytes = 64 * mebibyte;
constexpr uint32_t gpu_ids[] = {0x5001, 0x5002};

class TreeFolder {
 public:
  TreeFolder() {
    char name[] = "/tmp/softgpu_tree_XXXXXX";
    CHECK(mkdtemp(name));
    path_ = name;
    write("nodes/0/properties", "cpu_cores_count 4\nsimd_count 0\n");
    for (uint32_t gpu = 0; gpu < 2; ++gpu) add_gpu(gpu);
  }
  ~TreeFolder() { std::filesystem::remove_all(path_); }
  TreeFolder(const TreeFolder&) = delete;
  TreeFolder& operator=(const TreeFolder&) = delete;

  const std::string& path() const { return path_; }

  void write(const std::string& name, const std::string& content) const {
    const std::filesystem::path file = path_ + "/sys/devices/virtual/kfd/kfd/topology/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content;
  }

 private:
  void add_gpu(uint32_t gpu) const {
    const std::string node = "nodes/" + std::to_string(gpu + 1);
    write(node + "/gpu_id", std::to_string(gpu_ids[gpu]) + "\n");
    write(node + "/properties",
          "simd_count 416\nsimd_per_cu 4\narray_count 8\nsimd_arrays_per_engine 1\ncu_per_simd_array 14\n"
          "wave_front_size 64\ngfx_target_version 90010\ndevice_id 29711\nmax_engine_clk_fcompute 1700\n"
          "drm_render_minor " +
              std::to_string(128 + gpu) + "\n");
    write(node + "/mem_banks/0/properties",
          "heap_type 1\nsize_in_bytes " + std::to_string(vram_bytes) + "\nwidth 4096\nmem_clk_max 1600\n");
  }

  std::string path_;
};

class TestMachine {
 public:
  explicit TestMachine(const std::string& truth_name = "") {
    const std::string truth_path = tree.path() + "/" + truth_name;
    const auto variable = [&](const char* name) {
      return !truth_name.empty() && std::string(name) == "WAVESCOPE_SOFTGPU_TRUTH" ? truth_path.c_str() : nullptr;
    };
    std::string problem;
    machine = Machine::open(tree.path(), variable, problem);
    CHECK(machine && problem.empty());
  }

  template <class Arguments>
  int call(unsigned number, Arguments& arguments, size_t bytes = sizeof(Arguments)) {
    return kfd_ioctl(*machine, _IOC(_IOC_READ | _IOC_WRITE, 'K', number, bytes), &arguments);
  }

  template <class Arguments>
  int render(unsigned number, Arguments& arguments, uint32_t gpu = 0) {
    return render_ioctl(*machine, gpu, _IOC(_IOC_READ | _IOC_WRITE, 'd', number, sizeof arguments), &arguments);
  }

  // The handle of memory of the first GPU, or 0.
  uint64_t allocate(uint64_t address, uint64_t bytes, uint32_t flags, uint64_t* offset = nullptr) {
    AllocateArguments arguments{address, bytes, 0, 0, gpu_ids[0], flags};
    if (call(0x16, arguments) != 0) return 0;
    if (offset) *offset = arguments.mmap_offset;
    return arguments.handle;
  }

  TreeFolder tree;
  std::unique_ptr<Machine> machine;
};

}  // namespace softgpu::kfd

#endif
