#include "collector_cupti/cupti_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "core/file_thread.h"
#include "core/next_symbol.h"

namespace wavescope::cupti {
namespace {

constexpr const char* kName = "libcupti.so";
constexpr const char* kRuntimeName = "libcudart.so";
constexpr const char* kDriverName = "libcuda.so";
constexpr uint32_t kMajors[] = {13, 12};
constexpr uint32_t kVersionStep = 1000;  // of cuDriverGetVersion: 12080 is 12.8

// Of what counts up, from kOldestVersion on.
constexpr const char* kCounted[] = {"12.0", "12.0", "12.2", "12.3", "12.4",  "12.5",
                                    "12.6", "12.7", "12.8", "12.9", "12.9.1"};

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

bool begins_with(const std::string& text, const char* begin) { return text.compare(0, std::strlen(begin), begin) == 0; }

int keep_path(dl_phdr_info* library, std::size_t, void* paths) {
  if (library->dlpi_name != nullptr && *library->dlpi_name != '\0') {
    static_cast<std::vector<std::string>*>(paths)->emplace_back(library->dlpi_name);
  }
  return 0;
}

std::vector<std::string> loaded_libraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(keep_path, &paths);
  return paths;
}

void* open_loaded(const std::string& path) { return dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD); }

// As the driver says it, 13000; 0 when there is none.
uint32_t cuda_of_driver(const std::vector<std::string>& loaded) {
  for (const std::string& path : loaded) {
    if (!begins_with(file_name(path), kDriverName)) continue;
    void* driver = open_loaded(path);
    if (driver == nullptr) continue;
    const auto get_version = reinterpret_cast<int (*)(int*)>(linker_dlsym()(driver, "cuDriverGetVersion"));
    int version = 0;
    const bool answers = get_version != nullptr && get_version(&version) == 0 && version > 0;
    dlclose(driver);
    if (answers) return static_cast<uint32_t>(version);
  }
  return 0;
}

std::vector<uint32_t> majors_for(uint32_t driver_major) {
  std::vector<uint32_t> majors;
  for (const uint32_t major : kMajors) {
    if (driver_major == 0 || major <= driver_major) majors.push_back(major);
  }
  if (majors.empty()) majors.assign(std::begin(kMajors), std::end(kMajors));
  return majors;
}

std::vector<std::string> matches(const std::string& pattern) {
  std::vector<std::string> found;
  glob_t paths{};
  if (glob(pattern.c_str(), 0, nullptr, &paths) == 0) found.assign(paths.gl_pathv, paths.gl_pathv + paths.gl_pathc);
  globfree(&paths);
  std::reverse(found.begin(), found.end());  // newest first
  return found;
}

template <typename Function>
bool take(void* handle, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(linker_dlsym()(handle, symbol));
  dlerror();
  return function != nullptr;
}

// The name of a function that is missing, or null.
const char* take_required(void* handle, CuptiLibrary& library) {
  const char* missing = nullptr;
  const auto require = [&](const char* symbol, auto& function) {
    if (!take(handle, symbol, function) && missing == nullptr) missing = symbol;
  };
  require("cuptiGetVersion", library.get_version);
  require("cuptiSubscribe", library.subscribe);
  require("cuptiUnsubscribe", library.unsubscribe);
  require("cuptiEnableCallback", library.enable_callback);
  require("cuptiEnableDomain", library.enable_domain);
  require("cuptiActivityRegisterCallbacks", library.activity_register_callbacks);
  require("cuptiActivityEnable", library.activity_enable);
  require("cuptiActivityDisable", library.activity_disable);
  require("cuptiActivityFlushAll", library.activity_flush_all);
  require("cuptiActivityGetNextRecord", library.activity_get_next_record);
  require("cuptiActivityGetNumDroppedRecords", library.activity_get_dropped);
  require("cuptiGetTimestamp", library.get_timestamp);
  require("cuptiFinalize", library.finalize);
  return missing;
}

void take_optional(void* handle, CuptiLibrary& library) {
  take(handle, "cuptiActivitySetAttribute", library.activity_set_attribute);
  take(handle, "cuptiActivityGetAttribute", library.activity_get_attribute);
  take(handle, "cuptiActivityEnableAndDump", library.activity_enable_and_dump);
  take(handle, "cuptiGetResultString", library.get_result_string);
  take(handle, "cuptiGetCallbackName", library.get_callback_name);
  take(handle, "cuptiGetContextId", library.get_context_id);
  take(handle, "cuptiGetDeviceId", library.get_device_id);
  take(handle, "cuptiGetStreamIdEx", library.get_stream_id);
  take(handle, "cuptiGetGraphNodeId", library.get_graph_node_id);
  take(handle, "cuptiGetGraphId", library.get_graph_id);
  take(handle, "cuptiGetGraphExecId", library.get_graph_exec_id);
}

