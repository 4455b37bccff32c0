// Space on the disk before it is written through a mapping, where a full disk would be a SIGBUS.
#ifndef WAVESCOPE_CORE_FILE_SPACE_H
#define WAVESCOPE_CORE_FILE_SPACE_H

#include <cstdint>

namespace wavescope {

// Makes the file `end` bytes long with real, zeroed space from `begin` on; false when the disk refuses.
bool allocate_file_space(int file, uint64_t begin, uint64_t end);

// Gives the space of whole pages back, which then read as zeros; false where the file system cannot.
bool punch_hole(int file, uint64_t begin, uint64_t end);

// The longest file that the process may write (ulimit -f); beyond it the kernel would end the process. A whole page number.
uint64_t file_size_limit();

}  // namespace wavescope

#endif
