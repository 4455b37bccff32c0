// A file that this process made. The program's threads have no descriptor of it: they may close any number, and open their
// own files under it. It is open in the table of FileThread; where there is none it is opened by its path for a moment, and
// used only if it is still the file that was made.
#ifndef WAVESCOPE_CORE_OWN_FILE_H
#define WAVESCOPE_CORE_OWN_FILE_H

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace wavescope {

// Why something cannot be written.
enum class Refusal : uint8_t {
  kNone,
  kSizeLimit,    // --max-size
  kNoSpace,      // of the disk, or for a file of this process (ulimit -f)
  kUnreachable,  // the file is gone, cut off, or closed to the process
  kNoMemory,     // for pages of it
};
constexpr int kRefusals = 5;

// Whether less could be had.
constexpr bool is_for_want_of_room(Refusal refusal) { return refusal == Refusal::kNoSpace || refusal == Refusal::kNoMemory; }

// How a note goes on after "not recorded: ".
const char* words_of(Refusal refusal);

// Bytes of a file.
struct FilePart {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t bytes() const { return end - begin; }
};

// Mapped pages of a file, from `begin` on.
struct FileWindow {
  char* pages = nullptr;
  uint64_t begin = 0;
  uint64_t end = 0;
  int guard = -1;

  bool is_mapped() const { return pages != nullptr; }
  bool was_cut() const;
  void unmap();
};

class OwnFile {
 public:
  // Makes the file, which must not be there, for this user alone.
  explicit OwnFile(std::string path);
  ~OwnFile();
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;

  bool is_made() const { return inode_ != 0; }

  // Pages with space behind them, all whole pages; what the file had there it keeps. `stand_in` as for CutOffGuard.
  Refusal map(uint64_t begin, uint64_t end, FileWindow& window, const void* stand_in = nullptr,
              std::size_t stand_in_bytes = 0);

  // Writes all of the pieces at `offset`, which no file is shorter than, or nothing. If there is to be space up to
  // `space_end` and there is only up to `space_begin`, it is asked for before.
  Refusal write(uint64_t offset, const iovec* pieces, int piece_count, std::size_t count, uint64_t space_begin,
                uint64_t space_end);

  // Reads or replaces bytes within it; false when not all of them can be reached.
  bool read(uint64_t offset, void* bytes, std::size_t count) const;
  bool replace(uint64_t offset, const void* bytes, std::size_t count);

  // Gives the space of whole pages back: they read as zeros then, and the file stays as long as it is.
  bool give_back(const FilePart* parts, std::size_t count);

  // Whether its file system can do that.
  bool can_give_back() const;

  // Lets it go on after somebody shortened it; what was there stays lost.
  void accept_cut() { size_ = 0; }

  // Shortens it; false when it cannot be reached. Safe in a signal handler, as `remove`.
  bool truncate(uint64_t length);
  void remove();

 private:
  int create();
  bool is_ours(int file) const;
  template <typename Use>
  bool use(Use use) const;

  const std::string path_;
  const pid_t process_;
  int descriptor_ = -1;  // in the table of this process's FileThread
  dev_t device_ = 0;
  ino_t inode_ = 0;
  uint64_t size_ = 0;  // it was made so long
};

}  // namespace wavescope

#endif
