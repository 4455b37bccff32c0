// Where CUDA's driver calls the collector: it loads the library that CUDA_INJECTION64_PATH names when a program first calls
// cuInit.
#include "collector_cupti/injection.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "collector_cupti/collector.h"
#include "core/session.h"

namespace wavescope::cupti {
namespace {

constexpr uint64_t kExitLimitNs = 5000000000;
constexpr uint64_t kQuickExitLimitNs = 200000000;

void note_not_recorded(Session& session, const std::string& reason) {
  session.facts().note("GPU work not recorded, because " + reason);
  if (settings().verbose) std::fprintf(stderr, "wavescope: GPU work not recorded, because %s\n", reason.c_str());
}

// Runs among the handlers of exit(), newest first, so that the driver, whose own came before, still answers: it is
// registered when CUDA is initialized, and once more when it was. The end of the session comes much later.
void finish_at_exit() {
  Collector* collector = Collector::current();
  if (collector == nullptr || collector->finish(kExitLimitNs)) return;
  if (Session* session = Session::if_open()) {
    session->facts().note("the last GPU work not recorded: CUPTI did not give its records in time");
  }
}

// May run inside a signal handler, with locks held that the last flush waits for in vain.
void finish_at_quick_exit() {
  if (Collector* collector = Collector::current()) collector->finish(kQuickExitLimitNs);
}

void forget_in_child() {
  if (Collector* collector = Collector::current()) collector->forget_in_child();
}

void write_runtime_fact(Session& session, const CuptiLibrary& library) {
  session.facts().append(Fact("runtime")
                             .add("name", "cupti")
                             .add("version", spelled_version(library.version))
                             .add("path", library.path)
                             .add("driver", driver_version()));
}

void find_and_begin() {
  Session* session = Session::current();
  if (session == nullptr || Collector::current() != nullptr) return;
  CuptiLibrary library;
  std::string reason;
  if (find_cupti(settings().cupti, library, reason)) begin_collecting(library);
  else note_not_recorded(*session, reason);
}

}  // namespace

void begin_collecting(const CuptiLibrary& library) {
  Session* session = Session::current();
  if (session == nullptr || Collector::current() != nullptr) return;
  write_runtime_fact(*session, library);
  // Never destroyed: at its end a process may still have threads inside its callbacks.
  auto* collector = new Collector(library, *session, settings());
  collector->at_first_call([] { std::atexit(finish_at_exit); });
  std::string reason;
  if (!collector->begin(reason)) return note_not_recorded(*session, reason);
  static const bool registered = [] {
    Session::at_finish(finish_at_exit);
    Session::at_quick_finish(finish_at_quick_exit);
    Session::at_fork_child(forget_in_child);
    std::atexit(finish_at_exit);
    return true;
  }();
  static_cast<void>(registered);
}

}  // namespace wavescope::cupti

// What goes wrong here is never the program's trouble.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  try {
    wavescope::cupti::find_and_begin();
  } catch (const std::exception& error) {
    if (wavescope::settings().verbose) std::fprintf(stderr, "wavescope: %s\n", error.what());
  }
  return 1;
}
