#include "core/session.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/clock.h"
#include "core/cut_off_guard.h"
#include "core/file_thread.h"
#include "core/not_cancelled.h"
#include "core/process_facts.h"

namespace wavescope {
namespace {

constexpr int kMostHooks = 16;

struct Hooks {
  std::atomic<int> count{0};
  Session::Hook hooks[kMostHooks] = {};

  void add(Session::Hook hook) {
    const int at = count.fetch_add(1);
    if (at < kMostHooks) hooks[at] = hook;
  }
  void run() const {
    for (int at = std::min(count.load(), kMostHooks) - 1; at >= 0; --at) {
      if (hooks[at] != nullptr) hooks[at]();
    }
  }
};

// Plain storage that is never destroyed: threads use it until the process is gone.
Hooks& finish_hooks() {
  static Hooks& hooks = *new Hooks;
  return hooks;
}
Hooks& quick_hooks() {
  static Hooks& hooks = *new Hooks;
  return hooks;
}
Hooks& fork_hooks() {
  static Hooks& hooks = *new Hooks;
  return hooks;
}
std::mutex& open_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}
std::atomic<bool> refused{false};
std::atomic<bool> finished{false};

// For this user alone, whatever the program's umask is.
bool make_folder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) != 0) return errno == EEXIST;
  return chmod(folder.c_str(), 0700) == 0;
}

// The program may change its folder at any time.
std::string absolute(const std::string& folder) {
  char current[PATH_MAX];
  if (folder.empty() || folder[0] == '/' || getcwd(current, sizeof current) == nullptr) return folder;
  return std::string(current) + "/" + folder;
}

}  // namespace

std::atomic<Session*> Session::current_{nullptr};

Session::Session(const std::string& folder)
    : start_ns_(boottime_ns()),
      pid_(static_cast<uint32_t>(getpid())),
      folder_(absolute(folder)),
      budget_(settings().max_bytes, settings().keep),
      facts_(path_of("facts"), budget_),
      texts_(path_of("text"), budget_),
      control_(path_of("control"), settings(), start_ns_),
      space_(budget_, &control_) {}

Session* Session::open() {
  if (!settings().enabled() || refused.load(std::memory_order_relaxed)) return nullptr;
  const NotCancelled in_here;
  const std::lock_guard<std::mutex> lock(open_mutex());
  if (Session* session = current_.load(std::memory_order_acquire)) return session;
  if (!make_folder(settings().output)) {
    refused = true;
    if (settings().verbose) std::fprintf(stderr, "wavescope: cannot write %s\n", settings().output.c_str());
    return nullptr;
  }
  auto* session = new (std::nothrow) Session(settings().output);
  if (session == nullptr || !session->facts_.append(process_fact(settings(), session->start_ns_))) {
    refused = true;
    if (session != nullptr) session->remove_files();
    if (settings().verbose) std::fprintf(stderr, "wavescope: cannot record into %s\n", settings().output.c_str());
    return nullptr;
  }
  static std::once_flag fork_handled;
  std::call_once(fork_handled, [] { pthread_atfork(nullptr, nullptr, forget_in_child); });
  current_.store(session, std::memory_order_release);
  return session;
}

// Of a session that could not begin; nobody is to take it for one that recorded nothing.
void Session::remove_files() const {
  for (const char* suffix : {"facts", "text", "control"}) unlink(path_of(suffix).c_str());
}

void Session::forget_in_child() {
  current_.store(nullptr, std::memory_order_release);
  FileThread::forget_in_child();
  new (&open_mutex()) std::mutex;  // another thread of the parent may have held it
  finished = false;
  thread_storage = ThreadState{};
  fork_hooks().run();
}

void Session::at_finish(Hook hook) { finish_hooks().add(hook); }
void Session::at_quick_finish(Hook hook) { quick_hooks().add(hook); }
void Session::at_fork_child(Hook hook) { fork_hooks().add(hook); }

WavescopeStreamHeader Session::header_of(WavescopeStream stream, uint32_t record_bytes) const {
  WavescopeStreamHeader header{};
  std::memcpy(header.magic, WAVESCOPE_CHUNK_MAGIC, sizeof header.magic);
  header.version = WAVESCOPE_CHUNK_VERSION;
  header.stream = stream;
  header.record_bytes = record_bytes;
  header.pid = pid_;
  header.start_ns = start_ns_;
  return header;
}

StreamFile* Session::make(LazyStream& lazy) {
  std::call_once(lazy.made, [&] {
    const WavescopeStreamHeader header = header_of(lazy.stream, lazy.record_bytes);
    lazy.file.store(StreamFile::create(path_of(lazy.suffix), header, space_, lazy.why, lazy.is_over).release(),
                    std::memory_order_release);
    const StreamFile* made = lazy.file.load(std::memory_order_relaxed);
    if (made != nullptr && lazy.is_over != nullptr) note_if_oldest_stay(made->can_drop());
  });
  StreamFile* file = lazy.file.load(std::memory_order_acquire);
  if (file == nullptr) lazy.refused.fetch_add(1, std::memory_order_relaxed);
  return file;
}

