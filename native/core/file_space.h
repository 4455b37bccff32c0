// Space on the disk before it is written through a mapping, where a full disk would be a SIGBUS.
#ifndef WAVESCOPE_CORE_FILE_SPACE_H
#define WAVESCOPE_CORE_FILE_SPACE_H

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

namespace wavescope {

// Makes the file `end` bytes long with real, zeroed space from `begin` on; false when the disk refuses.
bool allocate_file_space(int file, uint64_t begin, uint64_t end);

// Writes `count` bytes, which are in pieces, at the end of an O_APPEND file; false when only a part could be written.
bool append_bytes(int file, const iovec* pieces, int piece_count, std::size_t count);

// The longest file that the process may write (ulimit -f); beyond it the kernel would end the process. A whole page number.
uint64_t file_size_limit();

}  // namespace wavescope

#endif
