// The truth log: one line for every op that a GPU has executed, to compare a trace with.
#ifndef WAVESCOPE_SOFTGPU_TRUTH_H
#define WAVESCOPE_SOFTGPU_TRUTH_H

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace softgpu {

struct ExecutedOp {
  uint32_t gpu_index;
  uint64_t queue;
  uint64_t packet;  // index in the queue; of a copy the position in the ring, in bytes
  const char* kind;
  std::string_view name;
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t completed_ns;  // when the host could notice: later than the end where the scheduler had no processor
  uint64_t bytes;
  uint64_t signal;
  const char* fault;
};

// The file of one process. Children of fork know it, but only the process that made it writes. No descriptor is kept: the
// program may close any number and open a file of its own under it.
class TruthFile {
 public:
  // `%p` in the path becomes the process id; a file that exists is left alone and the id added to the name.
  explicit TruthFile(const std::string& path);

  bool is_made() const { return inode_ != 0; }
  const std::string& path() const { return path_; }
  void append(std::string_view text) const;

 private:
  bool create();

  pid_t owner_;
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Collects the lines of one GPU and hands them over in blocks.
class TruthBuffer {
 public:
  explicit TruthBuffer(const TruthFile* file) : file_(file) {}

  bool is_wanted() const { return file_ != nullptr; }
  void add(const ExecutedOp& op);
  void flush();
  // Flushes what has been waiting for a millisecond.
  void flush_when_due(uint64_t now_ns);

 private:
  void flush_locked();
  const TruthFile* file_;
  std::mutex mutex_;
  std::string lines_;
  uint64_t flushed_ns_ = 0;
};

}  // namespace softgpu

#endif
