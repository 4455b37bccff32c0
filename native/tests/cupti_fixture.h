// Buffers of activity records as versions of CUPTI lay them out, and a decoder that is given them.
#ifndef WAVESCOPE_TESTS_CUPTI_FIXTURE_H
#define WAVESCOPE_TESTS_CUPTI_FIXTURE_H

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "collector_cupti/activity_decoder.h"
#include "collector_cupti/coverage.h"
#include "collector_cupti/cupti_abi.h"
#include "collector_cupti/launch_notes.h"
#include "recorded_session.h"

namespace wavescope::cupti {

// Bytes of each record, which grew over the years; the beginnings are the same.
struct Layout {
  const char* name;
  std::size_t kernel, copy, peer_copy, fill, graph_run;
};
constexpr Layout kLayouts[] = {
    {"12.0", 208, 88, 96, 88, 48},
    {"12.9", 208, 96, 96, 88, 56},
    {"13.0", 216, 96, 96, 88, 56},
    {"13.4", 248, 112, 96, 104, 56},
};
constexpr Layout kNewest = kLayouts[3];
constexpr std::size_t kOtherBytes = 64;
inline Layout layout = kNewest;

inline std::size_t bytes_of(CuptiActivityKind kind) {
  switch (kind) {
    case CuptiActivityKind::kKernel:
    case CuptiActivityKind::kConcurrentKernel: return layout.kernel;
    case CuptiActivityKind::kMemcpy: return layout.copy;
    case CuptiActivityKind::kMemcpyPeer: return layout.peer_copy;
    case CuptiActivityKind::kMemset: return layout.fill;
    case CuptiActivityKind::kGraphTrace: return layout.graph_run;
    default: return kOtherBytes;
  }
}

// As CUPTI goes from record to record.
inline CuptiResult next_record(uint8_t* buffer, std::size_t bytes, CuptiActivity** record) {
  std::size_t at = 0;
  if (*record != nullptr) {
    at = static_cast<std::size_t>(reinterpret_cast<uint8_t*>(*record) - buffer) + bytes_of((*record)->kind);
  }
  if (at >= bytes) return CuptiResult::kMaxLimitReached;
  auto* next = reinterpret_cast<CuptiActivity*>(buffer + at);
  if (next->kind == CuptiActivityKind::kInvalid) return CuptiResult::kInvalidKind;
  *record = next;
  return CuptiResult::kSuccess;
}

class Buffer {
 public:
  template <typename Record>
  Buffer& add(const Record& record) {
    const std::size_t bytes = bytes_of(record.kind);
    const std::size_t begin = words_.size();
    words_.resize(begin + bytes / sizeof(uint64_t), 0xa5a5a5a5a5a5a5a5u);  // what an older reader does not know
    std::memcpy(&words_[begin], &record, sizeof record);
    return *this;
  }
  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(words_.data()); }
  std::size_t bytes() const { return words_.size() * sizeof(uint64_t); }

 private:
  std::vector<uint64_t> words_;
};

inline KernelRecord a_kernel(const char* name, uint64_t start, uint64_t end) {
  KernelRecord record{};
  record.kind = CuptiActivityKind::kConcurrentKernel;
  record.registers_per_thread = 32;
  record.start = start;
  record.end = end;
  record.context = 1;
  record.stream = 7;
  for (int axis = 0; axis < 3; ++axis) record.grid[axis] = record.block[axis] = 1;
  record.name = name;
  return record;
}

inline MemcpyRecord a_copy(CopyKind kind, uint64_t bytes, uint64_t start, uint64_t end) {
  MemcpyRecord record{};
  record.kind = CuptiActivityKind::kMemcpy;
  record.copy_kind = kind;
  record.bytes = bytes;
  record.start = start;
  record.end = end;
  record.context = 1;
  record.stream = 7;
  return record;
}

// A recording process with a decoder; one in a process.
struct DecodingProcess {
  explicit DecodingProcess(decltype(&next_record) walk = next_record) {
    CHECK(Session::current() != nullptr);
    library.activity_get_next_record = walk;
  }

  void decode(const Buffer& buffer) { decoder.decode(buffer.data(), buffer.bytes()); }
  std::vector<WavescopeGraphOpRecord> ops() const { return recorded.records<WavescopeGraphOpRecord>("ops"); }
  WavescopeCounterRecord counters(uint32_t gpu = 0) const {
    for (const auto& record : recorded.records<WavescopeCounterRecord>("counters")) {
      if (record.gpu == gpu) return record;
    }
    return {};
  }

  RecordedSession recorded{"standard"};
  CuptiLibrary library;
  LaunchNotes notes;
  Coverage coverage{*Session::current()};
  ActivityDecoder decoder{*Session::current(), library, notes, coverage};
};

// Does the work in a child, so that each has a session of its own.
template <typename Work>
void in_child(Work work) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace wavescope::cupti

#endif
