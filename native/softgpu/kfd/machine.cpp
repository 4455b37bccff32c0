#include "softgpu/kfd/machine.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace softgpu::kfd {

Machine::Machine(MachineTree given_tree, std::unique_ptr<Configuration> given_configuration, const VariableLookup& variable)
    : tree(std::move(given_tree)),
      configuration(std::move(given_configuration)),
      queues(kfd_file, gpu_count()),
      dma_buffers(gpu_count()),
      mappings(memory),
      engine(*configuration, clock, memory, events),
      call_log(engine.truth_path(), variable("WAVESCOPE_SOFTGPU_VERBOSE")) {
  for (const GpuFacts& gpu : tree.gpus) gpu_files.push_back(std::make_unique<GpuFile>(gpu.memory_bytes));
}

std::unique_ptr<Machine> Machine::open(const std::string& tree_folder, const VariableLookup& variable,
                                       std::string& problem) {
  MachineTree tree = read_machine_tree(tree_folder);
  auto configuration = std::make_unique<Configuration>();
  configuration->gpu_count = static_cast<uint32_t>(tree.gpus.size());
  read_configuration(variable, *configuration);
  problem = !tree.problem.empty() ? tree.problem : configuration->problem;
  if (!problem.empty()) return nullptr;
  std::unique_ptr<Machine> machine(new Machine(std::move(tree), std::move(configuration), variable));
  if (machine->engine.lacks_truth_file()) {
    problem = "cannot write the truth log " + machine->configuration->truth_path;
  } else if (!machine->has_all_files()) {
    problem = "there is no memory or no descriptor left for the GPUs";
  }
  return problem.empty() ? std::move(machine) : nullptr;
}

bool Machine::has_all_files() const {
  return kfd_file.is_open() && queues.has_doorbells() &&
         std::all_of(gpu_files.begin(), gpu_files.end(), [](const auto& gpu) { return gpu->file().is_open(); });
}

std::optional<uint32_t> Machine::gpu_index(uint32_t gpu_id) const {
  for (uint32_t index = 0; index < gpu_count(); ++index) {
    if (tree.gpus[index].gpu_id == gpu_id) return index;
  }
  return std::nullopt;
}

DeviceKind Machine::kind_of(const struct stat& status) const {
  if (kfd_file.is_same(status)) return {DeviceKind::Type::kfd, 0};
  for (uint32_t index = 0; index < gpu_count(); ++index) {
    if (gpu_files[index]->file().is_same(status)) return {DeviceKind::Type::render, index};
  }
  return {};
}

DeviceKind Machine::kind_of(int descriptor) const {
  struct stat status{};
  return syscall(SYS_fstat, descriptor, &status) == 0 ? kind_of(status) : DeviceKind{};
}

}  // namespace softgpu::kfd
