#include "softgpu/truth.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <memory>

namespace softgpu {

namespace {

constexpr std::string_view header = "gpu,queue,packet,kind,name,start_ns,end_ns,completed_ns,bytes,signal,fault\n";
constexpr size_t block_bytes = 1U << 16;
constexpr uint64_t flush_interval_ns = 1'000'000;

std::string with_process_id(std::string path, pid_t process) {
  const std::string id = std::to_string(process);
  for (size_t at = 0; (at = path.find("%p", at)) != std::string::npos; at += id.size()) {
    path.replace(at, 2, id);
  }
  return path;
}

// The program may go to another folder.
std::string absolute(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> folder(path.front() == '/' ? nullptr : ::getcwd(nullptr, 0), &std::free);
  return folder ? std::string(folder.get()) + "/" + path : path;
}

void add_number(std::string& line, uint64_t number) {
  char digits[20];
  const auto result = std::to_chars(digits, digits + sizeof digits, number);
  line.append(digits, result.ptr);
  line += ',';
}

// Names are symbols of code objects, that is, any bytes.
void add_field(std::string& line, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    line += text;
  } else {
    line += '"';
    for (const char letter : text) line.append(letter == '"' ? 2 : 1, letter);
    line += '"';
  }
  line += ',';
}

}  // namespace

TruthFile::TruthFile(const std::string& path) : owner_(::getpid()), path_(absolute(with_process_id(path, owner_))) {
  if (!create() && errno == EEXIST) {
    path_ += "." + std::to_string(owner_);
    create();
  }
  if (is_made()) append(header);
}

bool TruthFile::create() {
  const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0) return false;
  struct stat status{};
  if (::fstat(descriptor, &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  ::close(descriptor);
  return true;
}

void TruthFile::append(std::string_view text) const {
  if (::getpid() != owner_) return;
  const int descriptor = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat status{};
  const bool is_ours = ::fstat(descriptor, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
  while (is_ours && !text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    text.remove_prefix(static_cast<size_t>(written));
  }
  ::close(descriptor);
}

void TruthBuffer::add(const ExecutedOp& op) {
  const std::lock_guard<std::mutex> guard(mutex_);
  add_number(lines_, op.gpu_index);
  add_number(lines_, op.queue);
  add_number(lines_, op.packet);
  add_field(lines_, op.kind);
  add_field(lines_, op.name);
  add_number(lines_, op.start_ns);
  add_number(lines_, op.end_ns);
  add_number(lines_, op.completed_ns);
  add_number(lines_, op.bytes);
  add_number(lines_, op.signal);
  lines_ += op.fault;
  lines_ += '\n';
  if (lines_.size() >= block_bytes) flush_locked();
}

void TruthBuffer::flush() {
  const std::lock_guard<std::mutex> guard(mutex_);
  flush_locked();
}

void TruthBuffer::flush_when_due(uint64_t now_ns) {
  if (!file_ || now_ns - flushed_ns_ < flush_interval_ns) return;
  flushed_ns_ = now_ns;
  flush();
}

void TruthBuffer::flush_locked() {
  if (lines_.empty()) return;
  file_->append(lines_);
  lines_.clear();
}

}  // namespace softgpu
