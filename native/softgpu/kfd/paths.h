// Which paths belong to the machine, and where its tree has them.
#ifndef WAVESCOPE_SOFTGPU_KFD_PATHS_H
#define WAVESCOPE_SOFTGPU_KFD_PATHS_H

#include <climits>
#include <cstdint>

namespace softgpu::kfd {

// The folder of the tree; empty when this process has no software GPU.
const char* tree_folder();

class Path {
 public:
  explicit Path(const char* path);
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

  // The file to use: in the tree, or the one that was asked for.
  const char* real() const { return is_redirected_ ? place_ : given_; }
  bool is_redirected() const { return is_redirected_; }

 private:
  const char* given_;
  bool is_redirected_ = false;
  char place_[PATH_MAX];
};

struct DevicePath {
  enum class Type { none, kfd, drm } type = Type::none;
  uint32_t minor = 0;
};

DevicePath device_path(const char* path);

// What programs take the path of a file in the tree for; nullptr when it is in none.
const char* shown_path(const char* real_path);

}  // namespace softgpu::kfd

#endif
