// A stream of fixed-size records in mapped file pages, filled by many threads at once.
//
// The file grows by windows, each mapped where there is room and kept, so a record never moves and no more address space
// is taken than there are records: a window goes when all its records were dropped. A thread takes a block of records at a
// time and fills it without any lock. Disk space is allocated before it is used: a full disk refuses a block and never kills
// the process.
#ifndef WAVESCOPE_CORE_STREAM_FILE_H
#define WAVESCOPE_CORE_STREAM_FILE_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/own_file.h"
#include "core/record_space.h"
#include "format/chunk_format.h"

namespace wavescope {

// The part of a block that one thread has not used yet. Plain data, zero at first, so that it can live in thread storage.
struct RecordCursor {
  char* next;
  char* end;
};

// Whether nobody will write to a published record any more.
using IsOver = bool (*)(const char* record);

class StreamFile final : public SpentStream {
 public:
  static constexpr uint64_t kBlockBytes = 3 * WAVESCOPE_PAGE_BYTES;  // a multiple of every record size

  // A new file with its header, or null when it cannot be made, and why. Without `is_record_over` no record is ever dropped.
  static std::unique_ptr<StreamFile> create(const std::string& path, const WavescopeStreamHeader& header, RecordSpace& space,
                                            Refusal& why_not, IsOver is_record_over = nullptr);
  ~StreamFile();
  StreamFile(const StreamFile&) = delete;
  StreamFile& operator=(const StreamFile&) = delete;

  // The next record of the thread's block, all zero; null when there is no more room, which is counted as a loss.
  void* next(RecordCursor& cursor) {
    if (cursor.next == cursor.end && !refill(cursor)) return nullptr;
    char* record = cursor.next;
    cursor.next += record_bytes_;
    return record;
  }

  bool can_drop() const { return can_drop_; }

  // Lets another thread use what is left of a block; called when a thread ends.
  void give_back(RecordCursor& cursor);

  // Records that were refused, by why.
  uint64_t lost(Refusal refusal) const { return lost_[static_cast<int>(refusal)].load(std::memory_order_relaxed); }

 private:
  struct MappedPart {
    FileWindow window;
    uint64_t dropped_bytes;
  };

  StreamFile(const std::string& path, uint32_t record_bytes, RecordSpace& space, IsOver is_record_over);
  bool is_over(const FilePart& block) override;
  void drop(const std::vector<FilePart>& parts) override;
  bool refill(RecordCursor& cursor);
  Refusal take_block(RecordCursor& cursor);
  bool take_spare(RecordCursor& cursor);
  void let_go_if_full(RecordCursor& cursor);
  Refusal grow(uint64_t least_bytes);
  bool was_cut() const;
  MappedPart& part_at(uint64_t offset);
  uint64_t count_records(const FilePart& part);
  void forget_pages(FilePart part);

  OwnFile file_;
  const uint32_t record_bytes_;
  RecordSpace& space_;
  const IsOver is_record_over_;
  const bool can_drop_;
  std::atomic<uint64_t> lost_[kRefusals] = {};
  std::mutex mutex_;  // of all below
  std::vector<MappedPart> parts_;
  uint64_t taken_ = 0;  // bytes of the file that were given out
  std::vector<RecordCursor> spare_;
};

// Makes a record count: everything else in it must have been stored before.
template <typename Record>
void publish(Record* record, uint8_t kind) {
  __atomic_store_n(&record->kind, kind, __ATOMIC_RELEASE);
}

}  // namespace wavescope

#endif
