// Reading small files with nothing but system calls: the front end stands before the C library's functions.
#ifndef WAVESCOPE_SOFTGPU_FILE_TEXT_H
#define WAVESCOPE_SOFTGPU_FILE_TEXT_H

#include <optional>
#include <string>

namespace softgpu {

// The file's content; nothing when it cannot be read, and errno says why.
std::optional<std::string> file_text(const std::string& path);

}  // namespace softgpu

#endif
