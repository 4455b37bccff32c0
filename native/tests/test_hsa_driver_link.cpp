// Whether the driver's descriptor is still what it was, and can be used whatever the program closes.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "collector_hsa/driver_link.h"
#include "tests/check.h"

using namespace wavescope;

namespace {

constexpr const char* kDevice = "/dev/zero";  // stands for the driver's: nothing else here has it open

void a_driver_that_nobody_opened_counts_as_there() {
  CHECK(DriverLink("/dev/no-such-device").is_there());
  CHECK(DriverLink(kDevice).is_there());
}

void a_closed_descriptor_is_noticed_whatever_takes_its_number() {
  const int descriptor = open(kDevice, O_RDWR);
  const DriverLink link(kDevice);
  CHECK(link.is_there());

  close(descriptor);
  CHECK(!link.is_there());

  CHECK(open("/dev/null", O_RDWR) == descriptor);
  CHECK(!link.is_there());
  close(descriptor);
}

void what_is_asked_for_finds_the_descriptor_that_the_program_closed() {
  const int descriptor = open(kDevice, O_RDWR);
  DriverLink link(kDevice);
  char byte = 1;
  auto read_it = [&] { CHECK(read(descriptor, &byte, 1) == 1); };
  CHECK(link.ask(read_it));

  close(descriptor);
  CHECK(open("/dev/null", O_RDWR) == descriptor);  // which has nothing to read
  byte = 1;
  CHECK(link.ask(read_it));
  CHECK(byte == 0);
  close(descriptor);
}

void no_other_descriptor_of_the_program_is_kept_open() {
  int pipe_ends[2];
  CHECK(pipe(pipe_ends) == 0);
  const int descriptor = open(kDevice, O_RDWR);
  DriverLink link(kDevice);
  auto nothing = [] {};
  CHECK(link.ask(nothing));
  close(pipe_ends[1]);

  char byte = 0;
  CHECK(read(pipe_ends[0], &byte, 1) == 0);
  close(pipe_ends[0]);
  close(descriptor);
}

void nothing_is_done_when_the_descriptor_was_gone_at_first() {
  const int descriptor = open(kDevice, O_RDWR);
  DriverLink link(kDevice);
  close(descriptor);

  bool was_done = false;
  auto work = [&] { was_done = true; };
  CHECK(!link.ask(work));
  CHECK(!was_done);
}

void after_the_end_it_is_asked_where_the_descriptor_is() {
  const int descriptor = open(kDevice, O_RDWR);
  DriverLink link(kDevice);
  std::thread::id there;
  auto work = [&] { there = std::this_thread::get_id(); };
  CHECK(link.ask(work));
  CHECK(there != std::this_thread::get_id());

  link.end();
  CHECK(link.ask(work));
  CHECK(there == std::this_thread::get_id());
  close(descriptor);
  CHECK(!link.ask(work));
  link.end();
}

void a_forked_child_asks_for_itself() {
  const int descriptor = open(kDevice, O_RDWR);
  DriverLink link(kDevice);
  auto nothing = [] {};
  CHECK(link.ask(nothing));

  const pid_t child = fork();
  if (child == 0) {
    const bool is_asked = link.ask(nothing);
    close(descriptor);
    _exit(is_asked && !link.ask(nothing) ? 0 : 1);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  close(descriptor);
}

// At the end of each the descriptor is closed: an end of a pipe stands for the driver's.
void an_ended_thread_holds_nothing_open() {
  int pipe_ends[2];
  CHECK(pipe(pipe_ends) == 0);
  {
    ApartThread thread("test", pipe_ends[1], [] { return true; });
    auto nothing = [] {};
    CHECK(thread.run(nothing));
    close(pipe_ends[1]);
  }
  char byte = 0;
  CHECK(read(pipe_ends[0], &byte, 1) == 0);
  close(pipe_ends[0]);
}

}  // namespace

int main() {
  a_driver_that_nobody_opened_counts_as_there();
  a_closed_descriptor_is_noticed_whatever_takes_its_number();
  what_is_asked_for_finds_the_descriptor_that_the_program_closed();
  no_other_descriptor_of_the_program_is_kept_open();
  nothing_is_done_when_the_descriptor_was_gone_at_first();
  after_the_end_it_is_asked_where_the_descriptor_is();
  a_forked_child_asks_for_itself();
  an_ended_thread_holds_nothing_open();
}
