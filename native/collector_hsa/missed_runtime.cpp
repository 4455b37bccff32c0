#include "collector_hsa/missed_runtime.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>

#include "collector_hsa/hsa_tables.h"
#include "core/environment.h"
#include "core/session.h"

namespace wavescope {
namespace {

constexpr const char* kRuntime = "libhsa-runtime64.so";
constexpr const char* kProfiler = "librocprofiler-sdk.so";
constexpr const char* kToolFunction = "rocprofiler_configure";
// Any of them makes rocprofiler-register look no further for a tool, unless the last one is off.
constexpr const char* kToolVariables[] = {"ROCP_TOOL_LIBRARIES", "ROCPROFILER_REGISTER_LIBRARY",
                                          "ROCPROFILER_REGISTER_FORCE_LOAD"};
constexpr const char* kForceLoad = kToolVariables[2];
constexpr const char* kNoRegistering = "HSA_TOOLS_DISABLE_REGISTER";
constexpr const char* kOff[] = {"0", "false", "no", "off"};

std::atomic<bool> came{false};
pid_t first_process = 0;  // a forked child has its parent's runtime in memory, but cannot use it

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_off(const std::string& value) {
  return std::any_of(std::begin(kOff), std::end(kOff), [&](const char* off) { return value == off; });
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

struct SoughtLibrary {
  std::string name;
  std::string path;
};

int keep_path(dl_phdr_info* library, std::size_t, void* sought_library) {
  auto& sought = *static_cast<SoughtLibrary*>(sought_library);
  const std::string path = library->dlpi_name == nullptr ? "" : library->dlpi_name;
  if (file_name(path).compare(0, sought.name.size(), sought.name) != 0) return 0;
  sought.path = path;
  return 1;
}

// Of the first library in the process whose file name begins with `name`.
std::string loaded_path(const char* name) {
  SoughtLibrary sought{name, ""};
  dl_iterate_phdr(keep_path, &sought);
  return sought.path;
}

bool is_in_use(const std::string& runtime_path) {
  void* library = dlopen(runtime_path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return false;
  const auto get_info = reinterpret_cast<SystemGetInfo*>(dlsym(library, "hsa_system_get_info"));
  uint16_t major = 0;
  const bool answers = get_info != nullptr && get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major) == HSA_STATUS_SUCCESS;
  dlclose(library);
  return answers;
}

std::string other_tool() {
  if (void* function = dlsym(RTLD_DEFAULT, kToolFunction)) {
    Dl_info where{};
    if (dladdr(function, &where) != 0 && where.dli_fname != nullptr) return file_name(where.dli_fname);
    return kToolFunction;
  }
  if (is_off(variable(kForceLoad))) return "";
  for (const char* name : kToolVariables) {
    const std::string value = variable(name);
    if (!value.empty() && !is_off(value)) return std::string(name) + "=" + value;
  }
  return "";
}

// The profiler that a framework brings along may keep that function to itself.
std::string other_tool_or_profiler() {
  const std::string tool = other_tool();
  return tool.empty() ? file_name(loaded_path(kProfiler)) : tool;
}

// Why there is nothing of the runtime, here or with another tool.
std::string reason() {
  if (getpid() != first_process) return "";
  const bool may_register = variable(kNoRegistering) != "1";
  if (came) return may_register ? "" : why_left_out(other_tool_or_profiler());
  const std::string path = loaded_path(kRuntime);
  if (path.empty()) return "";
  const bool is_used = is_in_use(path);
  const std::string tool = !may_register ? "" : is_used ? other_tool_or_profiler() : other_tool();
  return why_missed(MissedRuntime{true, is_used, variable("HSA_TOOLS_LIB"), tool});
}

void note_who_has_nothing() {
  const std::string note = reason();
  if (!note.empty()) Session::if_open()->facts().note(note);
}

__attribute__((constructor)) void library_begins() {
  first_process = getpid();
  Session::at_finish(note_who_has_nothing);
}

// Where nothing else was recorded there is no session yet.
__attribute__((destructor)) void library_ends() {
  if (!settings().enabled() || Session::if_open() != nullptr || reason().empty()) return;
  if (Session::current() != nullptr) Session::finish("exit");
}

}  // namespace

std::string why_missed(const MissedRuntime& seen) {
  if (!seen.is_loaded) return "";
  if (!seen.other_tool.empty()) {
    return "dispatches and copies not recorded: another tool (" + seen.other_tool +
           ") is registered with the HSA runtime and records them instead; --other-tools off turns it off";
  }
  if (!seen.is_in_use) return "";
  return "dispatches and copies not recorded: the HSA runtime did not load the collector, because HSA_TOOLS_LIB was " +
         (seen.tools.empty() ? std::string("unset") : "'" + seen.tools + "'");
}

std::string why_left_out(const std::string& tool) {
  if (tool.empty()) return "";
  return "another tool in the program (" + tool +
         ") got no dispatches and copies, as they are recorded here; --other-tools keep leaves them to it";
}

void runtime_came() { came = true; }

}  // namespace wavescope
