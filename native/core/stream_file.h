// A stream of fixed-size records in mapped file pages, filled by many threads at once.
//
// The file is mapped once, far beyond its end; growing it only gives pages to addresses that exist already, so a record
// never moves. A thread takes blocks of records with one atomic exchange and fills them without any lock. Disk space is
// allocated before it is used: a full disk refuses a block and never kills the process.
#ifndef WAVESCOPE_CORE_STREAM_FILE_H
#define WAVESCOPE_CORE_STREAM_FILE_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/byte_budget.h"
#include "format/chunk_format.h"

namespace wavescope {

// The part of a block that one thread has not used yet. Plain data, zero at first, so that it can live in thread storage.
struct RecordCursor {
  char* next;
  char* end;
};

class StreamFile {
 public:
  static constexpr uint64_t kBlockBytes = 3 * WAVESCOPE_PAGE_BYTES;  // a multiple of every record size

  // A new file with its header, or null when it cannot be made.
  static std::unique_ptr<StreamFile> create(const std::string& path, const WavescopeStreamHeader& header,
                                            ByteBudget& budget);
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

  // Lets another thread use what is left of a block; called when a thread ends.
  void give_back(RecordCursor& cursor);

  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  StreamFile(int file, char* pages, uint64_t reach, uint32_t record_bytes, ByteBudget& budget);
  bool refill(RecordCursor& cursor);
  bool grow_to(uint64_t bytes);

  const int file_;
  char* const pages_;
  const uint64_t reach_;  // bytes of address space behind pages_
  const uint32_t record_bytes_;
  ByteBudget& budget_;
  std::atomic<uint64_t> taken_{WAVESCOPE_PAGE_BYTES};
  std::atomic<uint64_t> allocated_{0};
  std::atomic<uint64_t> lost_{0};
  std::mutex grow_mutex_;
  std::mutex spare_mutex_;
  std::vector<RecordCursor> spare_;
};

// Makes a record count: everything else in it must have been stored before.
template <typename Record>
void publish(Record* record, uint8_t kind) {
  __atomic_store_n(&record->kind, kind, __ATOMIC_RELEASE);
}

}  // namespace wavescope

#endif