// The first line of a small file, without its end.
std::string first_line(const char* path) {
  char text[64] = {};
  auto read_it = [&] {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    const ssize_t count = read(file, text, sizeof text - 1);
    if (count <= 0) text[0] = '\0';
    close(file);
  };
  FileThread::run(read_it);
  return std::string(text, std::strcspn(text, "\n"));
}

}  // namespace

std::string CuptiLibrary::name_of(CuptiResult result) const {
  const char* name = nullptr;
  if (get_result_string != nullptr && get_result_string(result, &name) == CuptiResult::kSuccess && name != nullptr) {
    return name;
  }
  return "error " + std::to_string(static_cast<uint32_t>(result));
}

std::vector<std::string> cupti_candidates(const CuptiSearch& search) {
  std::vector<std::string> found;
  const auto add = [&](const std::string& path) {
    if (!path.empty() && std::find(found.begin(), found.end(), path) == found.end()) found.push_back(path);
  };
  for (const std::string& path : search.loaded) {
    if (begins_with(file_name(path), kName)) add(path);
  }
  if (!found.empty()) return found;  // a second one in the process would get nothing, and disturb the first
  add(search.wanted_path);
  const std::vector<uint32_t> majors = majors_for(search.driver_major);
  const auto add_versions = [&](const std::string& folder) {
    for (const uint32_t major : majors) add(folder + kName + "." + std::to_string(major));
  };
  for (const std::string& path : search.loaded) {
    if (!begins_with(file_name(path), kRuntimeName)) continue;
    for (const char* beside : {"", "../../cuda_cupti/lib/", "../extras/CUPTI/lib64/"})
      add_versions(folder_of(path) + beside);
  }
  add_versions("");
  for (const char* folder : {"lib64/", "extras/CUPTI/lib64/"}) {
    for (const uint32_t major : majors) {
      const std::string number = std::to_string(major);
      for (const std::string& path : matches("/usr/local/cuda*/" + std::string(folder) + kName + "." + number)) add(path);
    }
  }
  return found;
}

bool take_functions(void* handle, CuptiLibrary& library, std::string& reason) {
  const char* missing = take_required(handle, library);
  if (missing != nullptr) {
    reason = std::string("it has no ") + missing;
    return false;
  }
  if (library.get_version(&library.version) != CuptiResult::kSuccess) {
    reason = "it does not tell its version";
    return false;
  }
  if (library.version < kOldestVersion) {
    reason = "it is older than CUDA 12.0";
    return false;
  }
  take_optional(handle, library);
  library.handle = handle;
  return true;
}

bool find_cupti(const std::string& wanted_path, CuptiLibrary& library, std::string& reason) {
  CuptiSearch search;
  search.loaded = loaded_libraries();
  search.wanted_path = wanted_path;
  search.driver_major = cuda_of_driver(search.loaded) / kVersionStep;
  std::string why_not;
  for (const std::string& path : cupti_candidates(search)) {
    void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    dlerror();  // the program must not read our failure as its own
    if (handle == nullptr) continue;
    library = CuptiLibrary{};
    link_map* map = nullptr;
    library.path = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name != nullptr ? map->l_name : path;
    std::string why;
    if (take_functions(handle, library, why)) return true;
    if (why_not.empty()) why_not = library.path + " cannot be used: " + why;
    dlclose(handle);
  }
  reason = why_not.empty() ? "libcupti was not found: it comes with CUDA, or with pip install nvidia-cuda-cupti" : why_not;
  return false;
}

std::string spelled_version(uint32_t version) {
  const uint32_t counted = version - kOldestVersion;
  if (version >= kOldestVersion && counted < std::size(kCounted)) return kCounted[counted];
  if (version < kVersion13_0) return std::to_string(version);
  const std::string update = version % 100 == 0 ? "" : "." + std::to_string(version % 100);
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + update;
}

std::string driver_version() {
  std::string version = first_line("/sys/module/nvidia/version");
  if (!version.empty()) return version;
  const uint32_t cuda = cuda_of_driver(loaded_libraries());
  if (cuda == 0) return "";
  return "CUDA " + std::to_string(cuda / kVersionStep) + "." + std::to_string(cuda % kVersionStep / 10);
}

}  // namespace wavescope::cupti
