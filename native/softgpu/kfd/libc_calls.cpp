// Functions of the C library that stand before its own: files and devices of the machine are answered for, all others
// are passed on.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "softgpu/kfd/ioctls.h"
#include "softgpu/kfd/paths.h"
#include "softgpu/kfd/process_machine.h"

#define WAVESCOPE_LIBC extern "C" __attribute__((visibility("default")))
// The function that this one stands before.
#define WAVESCOPE_NEXT(name, ...) static const auto next = reinterpret_cast<__VA_ARGS__>(dlsym(RTLD_NEXT, name))

using namespace softgpu::kfd;

namespace {

constexpr unsigned kfd_ioctl_type = 'K';
constexpr unsigned drm_ioctl_type = 'd';
constexpr unsigned kfd_major = 234;
constexpr unsigned drm_major = 226;
constexpr int not_a_device = -2;

int failed(int error) {
  errno = error;
  return -1;
}

// A descriptor of the device at the path; `not_a_device` when there is none.
int open_device(const char* path, int flags) {
  const DevicePath device = device_path(path);
  const bool is_render = device.type == DevicePath::Type::drm && device.minor >= first_render_minor;
  if (device.type == DevicePath::Type::none || (device.type == DevicePath::Type::drm && !is_render)) return not_a_device;
  Machine* here = open_machine();
  if (!here) return failed(ENODEV);
  const bool closes_on_exec = (flags & O_CLOEXEC) != 0;
  if (!is_render) return here->kfd_file.duplicate(closes_on_exec);
  const uint32_t gpu_index = device.minor - first_render_minor;
  if (gpu_index >= here->gpu_count()) return failed(ENOENT);
  return here->gpu_files[gpu_index]->file().duplicate(closes_on_exec);
}

// Files of the tree are shared by all programs and must stay as they are.
bool is_forbidden(const Path& path, int flags) {
  return path.is_redirected() && ((flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0);
}

bool is_forbidden(const Path& path, const char* mode) { return path.is_redirected() && strpbrk(mode, "wa+") != nullptr; }

template <class Status>
void become_device(Status& status, unsigned major_number, unsigned minor_number) {
  status.st_mode = S_IFCHR | 0666;
  status.st_rdev = makedev(major_number, minor_number);
  status.st_size = 0;
}

template <class Status>
void show_device(const char* path, Status& status) {
  const DevicePath device = device_path(path);
  if (device.type == DevicePath::Type::kfd) become_device(status, kfd_major, 0);
  if (device.type == DevicePath::Type::drm) become_device(status, drm_major, device.minor);
}

template <class Status>
void show_open_device(Status& status) {
  const Machine* here = machine();
  if (!here) return;
  struct stat plain{};
  plain.st_ino = status.st_ino;
  plain.st_dev = status.st_dev;
  const DeviceKind kind = here->kind_of(plain);
  if (kind.type == DeviceKind::Type::kfd) become_device(status, kfd_major, 0);
  if (kind.type == DeviceKind::Type::render) become_device(status, drm_major, first_render_minor + kind.gpu_index);
}

mode_t mode_argument(int flags, va_list arguments) {
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has_mode ? va_arg(arguments, mode_t) : 0;
}

// The file of the device that a program maps, where it cannot be mapped as it is.
const DeviceFile* file_without_pages(int descriptor, int flags) {
  const Machine* here = descriptor >= 0 && (flags & MAP_TYPE) == MAP_SHARED ? machine() : nullptr;
  if (!here || here->kfd_file.has_pages()) return nullptr;
  const DeviceKind device = here->kind_of(descriptor);
  return device.type == DeviceKind::Type::none ? nullptr : &here->file_of(device);
}

// What a path of the tree is called outside of it.
char* as_shown(char* real_path) {
  const char* shown = real_path ? shown_path(real_path) : nullptr;
  if (shown) memmove(real_path, shown, strlen(shown) + 1);
  return real_path;
}

}  // namespace

WAVESCOPE_LIBC int ioctl(int descriptor, unsigned long request, ...) noexcept {
  WAVESCOPE_NEXT("ioctl", int (*)(int, unsigned long, void*));
  va_list arguments;
  va_start(arguments, request);
  void* user = va_arg(arguments, void*);
  va_end(arguments);
  const unsigned type = _IOC_TYPE(request);
  Machine* here = type == kfd_ioctl_type || type == drm_ioctl_type ? machine() : nullptr;
  if (!here) return next(descriptor, request, user);
  const DeviceKind device = here->kind_of(descriptor);
  if (device.type == DeviceKind::Type::none) return next(descriptor, request, user);
  const bool is_kfd = device.type == DeviceKind::Type::kfd;
  const int error = is_kfd ? kfd_ioctl(*here, request, user) : render_ioctl(*here, device.gpu_index, request, user);
  return error ? failed(error) : 0;
}

#define WAVESCOPE_MMAP(name, offset_type)                                                                      \
  WAVESCOPE_LIBC void* name(void* address, size_t bytes, int protection, int flags, int descriptor,            \
                            offset_type offset) noexcept {                                                     \
    WAVESCOPE_NEXT(#name, void* (*)(void*, size_t, int, int, int, offset_type));                               \
    const DeviceFile* file = file_without_pages(descriptor, flags);                                            \
    if (!file) return next(address, bytes, protection, flags, descriptor, offset);                             \
    return file->map(flags & MAP_FIXED ? address : nullptr, bytes, protection, static_cast<uint64_t>(offset)); \
  }
WAVESCOPE_MMAP(mmap, off_t)
WAVESCOPE_MMAP(mmap64, off64_t)

#define WAVESCOPE_OPEN(name)                                  \
  WAVESCOPE_LIBC int name(const char* path, int flags, ...) { \
    WAVESCOPE_NEXT(#name, int (*)(const char*, int, mode_t)); \
    va_list arguments;                                        \
    va_start(arguments, flags);                               \
    const mode_t mode = mode_argument(flags, arguments);      \
    va_end(arguments);                                        \
    const int device = open_device(path, flags);              \
    if (device != not_a_device) return device;                \
    const Path place(path);                                   \
    if (is_forbidden(place, flags)) return failed(EACCES);    \
    return next(place.real(), flags, mode);                   \
  }
WAVESCOPE_OPEN(open)
WAVESCOPE_OPEN(open64)

#define WAVESCOPE_OPENAT(name)                                            \
  WAVESCOPE_LIBC int name(int folder, const char* path, int flags, ...) { \
    WAVESCOPE_NEXT(#name, int (*)(int, const char*, int, mode_t));        \
    va_list arguments;                                                    \
    va_start(arguments, flags);                                           \
    const mode_t mode = mode_argument(flags, arguments);                  \
    va_end(arguments);                                                    \
    const int device = open_device(path, flags);                          \
    if (device != not_a_device) return device;                            \
    const Path place(path);                                               \
    if (is_forbidden(place, flags)) return failed(EACCES);                \
    return next(folder, place.real(), flags, mode);                       \
  }
WAVESCOPE_OPENAT(openat)
WAVESCOPE_OPENAT(openat64)

// Of programs compiled with checks of their arguments.
WAVESCOPE_LIBC int __open_2(const char* path, int flags) { return open(path, flags); }
WAVESCOPE_LIBC int __open64_2(const char* path, int flags) { return open64(path, flags); }

#define WAVESCOPE_FOPEN(name)                                     \
  WAVESCOPE_LIBC FILE* name(const char* path, const char* mode) { \
    WAVESCOPE_NEXT(#name, FILE * (*)(const char*, const char*));  \
    const Path place(path);                                       \
    if (is_forbidden(place, mode)) {                              \
      errno = EACCES;                                             \
      return nullptr;                                             \
    }                                                             \
    return next(place.real(), mode);                              \
  }
WAVESCOPE_FOPEN(fopen)
WAVESCOPE_FOPEN(fopen64)

WAVESCOPE_LIBC DIR* opendir(const char* path) {
  WAVESCOPE_NEXT("opendir", DIR * (*)(const char*));
  return next(Path(path).real());
}

WAVESCOPE_LIBC int access(const char* path, int mode) noexcept {
  WAVESCOPE_NEXT("access", int (*)(const char*, int));
  return next(Path(path).real(), mode);
}

WAVESCOPE_LIBC int faccessat(int folder, const char* path, int mode, int flags) noexcept {
  WAVESCOPE_NEXT("faccessat", int (*)(int, const char*, int, int));
  return next(folder, Path(path).real(), mode, flags);
}

WAVESCOPE_LIBC ssize_t readlink(const char* path, char* target, size_t bytes) noexcept {
  WAVESCOPE_NEXT("readlink", ssize_t (*)(const char*, char*, size_t));
  return next(Path(path).real(), target, bytes);
}

WAVESCOPE_LIBC char* realpath(const char* path, char* resolved) noexcept {
  WAVESCOPE_NEXT("realpath", char* (*)(const char*, char*));
  return as_shown(next(Path(path).real(), resolved));
}

WAVESCOPE_LIBC char* __realpath_chk(const char* path, char* resolved, size_t room) {
  WAVESCOPE_NEXT("__realpath_chk", char* (*)(const char*, char*, size_t));
  return as_shown(next(Path(path).real(), resolved, room));
}

#define WAVESCOPE_STAT(name, type)                                          \
  WAVESCOPE_LIBC int name(const char* path, struct type* status) noexcept { \
    WAVESCOPE_NEXT(#name, int (*)(const char*, struct type*));              \
    const int result = next(Path(path).real(), status);                     \
    if (result == 0) show_device(path, *status);                            \
    return result;                                                          \
  }
WAVESCOPE_STAT(stat, stat)
WAVESCOPE_STAT(stat64, stat64)
WAVESCOPE_STAT(lstat, stat)
WAVESCOPE_STAT(lstat64, stat64)

#define WAVESCOPE_FSTAT(name, type)                                       \
  WAVESCOPE_LIBC int name(int descriptor, struct type* status) noexcept { \
    WAVESCOPE_NEXT(#name, int (*)(int, struct type*));                    \
    const int result = next(descriptor, status);                          \
    if (result == 0) show_open_device(*status);                           \
    return result;                                                        \
  }
WAVESCOPE_FSTAT(fstat, stat)
WAVESCOPE_FSTAT(fstat64, stat64)

// Of programs linked before glibc 2.33, which pass the version of the structure; it is the same one.
WAVESCOPE_LIBC int __xstat(int, const char* path, struct stat* status) { return stat(path, status); }
WAVESCOPE_LIBC int __xstat64(int, const char* path, struct stat64* status) { return stat64(path, status); }
WAVESCOPE_LIBC int __lxstat(int, const char* path, struct stat* status) { return lstat(path, status); }
WAVESCOPE_LIBC int __lxstat64(int, const char* path, struct stat64* status) { return lstat64(path, status); }
WAVESCOPE_LIBC int __fxstat(int, int descriptor, struct stat* status) { return fstat(descriptor, status); }
WAVESCOPE_LIBC int __fxstat64(int, int descriptor, struct stat64* status) { return fstat64(descriptor, status); }
