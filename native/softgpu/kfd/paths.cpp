#include "softgpu/kfd/paths.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace softgpu::kfd {

namespace {

constexpr std::string_view prefixes[] = {
    "/sys/devices/virtual/kfd", "/sys/class/kfd", "/sys/module/amdgpu", "/sys/class/drm",
    "/sys/dev/char/226:",       "/dev/dri",       "/dev/kfd",           "/usr/share/libdrm/amdgpu.ids",
};
// Below these only what the tree has is the machine's; the rest is the host's.
constexpr std::string_view shared_folders[] = {"/sys/bus/pci/devices/", "/sys/devices/pci0000:00/"};

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

bool exists(const char* path) { return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0; }

bool is_of_machine(std::string_view path) {
  for (const std::string_view prefix : prefixes) {
    if (starts_with(path, prefix)) return true;
  }
  for (const std::string_view folder : shared_folders) {
    if (!starts_with(path, folder)) continue;
    char device[PATH_MAX];
    const size_t name_end = path.find('/', folder.size());
    const std::string_view shown = path.substr(0, name_end);
    const int length =
        std::snprintf(device, sizeof device, "%s%.*s", tree_folder(), static_cast<int>(shown.size()), shown.data());
    return length > 0 && static_cast<size_t>(length) < sizeof device && exists(device);
  }
  return false;
}

}  // namespace

const char* tree_folder() {
  const char* folder = std::getenv("WAVESCOPE_SOFTGPU_TREE");
  return folder && folder[0] == '/' ? folder : "";
}

Path::Path(const char* path) : given_(path) {
  if (!path || path[0] != '/') return;
  const char* tree = tree_folder();
  if (!tree[0] || !is_of_machine(path)) return;
  const int length = std::snprintf(place_, sizeof place_, "%s%s", tree, path);
  is_redirected_ = length > 0 && static_cast<size_t>(length) < sizeof place_;
}

DevicePath device_path(const char* path) {
  if (!path || path[0] != '/' || !tree_folder()[0]) return {};
  const std::string_view given = path;
  if (given == "/dev/kfd") return {DevicePath::Type::kfd, 0};
  for (const std::string_view prefix : {"/dev/dri/renderD", "/dev/dri/card"}) {
    if (!starts_with(given, prefix)) continue;
    DevicePath device{DevicePath::Type::drm, 0};
    const char* end = given.data() + given.size();
    const auto read = std::from_chars(given.data() + prefix.size(), end, device.minor);
    if (read.ec == std::errc{} && read.ptr == end) return device;
  }
  return {};
}

const char* shown_path(const char* real_path) {
  const std::string_view tree = tree_folder();
  const bool is_in_tree = !tree.empty() && starts_with(real_path, tree) && real_path[tree.size()] == '/';
  return is_in_tree ? real_path + tree.size() : nullptr;
}

}  // namespace softgpu::kfd
