// A limit that keeps the newest records: what goes, what stays, what is counted, what the disk holds.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/append_log.h"
#include "core/clock.h"
#include "core/facts_log.h"
#include "core/record_log.h"
#include "core/record_space.h"
#include "core/stream_file.h"
#include "core/text_log.h"
#include "tests/check.h"
#include "tests/file_content.h"

using namespace wavescope;

namespace {

constexpr uint64_t kLimit = 1 << 20;
constexpr uint64_t kAtATime = kLimit / 64 + 5 * WAVESCOPE_PAGE_BYTES;  // what a need for room frees, at most
std::string folder;

std::string path_of(const std::string& name) { return folder + "/" + name; }

template <typename Record>
WavescopeStreamHeader header_of(WavescopeStream stream) {
  WavescopeStreamHeader header{};
  std::memcpy(header.magic, WAVESCOPE_CHUNK_MAGIC, 8);
  header.version = WAVESCOPE_CHUNK_VERSION;
  header.stream = stream;
  header.record_bytes = sizeof(Record);
  return header;
}

WavescopeDropped dropped_of(const std::string& path) {
  const std::string content = content_of(path);
  WavescopeDropped dropped{};
  std::memcpy(&dropped, content.data() + sizeof(WavescopeStreamHeader), sizeof dropped);
  return dropped;
}

template <typename Record>
std::vector<Record> records_of(const std::string& path) {
  const std::string content = content_of(path);
  std::vector<Record> records;
  for (std::size_t at = WAVESCOPE_PAGE_BYTES; at + sizeof(Record) <= content.size(); at += sizeof(Record)) {
    Record record;
    std::memcpy(&record, content.data() + at, sizeof record);
    if (*reinterpret_cast<const char*>(&record) != 0) records.push_back(record);
  }
  return records;
}

uint64_t disk_bytes(const std::string& path) {
  struct stat state{};
  CHECK(stat(path.c_str(), &state) == 0);
  return static_cast<uint64_t>(state.st_blocks) * 512;
}

template <typename Record>
std::unique_ptr<RecordLog> new_log(const std::string& name, RecordSpace& space) {
  auto log = std::make_unique<RecordLog>(path_of(name), sizeof(Record), space);
  char page[WAVESCOPE_PAGE_BYTES] = {};
  const WavescopeStreamHeader header = header_of<Record>(WAVESCOPE_STREAM_OPS);
  std::memcpy(page, &header, sizeof header);
  const iovec piece{page, sizeof page};
  CHECK(log->append(&piece, 1));
  return log;
}

template <typename Record>
Record op(uint64_t number) {
  Record record{};
  auto* common = reinterpret_cast<WavescopeOpRecord*>(&record);
  common->kind = number % 5 == 0 ? WAVESCOPE_OP_COPY : WAVESCOPE_OP_DISPATCH;
  common->gpu = static_cast<uint16_t>(number % 2);
  common->queue = static_cast<uint16_t>(number % 3);
  common->start = number;
  return record;
}

template <typename Record>
void append_ops(RecordLog& log, uint64_t first, uint64_t end, uint64_t at_once) {
  std::vector<Record> records;
  for (uint64_t number = first; number < end; ++number) {
    records.push_back(op<Record>(number));
    if (records.size() < at_once && number + 1 < end) continue;
    const iovec piece{records.data(), records.size() * sizeof(Record)};
    CHECK(log.append(&piece, 1));
    records.clear();
  }
}

void nothing_is_dropped_for_what_never_fits() {
  ByteBudget budget(kLimit, Keep::kNewest);
  RecordSpace space(budget);
  auto log = new_log<WavescopeOpRecord>("never_fits", space);
  append_ops<WavescopeOpRecord>(*log, 0, 30000, 100);
  const std::size_t kept = records_of<WavescopeOpRecord>(path_of("never_fits")).size();
  const std::vector<WavescopeOpRecord> many(kLimit / sizeof(WavescopeOpRecord) + 1, op<WavescopeOpRecord>(1));
  const iovec piece{const_cast<WavescopeOpRecord*>(many.data()), many.size() * sizeof(WavescopeOpRecord)};
  CHECK(!log->append(&piece, 1) && log->refusal() == Refusal::kSizeLimit);
  CHECK(kept > 10000 && records_of<WavescopeOpRecord>(path_of("never_fits")).size() == kept);
  append_ops<WavescopeOpRecord>(*log, 30000, 30100, 100);
  CHECK(records_of<WavescopeOpRecord>(path_of("never_fits")).back().start == 30099);
}

template <typename Record>
void the_newest_ops_stay(const std::string& name) {
  constexpr uint64_t kOps = 100000;
  ByteBudget budget(kLimit, Keep::kNewest);
  RecordSpace space(budget);
  auto log = new_log<Record>(name, space);
  append_ops<Record>(*log, 0, kOps, 100);
  const auto kept = records_of<Record>(path_of(name));
  const WavescopeDropped dropped = dropped_of(path_of(name));
  CHECK(dropped.records + kept.size() == kOps);
  for (std::size_t at = 0; at < kept.size(); ++at) {
    CHECK(reinterpret_cast<const WavescopeOpRecord*>(&kept[at])->start == dropped.records + at);
  }
  CHECK(kept.size() * sizeof(Record) > kLimit - WAVESCOPE_PAGE_BYTES - kAtATime - 100 * sizeof(Record));
  CHECK(budget.used() <= kLimit && budget.written() == WAVESCOPE_PAGE_BYTES + kOps * sizeof(Record));
  log->trim();
  CHECK(disk_bytes(path_of(name)) <= kLimit + 2 * WAVESCOPE_PAGE_BYTES);
  uint64_t counted = 0;
  for (uint64_t at = 0; at < dropped.entries; ++at) {
    const WavescopeDroppedOps& entry = dropped.ops[at];
    uint64_t expected = 0;
    for (uint64_t number = 0; number < dropped.records; ++number) {
      const auto record = op<Record>(number);
      const auto* common = reinterpret_cast<const WavescopeOpRecord*>(&record);
      if (common->gpu == entry.gpu && common->queue == entry.queue && common->kind == entry.kind) ++expected;
    }
    CHECK(entry.count == expected && expected > 0);
    counted += entry.count;
  }
  CHECK(dropped.entries == 12 && counted == dropped.records);
}

void count(DroppedOps& dropped, int kind, uint16_t queue, int flags = 0) {
  WavescopeOpRecord record{};
  record.kind = static_cast<uint8_t>(kind);
  record.queue = queue;
  record.flags = static_cast<uint8_t>(flags);
  dropped.count(reinterpret_cast<const char*>(&record), sizeof record);
}

bool has(const WavescopeDroppedOps& entry, uint16_t gpu, uint16_t queue, WavescopeOpKind kind, uint64_t count) {
  return entry.gpu == gpu && entry.queue == queue && entry.kind == kind && entry.count == count;
}

void more_queues_than_entries_are_counted_together() {
  DroppedOps dropped(sizeof(WavescopeOpRecord));
  for (uint16_t queue = 0; queue < 300; ++queue) {
    for (int times = 0; times < 2; ++times) count(dropped, WAVESCOPE_OP_DISPATCH, queue);
  }
  const WavescopeDropped& table = dropped.table();
  CHECK(table.entries == 248);
  CHECK(has(table.ops[246], 0, 246, WAVESCOPE_OP_DISPATCH, 2));
  CHECK(has(table.ops[247], WAVESCOPE_ANY_GPU, WAVESCOPE_ALL_QUEUES, WAVESCOPE_OP_DISPATCH, 2 * 53));
}

void beyond_the_entries_each_kind_is_counted_for_itself() {
  DroppedOps dropped(sizeof(WavescopeOpRecord));
  for (uint16_t queue = 0; queue < 247; ++queue) count(dropped, WAVESCOPE_OP_DISPATCH, queue);
  const WavescopeOpKind kinds[] = {WAVESCOPE_OP_COPY, WAVESCOPE_OP_DISPATCH, WAVESCOPE_OP_FILL, WAVESCOPE_OP_BARRIER,
                                   WAVESCOPE_OP_GRAPH_RUN};
  for (uint16_t queue = 300; queue < 303; ++queue) {
    for (const WavescopeOpKind kind : kinds) count(dropped, kind, queue);
  }
  count(dropped, 9, 0);  // somebody else wrote to the file
  count(dropped, WAVESCOPE_OP_DISPATCH, 5);
  const WavescopeDropped& table = dropped.table();
  CHECK(table.entries == WAVESCOPE_DROPPED_OPS);
  CHECK(has(table.ops[5], 0, 5, WAVESCOPE_OP_DISPATCH, 2));
  for (int at = 0; at < 5; ++at) {
    CHECK(has(table.ops[247 + at], WAVESCOPE_ANY_GPU, WAVESCOPE_ALL_QUEUES, kinds[at], 3));
  }
}

void dispatches_without_times_are_counted_as_lost_and_not_again() {
  DroppedOps dropped(sizeof(WavescopeOpRecord));
  for (const int flags : {0, WAVESCOPE_OP_TIMES_LOST + 0, WAVESCOPE_OP_TIMES_LOST | WAVESCOPE_OP_GRAPH}) {
    count(dropped, WAVESCOPE_OP_DISPATCH, 1, flags);
    count(dropped, WAVESCOPE_OP_COPY, WAVESCOPE_COPY_QUEUE, flags);
  }
  const WavescopeDropped& table = dropped.table();
  CHECK(table.entries == 2);
  CHECK(has(table.ops[0], 0, 1, WAVESCOPE_OP_DISPATCH, 1));
  CHECK(has(table.ops[1], 0, WAVESCOPE_COPY_QUEUE, WAVESCOPE_OP_COPY, 3));
}

bool is_closed(const char* marker) { return __atomic_load_n(marker, __ATOMIC_ACQUIRE) != WAVESCOPE_MARKER_OPEN; }

std::unique_ptr<StreamFile> new_markers(const std::string& name, RecordSpace& space) {
  Refusal why_not = Refusal::kNone;
  const auto header = header_of<WavescopeMarkerRecord>(WAVESCOPE_STREAM_MARKERS);
  auto stream = StreamFile::create(path_of(name), header, space, why_not, is_closed);
  CHECK(stream != nullptr && stream->can_drop());
  return stream;
}

WavescopeMarkerRecord* mark(StreamFile& stream, RecordCursor& cursor, uint32_t id, uint8_t kind = WAVESCOPE_MARKER_MARK) {
  auto* record = static_cast<WavescopeMarkerRecord*>(stream.next(cursor));
  CHECK(record != nullptr && record->kind == 0 && record->id == 0);
  record->id = id;
  publish(record, kind);
  return record;
}

void the_newest_markers_stay_and_open_ranges_too() {
  constexpr uint32_t kMarkers = 200000;
  ByteBudget budget(kLimit, Keep::kNewest);
  RecordSpace space(budget);
  auto stream = new_markers("markers", space);
  RecordCursor cursor{};
  WavescopeMarkerRecord* open = mark(*stream, cursor, 1, WAVESCOPE_MARKER_OPEN);
  for (uint32_t id = 2; id <= kMarkers; ++id) mark(*stream, cursor, id);
  auto kept = records_of<WavescopeMarkerRecord>(path_of("markers"));
  CHECK(kept.size() + dropped_of(path_of("markers")).records == kMarkers);
  CHECK(kept[0].id == 1 && kept[0].kind == WAVESCOPE_MARKER_OPEN);
  const std::size_t in_block = StreamFile::kBlockBytes / sizeof(WavescopeMarkerRecord);
  for (std::size_t at = in_block; at < kept.size(); ++at) CHECK(kept[at].id == kMarkers - (kept.size() - 1 - at));
  CHECK(kept.size() * sizeof(WavescopeMarkerRecord) > kLimit - kAtATime - StreamFile::kBlockBytes);
  CHECK(disk_bytes(path_of("markers")) <= kLimit + kLimit / 64 + 2 * WAVESCOPE_PAGE_BYTES);
  publish(open, WAVESCOPE_MARKER_RANGE);
  for (uint32_t id = kMarkers + 1; id <= 2 * kMarkers; ++id) mark(*stream, cursor, id);
  kept = records_of<WavescopeMarkerRecord>(path_of("markers"));
  CHECK(kept[0].id == 2 * kMarkers - (kept.size() - 1));
  CHECK(stream->lost(Refusal::kSizeLimit) == 0);
}

// Ranges that nobody closes leave no room in the end: then it is as if the oldest were to be kept.
void a_stream_full_of_open_ranges_refuses_more() {
  ByteBudget budget(kLimit, Keep::kNewest);
  RecordSpace space(budget);
  auto stream = new_markers("open", space);
  RecordCursor cursor{};
  uint64_t given = 0;
  while (auto* record = static_cast<WavescopeMarkerRecord*>(stream->next(cursor))) {
    publish(record, WAVESCOPE_MARKER_OPEN);
    ++given;
  }
  CHECK(given == kLimit / StreamFile::kBlockBytes * StreamFile::kBlockBytes / sizeof(WavescopeMarkerRecord));
  CHECK(stream->lost(Refusal::kSizeLimit) == 1 && dropped_of(path_of("open")).records == 0);
}

void streams_share_the_room_by_age() {
  ByteBudget budget(kLimit, Keep::kNewest);
  RecordSpace space(budget);
  auto log = new_log<WavescopeOpRecord>("shared_ops", space);
  auto stream = new_markers("shared_markers", space);
  RecordCursor cursor{};
  append_ops<WavescopeOpRecord>(*log, 0, 50000, 64);
  CHECK(records_of<WavescopeMarkerRecord>(path_of("shared_markers")).empty());
  for (uint32_t id = 1; id <= 50000; ++id) mark(*stream, cursor, id);  // more than there is room for in all
  CHECK(records_of<WavescopeOpRecord>(path_of("shared_ops")).size() < 5 * WAVESCOPE_PAGE_BYTES / sizeof(WavescopeOpRecord));
  for (uint32_t turn = 0; turn < 1000; ++turn) {
    append_ops<WavescopeOpRecord>(*log, 50000 + 64 * turn, 50000 + 64 * (turn + 1), 64);
    for (uint32_t id = 0; id < 64; ++id) mark(*stream, cursor, 50001 + 64 * turn + id);
  }
  const auto ops = records_of<WavescopeOpRecord>(path_of("shared_ops"));
  const auto markers = records_of<WavescopeMarkerRecord>(path_of("shared_markers"));
  CHECK(ops.back().start == 113999 && markers.back().id == 114000);
  CHECK(std::max(ops.size(), markers.size()) - std::min(ops.size(), markers.size()) < 1000);
  CHECK((ops.size() + markers.size()) * 64 > kLimit - 2 * kAtATime - StreamFile::kBlockBytes);
}

void names_may_have_half_of_it_and_records_make_room() {
  ByteBudget budget(kLimit, Keep::kNewest);
  RecordSpace space(budget);
  auto log = new_log<WavescopeOpRecord>("beside_names", space);
  append_ops<WavescopeOpRecord>(*log, 0, 50000, 64);
  AppendLog names(path_of("names"), budget);
  const std::string line(1000, 'x');
  uint64_t lines = 0;
  while (names.append(line.data(), line.size())) ++lines;
  CHECK(lines == kLimit / 2 / 1000 && names.refusal() == Refusal::kSizeLimit);
  TextLog texts(path_of("texts"), budget);
  CHECK(texts.intern("new") == 0 && texts.refused() == 1 && texts.refusal() == Refusal::kSizeLimit);
  append_ops<WavescopeOpRecord>(*log, 50000, 50064, 64);
  CHECK(budget.used() <= kLimit);
  CHECK(records_of<WavescopeOpRecord>(path_of("beside_names")).back().start == 50063);
}

void texts_leave_room_for_facts() {
  ByteBudget budget(kLimit, Keep::kNewest);
  TextLog texts(path_of("many_texts"), budget);
  uint64_t written = 0;
  while (texts.intern(std::to_string(written) + std::string(984, 'x')) != 0) ++written;
  CHECK(written > kLimit / 8 * 3 / 1024 && written < kLimit / 8 * 3 / 1000);
  FactsLog facts(path_of("few_facts"), budget);
  CHECK(facts.note("there is room", 1));
}

void a_text_that_was_refused_is_told_with_its_reason_though_later_ones_fit() {
  ByteBudget budget(16384, Keep::kNewest);
  TextLog texts(path_of("long_text"), budget);
  CHECK(texts.intern(std::string(20000, 'x')) == 0 && texts.intern("short") == 1);
  CHECK(texts.refused() == 1 && texts.refusal() == Refusal::kSizeLimit);
}

class FileOnPaper final : public SpentStream {
 public:
  bool is_over(const FilePart&) override { return true; }
  void drop(const std::vector<FilePart>&) override {}
};

// What one thread makes room for, another may take first.
void nothing_is_refused_while_there_is_something_to_drop() {
  constexpr uint64_t kPart = StreamFile::kBlockBytes;
  ByteBudget budget(64 * kPart, Keep::kNewest);
  RecordSpace space(budget);
  FileOnPaper file;
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) {
      if (budget.take(kPart)) budget.give_back(kPart);
    }
  });
  uint64_t refused = 0;
  for (uint64_t at = 0; at < 200000; ++at) {
    if (space.take(kPart)) space.add_filled(file, FilePart{at * kPart, (at + 1) * kPart});
    else ++refused;
  }
  is_over = true;
  other.join();
  CHECK(refused == 0);
  CHECK(budget.used() <= budget.limit());
}

