#include "core/process_facts.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "core/command_line.h"

extern char** environ;

#ifndef WAVESCOPE_VERSION
#define WAVESCOPE_VERSION "0"
#endif

namespace wavescope {
namespace {

constexpr std::size_t kLongestCommand = 65536;

struct RankVariables {
  const char* rank;
  const char* size;
};

// Innermost launchers first: inside a batch step the outer one's variables are set for every process alike.
constexpr RankVariables kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"PALS_RANKID", "PALS_WORLD_SIZE"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    {"MPI_RANKID", "MPI_NRANKS"},
    {"MPI_RANK", "MPI_SIZE"},
    {"RANK", "WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS"},
    {"PBS_NODENUM", "PBS_O_TASKNUM"},
    {"PMIX_RANK", ""},
};

int small_number(const char* text) {
  if (text == nullptr || *text < '0' || *text > '9') return -1;
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text, &end, 10);
  return errno == 0 && *end == '\0' && value <= INT_MAX ? static_cast<int>(value) : -1;
}

std::string read_small_file(const char* path, std::size_t most) {
  std::string content(most, '\0');
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  std::size_t length = 0;
  while (file >= 0 && length < most) {
    const ssize_t count = read(file, &content[length], most - length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    length += static_cast<std::size_t>(count);
  }
  if (file >= 0) close(file);
  content.resize(length);
  return content;
}

std::string command_line() {
  char executable[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", executable, sizeof executable);
  const std::string path(executable, length > 0 ? static_cast<std::size_t>(length) : 0);
  return shell_command(program_arguments(split_arguments(read_small_file("/proc/self/cmdline", kLongestCommand)), path));
}

std::vector<std::string> environment_names() {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr && names.size() < 4096; ++entry) {
    names.emplace_back(*entry, strcspn(*entry, "="));
  }
  return names;
}

}  // namespace

Rank launcher_rank(Lookup lookup) {
  Rank best;
  int best_worth = 0;
  for (const RankVariables& launcher : kLaunchers) {
    const int rank = small_number(lookup(launcher.rank));
    const int size = *launcher.size == '\0' ? -1 : small_number(lookup(launcher.size));
    const int worth = rank < 0 ? 0 : size > 1 ? 3 : size == 1 ? 2 : 1;
    if (worth <= best_worth) continue;
    best = Rank{rank, size};
    best_worth = worth;
  }
  return best;
}

Fact process_fact(const Settings& settings, uint64_t start_ns) {
  char hostname[256] = {};
  gethostname(hostname, sizeof hostname - 1);
  Fact fact("process");
  fact.add("pid", static_cast<int>(getpid()))
      .add("ppid", static_cast<int>(getppid()))
      .add("command", command_line())
      .add("hostname", hostname)
      .add("cpu_count", static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)))
      .add("mode", name_of(settings.mode))
      .add("collector_version", WAVESCOPE_VERSION)
      .add("start_ns", start_ns)
      .add("environment", environment_names());
  const Rank rank = launcher_rank([](const char* name) -> const char* { return std::getenv(name); });
  if (rank.rank >= 0) fact.add("rank", rank.rank);
  if (rank.world_size >= 0) fact.add("world_size", rank.world_size);
  return fact;
}

}  // namespace wavescope
