#include "core/own_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/cut_off_guard.h"
#include "core/file_space.h"
#include "core/file_thread.h"
#include "core/not_cancelled.h"
#include "format/chunk_format.h"

namespace wavescope {
namespace {

constexpr mode_t kForThisUserAlone = 0600;
constexpr uint64_t kFarBeyond = uint64_t{1} << 32;  // of the end of a file that was just made
constexpr int kHighNumber = 960;  // below 1024, which is the most that many processes may have

// What the program finds in errno is its own, and no thread of it ends in the middle.
class KeptErrno {
 public:
  ~KeptErrno() { errno = value_; }

 private:
  const NotCancelled not_cancelled_;
  const int value_ = errno;
};

// Programs count on low numbers: they close 0 and open what is to be their standard input. So ours, where it must be among
// theirs, is high if it may be.
int out_of_the_way(int file) {
  const int high = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, kHighNumber);
  if (high < 0) return file;
  close(file);
  return high;
}

bool write_at(int file, const iovec* pieces, int piece_count, std::size_t count, uint64_t offset) {
  for (;;) {
    const ssize_t written = pwritev(file, pieces, piece_count, static_cast<off_t>(offset));
    if (written >= 0 || errno != EINTR) return written == static_cast<ssize_t>(count);
  }
}

}  // namespace

const char* words_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::kSizeLimit: return "the size limit was reached: raise --max-size";
    case Refusal::kNoSpace: return "the disk, or the limit of a file's size, had no more room";
    case Refusal::kUnreachable: return "its file in the session folder was gone, cut off or closed to the process";
    case Refusal::kNoMemory: return "the process could have no more memory";
    case Refusal::kNone: break;
  }
  return "";
}

bool FileWindow::was_cut() const { return CutOffGuard::was_cut(guard); }

void FileWindow::unmap() {
  if (pages == nullptr) return;
  CutOffGuard::forget(guard);
  munmap(pages, end - begin);
  *this = FileWindow{};
}

OwnFile::OwnFile(std::string path) : path_(std::move(path)), process_(getpid()) {
  const KeptErrno kept;
  auto create_there = [&] { descriptor_ = create(); };
  if (FileThread::run(create_there)) return;
  const int file = create();
  if (file >= 0) close(file);
}

OwnFile::~OwnFile() {
  const int file = descriptor_;
  auto close_there = [file] { close(file); };
  if (file >= 0 && getpid() == process_) FileThread::run(close_there);
}

int OwnFile::create() {
  const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kForThisUserAlone);
  struct stat state{};
  // The program's umask may have taken what is needed to open it again.
  if (file >= 0 && fchmod(file, kForThisUserAlone) == 0 && fstat(file, &state) == 0) {
    device_ = state.st_dev;
    inode_ = state.st_ino;
  }
  return file;
}

bool OwnFile::is_ours(int file) const {
  struct stat state{};
  return fstat(file, &state) == 0 && state.st_dev == device_ && state.st_ino == inode_ && state.st_nlink != 0 &&
         static_cast<uint64_t>(state.st_size) >= size_;
}

// Calls `use` with a descriptor of the file; false when it cannot be reached.
template <typename Use>
bool OwnFile::use(Use use) const {
  if (!is_made()) return false;
  bool is_reached = false;
  auto use_there = [&] {
    is_reached = is_ours(descriptor_);
    if (is_reached) use(descriptor_);
  };
  if (descriptor_ >= 0 && getpid() == process_ && FileThread::run(use_there)) return is_reached;
  const int file = out_of_the_way(open(path_.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file < 0) return false;
  is_reached = is_ours(file);
  if (is_reached) use(file);
  close(file);
  return is_reached;
}

Refusal OwnFile::map(uint64_t begin, uint64_t end, FileWindow& window, const void* stand_in, std::size_t stand_in_bytes) {
  const KeptErrno kept;
  if (end > file_size_limit()) return is_made() ? Refusal::kNoSpace : Refusal::kUnreachable;
  void* pages = MAP_FAILED;
  bool has_space = false;
  const bool is_reached = use([&](int file) {
    has_space = allocate_file_space(file, begin, end);
    if (!has_space) return;
    size_ = std::max(size_, end);
    pages = mmap(nullptr, end - begin, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(begin));
  });
  if (!is_reached) return Refusal::kUnreachable;
  if (pages == MAP_FAILED) return has_space ? Refusal::kNoMemory : Refusal::kNoSpace;
  window = FileWindow{static_cast<char*>(pages), begin, end, CutOffGuard::kNobody};
  window.guard = CutOffGuard::watch(window.pages, end - begin, stand_in, stand_in_bytes);
  return Refusal::kNone;
}

Refusal OwnFile::write(uint64_t offset, const iovec* pieces, int piece_count, std::size_t count, uint64_t space_begin,
                       uint64_t space_end) {
  const KeptErrno kept;
  if (offset + count > file_size_limit()) return is_made() ? Refusal::kNoSpace : Refusal::kUnreachable;
  bool is_done = false;
  const bool is_reached = use([&](int file) {
    // Where that cannot be done, or not now, it is done without.
    if (space_end > std::max(space_begin, offset + count)) {
      fallocate(file, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(space_begin), static_cast<off_t>(space_end - space_begin));
    }
    is_done = write_at(file, pieces, piece_count, count, offset);
    // A part may be there when the disk became full: what follows must start where this piece started.
    if (is_done) size_ = std::max(size_, offset + count);
    else if (ftruncate(file, static_cast<off_t>(offset)) == 0) size_ = std::min(size_, offset);
  });
  if (!is_reached) return Refusal::kUnreachable;
  return is_done ? Refusal::kNone : Refusal::kNoSpace;
}

bool OwnFile::read(uint64_t offset, void* bytes, std::size_t count) const {
  const KeptErrno kept;
  ssize_t got = 0;
  use([&](int file) { got = pread(file, bytes, count, static_cast<off_t>(offset)); });
  return got == static_cast<ssize_t>(count);
}

bool OwnFile::replace(uint64_t offset, const void* bytes, std::size_t count) {
  const KeptErrno kept;
  ssize_t written = 0;
  use([&](int file) { written = pwrite(file, bytes, count, static_cast<off_t>(offset)); });
  return written == static_cast<ssize_t>(count);
}

bool OwnFile::give_back(const FilePart* parts, std::size_t count) {
  const KeptErrno kept;
  bool is_done = true;
  const bool is_reached = use([&](int file) {
    for (std::size_t at = 0; at < count; ++at) is_done = punch_hole(file, parts[at].begin, parts[at].end) && is_done;
  });
  return is_reached && is_done;
}

bool OwnFile::can_give_back() const {
  const KeptErrno kept;
  bool can = false;
  use([&](int file) { can = punch_hole(file, kFarBeyond, kFarBeyond + WAVESCOPE_PAGE_BYTES); });
  return can;
}

bool OwnFile::truncate(uint64_t length) {
  const KeptErrno kept;
  bool is_done = false;
  use([&](int file) {
    is_done = ftruncate(file, static_cast<off_t>(length)) == 0;
    if (is_done) size_ = std::min(size_, length);
  });
  return is_done;
}

// By the thread as well: the calling one may have given up its right to remove files, on pain of death.
void OwnFile::remove() {
  const KeptErrno kept;
  auto remove_there = [&] {
    struct stat state{};
    if (lstat(path_.c_str(), &state) == 0 && state.st_dev == device_ && state.st_ino == inode_) unlink(path_.c_str());
  };
  if (is_made() && (getpid() != process_ || !FileThread::run(remove_there))) remove_there();
}

}  // namespace wavescope
