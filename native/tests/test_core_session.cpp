// The session of a process: what its threads leave, what forked and killed children leave. Threads that fork while others
// record are tested with the delivered library: the allocators of sanitizers keep locks that others held at a fork.
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "core/session.h"
#include "tests/check.h"
#include "tests/file_content.h"

using namespace wavescope;

// A session is never destroyed, and a forked child leaves its parent's where it is.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

std::string folder;

std::vector<std::string> files(pid_t pid, const std::string& suffix) {
  std::vector<std::string> found;
  const std::string start = std::to_string(pid) + "-";
  DIR* entries = opendir(folder.c_str());
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (name.compare(0, start.size(), start) != 0 || name.size() < suffix.size()) continue;
    if (name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0) found.push_back(folder + "/" + name);
  }
  closedir(entries);
  return found;
}

std::string only_content(pid_t pid, const std::string& suffix) {
  const auto found = files(pid, suffix);
  CHECK(found.size() == 1);
  return content_of(found[0]);
}

std::size_t marks_of(pid_t pid) {
  const std::string content = only_content(pid, ".markers");
  std::size_t count = 0;
  for (std::size_t at = WAVESCOPE_PAGE_BYTES; at + sizeof(WavescopeMarkerRecord) <= content.size();
       at += sizeof(WavescopeMarkerRecord)) {
    count += content[at] == WAVESCOPE_MARKER_MARK ? 1 : 0;
  }
  return count;
}

bool has_end(pid_t pid) { return only_content(pid, ".facts").find("\"fact\":\"end\"") != std::string::npos; }

void write_marks(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    WavescopeMarkerRecord* record = Session::current()->new_marker();
    CHECK(record != nullptr);
    record->thread = current_thread();
    record->id = Session::current()->next_marker_id();
    publish(record, WAVESCOPE_MARKER_MARK);
  }
}

int wait_for(pid_t child) {
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

template <typename Work>
pid_t in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) work();
  return child;
}

void threads_come_and_go() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 50; ++i) threads.emplace_back([] { write_marks(100); });
  for (std::thread& thread : threads) thread.join();
  CHECK(marks_of(getpid()) == 5000);
  // Fifty blocks were not needed: threads that end leave theirs to others.
  CHECK(current_marker() == 0 && current_correlation() == 0);
}

void a_forked_child_writes_its_own_files() {
  const pid_t child = in_child([] {
    CHECK(Session::if_open() == nullptr);
    write_marks(7);
    CHECK(current_thread() == static_cast<uint32_t>(getpid()));
    std::exit(0);
  });
  CHECK(wait_for(child) == 0);
  CHECK(marks_of(child) == 7);
  CHECK(has_end(child));
  CHECK(marks_of(getpid()) == 5000);
  CHECK(!has_end(getpid()));
}

void a_child_that_records_nothing_leaves_nothing() {
  const pid_t child = in_child([] { std::exit(0); });
  CHECK(wait_for(child) == 0);
  CHECK(files(child, "").empty());
}

void a_killed_child_leaves_what_it_recorded() {
  int ready[2];
  CHECK(pipe(ready) == 0);
  const pid_t child = in_child([&] {
    write_marks(1234);
    Session::current()->texts().intern("the last words");
    CHECK(write(ready[1], "x", 1) == 1);
    for (;;) pause();
  });
  char byte = 0;
  CHECK(read(ready[0], &byte, 1) == 1);
  CHECK(kill(child, SIGKILL) == 0);
  CHECK(WTERMSIG(wait_for(child)) == SIGKILL);
  CHECK(marks_of(child) == 1234);
  CHECK(only_content(child, ".text").find("the last words") != std::string::npos);
  CHECK(!has_end(child));
}

void hooks_run_once_and_not_in_a_vforked_child() {
  static int finished = 0;
  Session::at_finish([] { ++finished; });
  const pid_t child = in_child([] {
    write_marks(1);
    Session::finish("exit");
    Session::finish("exit");
    _exit(finished == 1 ? 0 : 1);
  });
  CHECK(wait_for(child) == 0);
  CHECK(finished == 0);
  CHECK(has_end(child));
}

}  // namespace

int main() {
  char pattern[] = "/tmp/wavescope-session-XXXXXX";
  folder = mkdtemp(pattern);
  setenv("WAVESCOPE_OUTPUT", folder.c_str(), 1);
  threads_come_and_go();
  a_forked_child_writes_its_own_files();
  a_child_that_records_nothing_leaves_nothing();
  a_killed_child_leaves_what_it_recorded();
  hooks_run_once_and_not_in_a_vforked_child();
  return std::system(("rm -r " + folder).c_str());
}
