// The thread that has the session's files open: its descriptors are none of the program's.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "core/file_thread.h"
#include "tests/check.h"

using namespace wavescope;

namespace {

int lowest_free() {
  const int descriptor = open("/dev/null", O_RDONLY);
  close(descriptor);
  return descriptor;
}

int opened_there(int count) {
  int last = -1;
  auto work = [&] {
    for (int at = 0; at < count; ++at) last = open("/dev/null", O_RDONLY);
  };
  CHECK(FileThread::run(work));
  return last;
}

void what_it_opens_takes_no_number_of_the_program() {
  const int before = lowest_free();

  const int there = opened_there(50);

  CHECK(there >= 50);
  CHECK(lowest_free() == before);
  CHECK(fcntl(there, F_GETFD) < 0 && errno == EBADF);
}

void what_the_program_closes_stays_open_there() {
  const int there = opened_there(1);
  close(there);

  int flags = -1;
  auto look = [&] { flags = fcntl(there, F_GETFD); };
  CHECK(FileThread::run(look));
  CHECK(flags >= 0);
}

void it_has_none_of_the_programs_files() {
  int pipe_ends[2];
  CHECK(pipe(pipe_ends) == 0);
  auto nothing = [] {};
  CHECK(FileThread::run(nothing));
  close(pipe_ends[1]);

  char byte = 0;
  CHECK(read(pipe_ends[0], &byte, 1) == 0);  // nobody else can write to it
  close(pipe_ends[0]);
}

void many_threads_are_served_one_by_one() {
  std::atomic<int> inside{0};
  int total = 0;
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&] {
      for (int at = 0; at < 500; ++at) {
        auto work = [&] {
          CHECK(inside.fetch_add(1) == 0);
          ++total;
          inside.fetch_sub(1);
        };
        CHECK(FileThread::run(work));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(total == 2000);
}

void a_forked_child_has_a_thread_of_its_own() {
  const pid_t child = fork();
  if (child == 0) {
    FileThread::forget_in_child();
    pid_t there = 0;
    auto work = [&] { there = getpid(); };
    _exit(FileThread::run(work) && there == getpid() ? 0 : 1);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void at_the_end_nobody_waits_for_it() {
  FileThread::do_without();

  bool was_done = false;
  auto work = [&] { was_done = true; };
  CHECK(!FileThread::run(work));
  CHECK(!was_done);
}

}  // namespace

int main() {
  it_has_none_of_the_programs_files();  // first: it starts the thread while the pipe is open
  what_it_opens_takes_no_number_of_the_program();
  what_the_program_closes_stays_open_there();
  many_threads_are_served_one_by_one();
  a_forked_child_has_a_thread_of_its_own();
  at_the_end_nobody_waits_for_it();
}