void Session::note_if_oldest_stay(bool can_drop) {
  if (can_drop || !space_.drops_oldest()) return;
  facts_.note("files of the session whose oldest records stay: their file system cannot give space back");
}

WavescopeCounterRecord* Session::new_counter() {
  const std::lock_guard<std::mutex> lock(counter_mutex_);
  return new_record<WavescopeCounterRecord>(counters_, counter_cursor_);
}

RecordLog* Session::create_ops_log(uint32_t record_bytes) {
  auto* log = new (std::nothrow) RecordLog(path_of("ops"), record_bytes, space_);
  if (log == nullptr) return nullptr;
  char page[WAVESCOPE_PAGE_BYTES] = {};
  const WavescopeStreamHeader header = header_of(WAVESCOPE_STREAM_OPS, record_bytes);
  std::memcpy(page, &header, sizeof header);
  const iovec piece{page, sizeof page};
  note_if_oldest_stay(log->can_drop());
  if (log->append(&piece, 1)) return log;
  delete log;
  return nullptr;
}

bool Session::is_closed(const char* marker) {
  const auto* record = reinterpret_cast<const WavescopeMarkerRecord*>(marker);
  if (__atomic_load_n(&record->kind, __ATOMIC_ACQUIRE) != WAVESCOPE_MARKER_OPEN) return true;
  return (__atomic_load_n(&record->flags, __ATOMIC_ACQUIRE) & WAVESCOPE_MARKER_ABANDONED) != 0;
}

bool Session::is_returned(const char* call) {
  const auto* record = reinterpret_cast<const WavescopeCallRecord*>(call);
  return (__atomic_load_n(&record->flags, __ATOMIC_ACQUIRE) & WAVESCOPE_CALL_OPEN) == 0;
}

void Session::thread_ends(ThreadState& state) {
  if (StreamFile* file = markers_.file.load(std::memory_order_acquire)) file->give_back(state.markers);
  if (StreamFile* file = calls_.file.load(std::memory_order_acquire)) file->give_back(state.calls);
}

void Session::note_losses(const LazyStream& lazy, const char* what) {
  const StreamFile* file = lazy.file.load(std::memory_order_acquire);
  const auto note = [&](uint64_t lost, Refusal refusal) {
    if (lost != 0) facts_.note(std::string(what) + " not recorded: " + words_of(refusal), lost);
  };
  if (file == nullptr) note(lazy.refused.load(), lazy.why);
  if (file == nullptr) return;
  for (const Refusal refusal : {Refusal::kSizeLimit, Refusal::kNoSpace, Refusal::kUnreachable, Refusal::kNoMemory}) {
    note(file->lost(refusal), refusal);
  }
}

// The session, if this is the first time that its end is seen. A child of vfork shares the memory, but the session is not
// its own.
Session* Session::to_finish() {
  Session* session = if_open();
  if (session == nullptr || session->pid_ != static_cast<uint32_t>(getpid()) || finished.exchange(true)) return nullptr;
  return session;
}

void Session::quick_finish(const char* reason) {
  Session* session = to_finish();
  if (session == nullptr) return;
  FileThread::do_without();
  session->facts_.begin_last_words();
  quick_hooks().run();
  char line[128];
  const int length = std::snprintf(line, sizeof line, "{\"fact\":\"end\",\"ns\":%llu,\"reason\":\"%s\"}\n",
                                   static_cast<unsigned long long>(boottime_ns()), reason);
  if (length > 0) session->facts_.append_unlocked(line, static_cast<std::size_t>(length));
  session->trim();
}

void Session::trim() {
  facts_.trim();
  texts_.trim();
}

void Session::finish(const char* reason) {
  Session* session = to_finish();
  if (session == nullptr) return;
  session->facts_.begin_last_words();
  finish_hooks().run();
  session->note_losses(session->markers_, "markers");
  session->note_losses(session->calls_, "API calls");
  if (const uint64_t refused = session->texts_.refused()) {
    session->facts_.note(std::string("texts not recorded: ") + words_of(session->texts_.refusal()), refused);
  }
  if (const uint64_t cut = CutOffGuard::cut_count()) {
    session->facts_.note("files of the session that somebody cut off: what was in them is lost", cut);
  }
  session->facts_.append(Fact("end").add("ns", boottime_ns()).add("reason", reason));
  session->trim();
}

namespace {

// HIP programs never shut HSA down, and a program need not use HSA at all: this is the one place that every normal end of
// a process passes.
__attribute__((destructor)) void library_ends() { Session::finish("exit"); }

}  // namespace
}  // namespace wavescope