void threads_that_need_room_at_once() {
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kEach = 50000;
  ByteBudget budget(kLimit, Keep::kNewest);
  RecordSpace space(budget);
  auto log = new_log<WavescopeOpRecord>("busy_ops", space);
  auto one = new_markers("busy_markers", space);
  auto other = new_markers("busy_ranges", space);
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      StreamFile& stream = thread % 2 == 0 ? *one : *other;
      RecordCursor cursor{};
      for (uint32_t at = 0; at < kEach; ++at) {
        publish(mark(stream, cursor, thread * kEach + at + 1, WAVESCOPE_MARKER_OPEN), WAVESCOPE_MARKER_RANGE);
      }
      stream.give_back(cursor);
    });
  }
  append_ops<WavescopeOpRecord>(*log, 0, kEach, 64);
  for (std::thread& thread : threads) thread.join();
  CHECK(budget.used() <= kLimit);
  CHECK(records_of<WavescopeOpRecord>(path_of("busy_ops")).size() + dropped_of(path_of("busy_ops")).records == kEach);
  for (const char* name : {"busy_markers", "busy_ranges"}) {
    CHECK(records_of<WavescopeMarkerRecord>(path_of(name)).size() + dropped_of(path_of(name)).records == 2 * kEach);
  }
}

// Who copies the files asks for it on the control page; what comes meanwhile is beyond the limit until it is made up for.
void nothing_is_dropped_while_somebody_reads() {
  const Settings settings;
  Control control(path_of("control"), settings, 0);
  ByteBudget budget(kLimit, Keep::kNewest);
  RecordSpace space(budget, &control);
  auto log = new_log<WavescopeOpRecord>("still", space);
  append_ops<WavescopeOpRecord>(*log, 0, 20000, 64);
  const uint64_t dropped = dropped_of(path_of("still")).records;
  FILE* page = std::fopen(path_of("control").c_str(), "r+b");
  const auto set_still = [&](uint64_t until_ns) {
    CHECK(std::fseek(page, offsetof(WavescopeControlPage, still_until_ns), SEEK_SET) == 0);
    CHECK(std::fwrite(&until_ns, sizeof until_ns, 1, page) == 1 && std::fflush(page) == 0);
  };
  set_still(boottime_ns() + 60000000000);
  append_ops<WavescopeOpRecord>(*log, 20000, 40000, 64);
  CHECK(dropped_of(path_of("still")).records == dropped && budget.used() > 2 * kLimit);
  set_still(0);
  append_ops<WavescopeOpRecord>(*log, 40000, 40064, 64);
  std::fclose(page);
  CHECK(budget.used() <= kLimit);
  CHECK(records_of<WavescopeOpRecord>(path_of("still")).size() + dropped_of(path_of("still")).records == 40064);
}

}  // namespace

int main() {
  char pattern[] = "/tmp/wavescope-space-XXXXXX";
  folder = mkdtemp(pattern);
  nothing_is_dropped_for_what_never_fits();
  the_newest_ops_stay<WavescopeOpRecord>("ops");
  the_newest_ops_stay<WavescopeGraphOpRecord>("graph_ops");
  more_queues_than_entries_are_counted_together();
  beyond_the_entries_each_kind_is_counted_for_itself();
  dispatches_without_times_are_counted_as_lost_and_not_again();
  the_newest_markers_stay_and_open_ranges_too();
  a_stream_full_of_open_ranges_refuses_more();
  streams_share_the_room_by_age();
  names_may_have_half_of_it_and_records_make_room();
  texts_leave_room_for_facts();
  a_text_that_was_refused_is_told_with_its_reason_though_later_ones_fit();
  nothing_is_refused_while_there_is_something_to_drop();
  threads_that_need_room_at_once();
  nothing_is_dropped_while_somebody_reads();
  return std::system(("rm -r " + folder).c_str());
}
