// Streams in mapped pages: many threads at once, files that may not grow, cursors that change hands.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/append_log.h"
#include "core/record_log.h"
#include "core/stream_file.h"
#include "tests/check.h"
#include "tests/file_content.h"

using namespace wavescope;

// Sanitizers leave SIGBUS alone, which is the state that most programs are in.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "handle_sigbus=0"; }
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() { return "handle_sigbus=0"; }

namespace {

constexpr Refusal kAllRefusals[] = {Refusal::kSizeLimit, Refusal::kNoSpace, Refusal::kUnreachable};
std::string folder;

std::string path_of(const char* name) { return folder + "/" + name; }

// Without the space that was allocated ahead.
std::string written_part(const std::string& content) { return content.substr(0, content.find_last_not_of('\0') + 1); }

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

std::unique_ptr<StreamFile> new_stream(const char* name, RecordSpace& space) {
  Refusal why_not = Refusal::kNone;
  auto stream = StreamFile::create(path_of(name), marker_header(), space, why_not);
  CHECK((stream == nullptr) == (why_not != Refusal::kNone));
  return stream;
}

void threads_fill_their_own_blocks() {
  constexpr uint32_t kThreads = 8;
  constexpr uint32_t kEach = 20000;
  ByteBudget budget(UINT64_MAX);
  RecordSpace space(budget);
  auto stream = new_stream("threads", space);
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
  const auto records = records_of(path_of("threads"));
  CHECK(records.size() == kThreads * kEach);
  std::vector<char> is_seen(kThreads * kEach);
  for (const auto& record : records) {
    CHECK(record.thread < kThreads && record.id >= 1 && record.id <= kEach);
    char& seen = is_seen[record.thread * kEach + record.id - 1];
    CHECK(seen == 0);
    seen = 1;
  }
  for (const Refusal why : kAllRefusals) CHECK(stream->lost(why) == 0);
  CHECK(content_of(path_of("threads")).compare(0, 8, WAVESCOPE_CHUNK_MAGIC) == 0);
}

void what_a_thread_leaves_is_used() {
  ByteBudget budget(UINT64_MAX);
  RecordSpace space(budget);
  auto stream = new_stream("left", space);
  for (uint32_t i = 0; i < 1000; ++i) {
    RecordCursor cursor{};
    auto* record = static_cast<WavescopeMarkerRecord*>(stream->next(cursor));
    record->id = i + 1;
    publish(record, WAVESCOPE_MARKER_MARK);
    stream->give_back(cursor);
    CHECK(cursor.next == cursor.end);
  }
  CHECK(records_of(path_of("left")).size() == 1000);
  const uint64_t full_blocks = 1000 * sizeof(WavescopeMarkerRecord) / StreamFile::kBlockBytes;
  CHECK(budget.used() <= (full_blocks + 1) * StreamFile::kBlockBytes);
}

void a_spent_budget_is_a_counted_loss() {
  ByteBudget budget(2 * StreamFile::kBlockBytes);
  RecordSpace space(budget);
  auto stream = new_stream("budget", space);
  const uint64_t room = 2 * StreamFile::kBlockBytes / sizeof(WavescopeMarkerRecord);
  RecordCursor cursor{};
  for (uint64_t i = 0; i < room; ++i) CHECK(stream->next(cursor) != nullptr);
  for (uint64_t i = 0; i < 10; ++i) CHECK(stream->next(cursor) == nullptr);
  CHECK(stream->lost(Refusal::kSizeLimit) == 10);
}

// The limit stands for a full disk: what cannot be had is refused before it is touched, and no signal ends the process.
void a_file_that_may_not_grow() {
  rlimit before{};
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{1 << 20, before.rlim_max};
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  ByteBudget budget(UINT64_MAX);
  RecordSpace space(budget);
  auto stream = new_stream("limit", space);
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
  CHECK(stream->lost(Refusal::kNoSpace) == 1);
  CHECK(log.refusal() == Refusal::kNoSpace);
  CHECK(written > ((1 << 20) - 8 * StreamFile::kBlockBytes) / sizeof(WavescopeMarkerRecord));
  CHECK(records_of(path_of("limit")).size() == written);
  CHECK(lines == (1 << 20) / 1000);
  log.trim();
  CHECK(content_of(path_of("limited_log")).size() == lines * 1000);
}

void a_log_that_grows_large_has_its_length_and_no_more() {
  ByteBudget budget(UINT64_MAX);
  AppendLog log(path_of("large"), budget);
  const std::string piece(100000, 'y');
  for (int i = 0; i < 40; ++i) CHECK(log.append(piece.data(), piece.size()));
  CHECK(written_part(content_of(path_of("large"))).size() == 40 * piece.size());
  log.trim();
  CHECK(content_of(path_of("large")).size() == 40 * piece.size());
  struct stat state{};
  CHECK(stat(path_of("large").c_str(), &state) == 0);
  CHECK(state.st_size == 4000000);
  CHECK(state.st_blocks * 512 < 4000000 + (1 << 20));
  CHECK(log.append(piece.data(), piece.size()));
  CHECK(written_part(content_of(path_of("large"))).size() == 41 * piece.size());
}

bool append_to(RecordLog& log, const std::string& bytes) {
  const iovec halves[] = {{const_cast<char*>(bytes.data()), bytes.size() / 2},
                          {const_cast<char*>(bytes.data()) + bytes.size() / 2, bytes.size() - bytes.size() / 2}};
  return log.append(halves, 2);
}

void records_are_appended_whole_or_not_at_all() {
  ByteBudget budget(UINT64_MAX);
  RecordSpace space(budget);
  RecordLog log(path_of("records"), sizeof(WavescopeOpRecord), space);
  const std::string piece(100000, 'z');
  for (int i = 0; i < 40; ++i) CHECK(append_to(log, piece));
  CHECK(content_of(path_of("records")) == std::string(4000000, 'z'));
  log.trim();
  struct stat state{};
  CHECK(stat(path_of("records").c_str(), &state) == 0);
  CHECK(state.st_size == 4000000 && state.st_blocks * 512 < 4000000 + (1 << 20));
  CHECK(truncate(path_of("records").c_str(), 100) == 0);
  CHECK(!append_to(log, piece) && log.refusal() == Refusal::kUnreachable);
  log.trim();
  CHECK(content_of(path_of("records")).size() == 100);
  CHECK(budget.used() == 4000000);
}

void records_beyond_a_limit_leave_the_file_as_it_was() {
  rlimit before{};
  CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
  ByteBudget budget(250000);
  RecordSpace space(budget);
  RecordLog log(path_of("few_records"), sizeof(WavescopeOpRecord), space);
  const std::string piece(100000, 'z');
  CHECK(append_to(log, piece));
  const rlimit small{150000, before.rlim_max};
  CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
  CHECK(!append_to(log, piece) && log.refusal() == Refusal::kNoSpace);
  CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(append_to(log, piece));
  CHECK(!append_to(log, piece) && log.refusal() == Refusal::kSizeLimit);
  CHECK(content_of(path_of("few_records")) == std::string(200000, 'z'));
}

bool has_descriptor_of(const std::string& path) {
  for (int number = 0; number < 1024; ++number) {
    char target[4096] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(number);
    if (readlink(link.c_str(), target, sizeof target - 1) > 0 && path == target) return true;
  }
  return false;
}

void no_descriptor_is_kept() {
  ByteBudget budget(UINT64_MAX);
  RecordSpace space(budget);
  auto stream = new_stream("without", space);
  AppendLog log(path_of("without_log"), budget);
  CHECK(log.append("x", 1));
  CHECK(!has_descriptor_of(path_of("without")) && !has_descriptor_of(path_of("without_log")));
}

void files_are_for_their_user_alone() {
  const mode_t before = umask(0777);
  ByteBudget budget(UINT64_MAX);
  AppendLog closed(path_of("private"), budget);
  umask(0);
  AppendLog open(path_of("public"), budget);
  umask(before);
  for (AppendLog* log : {&closed, &open}) CHECK(log->append("x", 1));
  for (const char* name : {"private", "public"}) {
    struct stat state{};
    CHECK(stat(path_of(name).c_str(), &state) == 0 && (state.st_mode & 0777) == 0600);
  }
}

// Fills the log until it has to grow, which it may not: whatever is at its path now is not what it made.
void a_file_in_the_place_of_a_log_is_left_alone() {
  ByteBudget budget(UINT64_MAX);
  AppendLog log(path_of("replaced"), budget);
  RecordSpace space(budget);
  auto stream = new_stream("replaced_stream", space);
  const std::string line(1000, 'x');
  CHECK(log.append(line.data(), line.size()));
  for (const char* name : {"replaced", "replaced_stream"}) {
    CHECK(unlink(path_of(name).c_str()) == 0);
    std::ofstream(path_of(name)) << "mine";
  }
  while (log.append(line.data(), line.size())) {
  }
  RecordCursor cursor{};
  while (stream->next(cursor) != nullptr) {
  }
  log.trim();
  CHECK(log.refusal() == Refusal::kUnreachable);
  CHECK(stream->lost(Refusal::kUnreachable) == 1);
  for (const char* name : {"replaced", "replaced_stream"}) CHECK(content_of(path_of(name)) == "mine");
}

void a_stream_that_is_cut_off_loses_records_only() {
  ByteBudget budget(UINT64_MAX);
  RecordSpace space(budget);
  auto stream = new_stream("cut_stream", space);
  RecordCursor cursor{};
  auto* record = static_cast<WavescopeMarkerRecord*>(stream->next(cursor));
  publish(record, WAVESCOPE_MARKER_MARK);
  CHECK(truncate(path_of("cut_stream").c_str(), 0) == 0);
  record->id = 1;
  uint64_t given = 1;
  while (stream->next(cursor) != nullptr) ++given;
  CHECK(given == StreamFile::kBlockBytes / sizeof(WavescopeMarkerRecord));
  CHECK(stream->lost(Refusal::kUnreachable) == 1);
  CHECK(content_of(path_of("cut_stream")).empty());
}

void a_log_that_is_cut_off_ends_or_goes_on() {
  ByteBudget budget(UINT64_MAX);
  AppendLog ends(path_of("cut_ends"), budget);
  AppendLog goes_on(path_of("cut_goes_on"), budget, WhenCut::kGoesOn);
  for (AppendLog* log : {&ends, &goes_on}) CHECK(log->append("before", 6));
  for (const char* name : {"cut_ends", "cut_goes_on"}) CHECK(truncate(path_of(name).c_str(), 0) == 0);
  CHECK(!ends.append("after", 5) && ends.refusal() == Refusal::kUnreachable);
  CHECK(goes_on.append("after", 5) && goes_on.append("wards", 5));
  goes_on.trim();
  CHECK(content_of(path_of("cut_ends")).empty());
  CHECK(content_of(path_of("cut_goes_on")) == std::string(6, '\0') + "afterwards");
}

// A SIGBUS that is none of ours ends the process, as it would have without the handler.
void another_bus_error_is_not_held_up() {
  for (const bool is_sent : {true, false}) {
    const pid_t child = fork();
    if (child == 0) {
      const int file = open(path_of("foreign").c_str(), O_RDWR | O_CREAT, 0600);
      CHECK(ftruncate(file, WAVESCOPE_PAGE_BYTES) == 0);
      auto* page = static_cast<volatile char*>(mmap(nullptr, WAVESCOPE_PAGE_BYTES, PROT_WRITE, MAP_SHARED, file, 0));
      CHECK(ftruncate(file, 0) == 0);
      if (is_sent) raise(SIGBUS);
      else *page = 'x';
      _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
  }
}

void a_file_is_never_taken_over() {
  ByteBudget budget(UINT64_MAX);
  RecordSpace space(budget);
  CHECK(new_stream("threads", space) == nullptr);
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
  records_are_appended_whole_or_not_at_all();
  records_beyond_a_limit_leave_the_file_as_it_was();
  no_descriptor_is_kept();
  files_are_for_their_user_alone();
  a_file_in_the_place_of_a_log_is_left_alone();
  a_stream_that_is_cut_off_loses_records_only();
  a_log_that_is_cut_off_ends_or_goes_on();
  another_bus_error_is_not_held_up();
  a_file_is_never_taken_over();
  return std::system(("rm -r " + folder).c_str());
}
