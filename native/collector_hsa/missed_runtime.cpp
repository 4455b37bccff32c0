#include "collector_hsa/missed_runtime.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "collector_hsa/hsa_tables.h"
#include "core/environment.h"
#include "core/session.h"

namespace wavescope {
namespace {

constexpr const char* kRuntime = "libhsa-runtime64.so";
constexpr const char* kToolFunction = "rocprofiler_configure";
// Any of them makes rocprofiler-register look no further for a tool.
constexpr const char* kToolVariables[] = {"ROCP_TOOL_LIBRARIES", "ROCPROFILER_REGISTER_LIBRARY",
                                          "ROCPROFILER_REGISTER_FORCE_LOAD"};
constexpr const char* kOff[] = {"", "0", "false", "no", "off"};

std::atomic<bool> came{false};
pid_t first_process = 0;  // a forked child has its parent's runtime in memory, but cannot use it

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

int keep_runtime_path(dl_phdr_info* library, std::size_t, void* path) {
  const std::string name = library->dlpi_name == nullptr ? "" : library->dlpi_name;
  if (file_name(name).compare(0, std::strlen(kRuntime), kRuntime) != 0) return 0;
  *static_cast<std::string*>(path) = name;
  return 1;
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
  for (const char* name : kToolVariables) {
    const std::string value = variable(name);
    bool is_off = false;
    for (const char* off : kOff) is_off = is_off || value == off;
    if (!is_off) return std::string(name) + "=" + value;
  }
  return "";
}

std::string reason() {
  if (came || getpid() != first_process) return "";
  std::string path;
  dl_iterate_phdr(keep_runtime_path, &path);
  if (path.empty()) return "";
  return why_missed(MissedRuntime{true, is_in_use(path), variable("HSA_TOOLS_LIB"), other_tool()});
}

void note_what_was_missed() {
  const std::string note = reason();
  if (!note.empty()) Session::if_open()->facts().note(note);
}

__attribute__((constructor)) void library_begins() {
  first_process = getpid();
  Session::at_finish(note_what_was_missed);
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

void runtime_came() { came = true; }

}  // namespace wavescope
