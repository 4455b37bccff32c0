// Streams in mapped pages: many threads at once, files that may not grow, cursors that change hands.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/append_log.h"
#include "core/stream_file.h"
#include "tests/check.h"

using namespace wavescope;

namespace {

std::string folder;

std::string path_of(const char* name) { return folder + "/" + name; }

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

WavescopeStreamHeader marker_header() {
  WavescopeStreamHeader header{};
  std::memcpy(header.magic, WAVESCOPE_CHUNK_MAGIC, 8);
  header.version = WAVESCOPE_CHUNK_VERSION;
  header.stream = WAVESCOPE_STREAM_MARKERS;
  header.record_bytes = sizeof(WavescopeMarkerRecord);
  return header;
}

std::vector<WavescopeMarkerRecord> records_of(const std::string& path) {
  const std::string content = content_of(path);
  std::vector<WavescopeMarkerRecord> records;
  for (std::size_t at = WAVESCOPE_PAGE_BYTES; at + sizeof(WavescopeMarkerRecord) <= content.size();
       at += sizeof(WavescopeMarkerRecord)) {
    WavescopeMarkerRecord record;
    std::memcpy(&record, content.data() + at, sizeof record);
    if (record.kind != 0) records.push_back(record);
  }
  return records;
}

void threads_fill_their_own_blocks() {
  constexpr uint32_t kThreads = 8;
  constexpr uint32_t kEach = 20000;
  ByteBudget budget(UINT64_MAX);
  auto stream = StreamFile::create(path_of("threads"), marker_header(), budget);
  CHECK(stream != nullptr);
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      RecordCursor cursor{};
      for (uint32_t i = 0; i < kEach; ++i) {
        auto* record = static_cast<WavescopeMarkerRecord*>(stream->next(cursor));
        CHECK(record != nullptr && record->kind == 0 && record->id == 0);
        record->thread = thread;
        record->id = i + 1;
        publish(record, WAVESCOPE_MARKER_MARK);
      }
      stream->give_back(cursor);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::pair<uint32_t, uint32_t>> seen;
  const auto records = records_of(path_of("threads"));
  for (const auto& record : records) seen.emplace(record.thread, record.id);
  CHECK(records.size() == kThreads * kEach);
  CHECK(seen.size() == kThreads * kEach);
  CHECK(stream->lost() == 0);
  CHECK(content_of(path_of("threads")).compare(0, 8, WAVESCOPE_CHUNK_MAGIC) == 0);
}

void what_a_thread_leaves_is_used() {
  ByteBudget budget(UINT64_MAX);
  auto stream = StreamFile::create(path_of("left"), marker_header(), budget);
  for (uint32_t i = 0; i < 1000; ++i) {
    RecordCursor cursor{};
    auto* record = static_cast<WavescopeMarkerRecord*>(stream->next(cursor));
    record->id = i + 1;
    publish(record, WAVESCOPE_MARKER_MARK);
    stream->give_back(cursor);
    CHECK(cursor.next == cursor.end);
  }
  CHECK(records_of(path_of("left")).size() == 1000);
  CHECK(budget.used() <= 4 * StreamFile::kBlockBytes);
}

void a_spent_budget_is_a_counted_loss() {
  ByteBudget budget(2 * StreamFile::kBlockBytes);
  auto stream = StreamFile::create(path_of("budget"), marker_header(), budget);
  const uint64_t room = 2 * StreamFile::kBlockBytes / sizeof(WavescopeMarkerRecord);
  RecordCursor cursor{};
  for (uint64_t i = 0; i < room; ++i) CHECK(stream->next(cursor) != nullptr);
  for (uint64_t i = 0; i < 10; ++i) CHECK(stream->next(cursor) == nullptr);
  CHECK(stream->lost() == 10);
}

// The limit stands for a full disk: what cannot be had is refused before it is touched, and no signal ends the process.
void a_file_that_may_not_grow() {
  rlimit before{};
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{1 << 20, before.rlim_max};
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  ByteBudget budget(UINT64_MAX);
  auto stream = StreamFile::create(path_of("limit"), marker_header(), budget);
  CHECK(stream != nullptr);
  RecordCursor cursor{};
  uint64_t written = 0;
  while (auto* record = static_cast<WavescopeMarkerRecord*>(stream->next(cursor))) {
    publish(record, WAVESCOPE_MARKER_MARK);
    ++written;
  }
  AppendLog log(path_of("limited_log"), budget);
  const std::string line(1000, 'x');
  uint64_t lines = 0;
  while (log.append(line.data(), line.size())) ++lines;
  CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(stream->lost() == 1);
  CHECK(written > ((1 << 20) - 8 * StreamFile::kBlockBytes) / sizeof(WavescopeMarkerRecord));
  CHECK(records_of(path_of("limit")).size() == written);
  CHECK(lines == (1 << 20) / 1000);
  CHECK(content_of(path_of("limited_log")).size() == lines * 1000);
}

void a_log_that_grows_large_has_its_length_and_no_more() {
  ByteBudget budget(UINT64_MAX);
  AppendLog log(path_of("large"), budget);
  const std::string piece(100000, 'y');
  for (int i = 0; i < 40; ++i) CHECK(log.append(piece.data(), piece.size()));
  CHECK(content_of(path_of("large")).size() == 40 * piece.size());
  log.trim();
  struct stat state {};
  CHECK(stat(path_of("large").c_str(), &state) == 0);
  CHECK(state.st_size == 4000000);
  CHECK(state.st_blocks * 512 < 4000000 + (1 << 20));
  CHECK(log.append(piece.data(), piece.size()));
  CHECK(content_of(path_of("large")).size() == 41 * piece.size());
}

void a_file_is_never_taken_over() {
  ByteBudget budget(UINT64_MAX);
  CHECK(StreamFile::create(path_of("threads"), marker_header(), budget) == nullptr);
  AppendLog log(path_of("large"), budget);
  CHECK(!log.usable());
  CHECK(!log.append("x", 1));
}

}  // namespace

int main() {
  char pattern[] = "/tmp/wavescope-streams-XXXXXX";
  folder = mkdtemp(pattern);
  threads_fill_their_own_blocks();
  what_a_thread_leaves_is_used();
  a_spent_budget_is_a_counted_loss();
  a_file_that_may_not_grow();
  a_log_that_grows_large_has_its_length_and_no_more();
  a_file_is_never_taken_over();
  return std::system(("rm -r " + folder).c_str());
}
