// The text and facts streams, the settings and the ranks: what is written is what was said.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "core/clock_period.h"
#include "core/command_line.h"
#include "core/control.h"
#include "core/environment.h"
#include "core/facts_log.h"
#include "core/process_facts.h"
#include "core/text_log.h"
#include "tests/check.h"
#include "tests/file_content.h"

using namespace wavescope;

namespace {

std::string folder;
std::map<std::string, std::string> variables;

std::string path_of(const char* name) { return folder + "/" + name; }

const char* variable(const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : found->second.c_str();
}

std::map<uint64_t, std::string> texts_of(const std::string& path) {
  const std::string content = content_of(path);
  std::map<uint64_t, std::string> texts;
  for (std::size_t at = 0; at < content.size();) {
    WavescopeTextEntry entry;
    std::memcpy(&entry, content.data() + at, sizeof entry);
    if (entry.id == 0) break;  // space that is not filled yet
    CHECK(texts.emplace(entry.id, content.substr(at + sizeof entry, entry.bytes)).second);
    at += sizeof entry + (entry.bytes + 7) / 8 * 8;
  }
  return texts;
}

void each_text_is_written_once() {
  ByteBudget budget(UINT64_MAX);
  TextLog log(path_of("text"), budget);
  CHECK(log.intern("prefill") == 1);
  CHECK(log.intern("decode step 17") == 2);
  CHECK(log.intern("prefill") == 1);
  CHECK(log.intern("") == 3);
  CHECK(log.intern(std::string(100000, 'x')) == 4);
  const auto texts = texts_of(path_of("text"));
  CHECK(texts.size() == 4);
  CHECK(texts.at(1) == "prefill" && texts.at(2) == "decode step 17" && texts.at(3).empty());
  CHECK(texts.at(4) == std::string(65536, 'x'));
}

void threads_agree_on_ids() {
  ByteBudget budget(UINT64_MAX);
  TextLog log(path_of("shared_text"), budget);
  std::vector<std::vector<uint64_t>> ids(6, std::vector<uint64_t>(500));
  std::vector<std::thread> threads;
  for (auto& mine : ids) {
    threads.emplace_back([&log, &mine] {
      for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = log.intern("marker " + std::to_string(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto texts = texts_of(path_of("shared_text"));
  CHECK(texts.size() == 500);
  for (const auto& mine : ids) CHECK(mine == ids[0]);
  for (std::size_t i = 0; i < ids[0].size(); ++i) CHECK(texts.at(ids[0][i]) == "marker " + std::to_string(i));
}

void a_full_text_stream_gives_no_ids() {
  ByteBudget budget(64);
  TextLog log(path_of("small_text"), budget);
  CHECK(log.intern("twelve bytes") == 1);
  CHECK(log.intern(std::string(64, 'x')) == 0);
  CHECK(log.intern("short") == 2);
}

void facts_are_json_whatever_is_in_them() {
  CHECK(json_string("plain") == "\"plain\"");
  CHECK(json_string("a\"b\\c\nd\te\x01\x7f") == "\"a\\\"b\\\\c\\nd\\u0009e\\u0001\\u007f\"");
  CHECK(json_string("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80") == "\"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\"");
  // Overlong forms, surrogates, lone and cut bytes.
  CHECK(json_string("\xc0\xaf|\xed\xa0\x80|\xff|\xe2\x82") ==
        "\"\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\"");
  ByteBudget budget(UINT64_MAX);
  FactsLog log(path_of("facts"), budget);
  CHECK(log.append(Fact("agent").add("gpu", 0).add("name", "gfx\"90a").add("big", UINT64_MAX)));
  CHECK(log.append(
      Fact("process").add("environment", std::vector<std::string>{"A", "B"}).add("none", std::vector<std::string>{})));
  CHECK(log.note("lost", 3));
  log.trim();
  CHECK(content_of(path_of("facts")) ==
        "{\"fact\":\"agent\",\"gpu\":0,\"name\":\"gfx\\\"90a\",\"big\":18446744073709551615}\n"
        "{\"fact\":\"process\",\"environment\":[\"A\",\"B\"],\"none\":[]}\n"
        "{\"fact\":\"note\",\"text\":\"lost\",\"count\":3}\n");
}

void clocks_are_read_less_often_after_an_hour() {
  CHECK(clock_period_ns(200, 0) == 200 && clock_period_ns(200, 17999) == 200);
  CHECK(clock_period_ns(200, 18000) == 400 && clock_period_ns(200, 71999) == 1600);
  CHECK(clock_period_ns(200, 72000) == 3200 && clock_period_ns(200, UINT64_MAX) == 3200);
}

void settings_come_from_variables() {
  variables.clear();
  CHECK(!read_settings(variable).enabled());
  variables = {{"WAVESCOPE_OUTPUT", "/somewhere"}, {"WAVESCOPE_MODE", "full"},      {"WAVESCOPE_MAX_BYTES", "1000"},
               {"WAVESCOPE_DELAY_MS", "5"},        {"WAVESCOPE_DURATION_MS", "20"}, {"WAVESCOPE_START_PAUSED", "1"},
               {"WAVESCOPE_KEEP", "newest"}};
  const Settings read = read_settings(variable);
  CHECK(read.output == "/somewhere" && read.mode == Mode::kFull && read.max_bytes == 1000);
  CHECK(read.delay_ns == 5000000 && read.duration_ns == 20000000 && read.start_paused && !read.verbose);
  CHECK(read.keeps_signals && read.keep == Keep::kNewest);
  CHECK(read.cupti.empty() && read.slice_ns == 20000000 && read.slice_period_ns == 400000000 && read.flush_ns == 250000000);
  variables = {{"WAVESCOPE_CUPTI", "/cuda/libcupti.so"},
               {"WAVESCOPE_SLICE_MS", "7"},
               {"WAVESCOPE_SLICE_PERIOD_MS", "70"},
               {"WAVESCOPE_FLUSH_MS", "1000"}};
  const Settings cuda = read_settings(variable);
  CHECK(cuda.cupti == "/cuda/libcupti.so" && cuda.slice_ns == 7000000);
  CHECK(cuda.slice_period_ns == 70000000 && cuda.flush_ns == 1000000000);
  variables = {{"WAVESCOPE_OUTPUT", "x"},   {"WAVESCOPE_MODE", "nonsense"}, {"WAVESCOPE_MAX_BYTES", "12 GB"},
               {"WAVESCOPE_FLUSH_MS", "0"}, {"WAVESCOPE_SLICE_MS", "-1"},   {"WAVESCOPE_SIGNALS", "runtime"},
               {"WAVESCOPE_KEEP", "most"}};
  const Settings odd = read_settings(variable);
  CHECK(odd.keep == Keep::kOldest);
  CHECK(odd.flush_ns == 250000000 && odd.slice_ns == 20000000 && odd.slice_period_ns == 400000000);
  variables = {{"WAVESCOPE_SLICE_MS", "0"}};
  CHECK(read_settings(variable).slice_ns == 0);
  CHECK(!odd.keeps_signals);
  CHECK(odd.mode == Mode::kStandard && odd.max_bytes == UINT64_MAX && odd.duration_ns == UINT64_MAX);
}

void recording_follows_the_page_and_the_window() {
  Settings settings;
  Control always(path_of("control"), settings, 1000);
  CHECK(always.recording());
  int changes = 0;
  always.watch([](void* count) { ++*static_cast<int*>(count); }, &changes);
  always.pause();
  CHECK(!always.recording());
  CHECK(changes == 1);
  CHECK(content_of(path_of("control"))[12] == 0);
  always.resume();
  CHECK(content_of(path_of("control"))[12] == 1);
  settings.delay_ns = 50;
  settings.duration_ns = 100;
  const Control window(path_of("window"), settings, 1000);
  CHECK(!window.in_window(1049) && window.in_window(1050) && window.in_window(1149) && !window.in_window(1150));
  CHECK(!window.recording());  // that was long ago
  settings.start_paused = true;
  CHECK(!Control("/no/such/folder/control", settings, 0).recording());
}

void the_launcher_with_several_ranks_wins() {
  variables = {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
  CHECK(launcher_rank(variable).rank == 3 && launcher_rank(variable).world_size == 4);
  variables = {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}, {"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "8"}};
  CHECK(launcher_rank(variable).rank == 5 && launcher_rank(variable).world_size == 8);
  variables = {{"PMIX_RANK", "2"}, {"RANK", "x"}};
  CHECK(launcher_rank(variable).rank == 2 && launcher_rank(variable).world_size == -1);
  variables.clear();
  CHECK(launcher_rank(variable).rank == -1);
}

void a_command_names_the_program_and_not_its_loader() {
  using Arguments = std::vector<std::string>;
  CHECK(split_arguments(std::string("a\0\0b c\0", 7)) == Arguments({"a", "", "b c"}));
  CHECK(shell_command({"a", "", "b c", "it's"}) == "a '' 'b c' 'it'\\''s'");
  const Arguments loaded = {
      "/r/ld-linux-x86-64.so.2", "--library-path", "/r:/s", "--argv0", "app", "/bin/app", "--argv0", "x"};
  CHECK(program_arguments(loaded, "/r/ld-linux-x86-64.so.2") == Arguments({"app", "--argv0", "x"}));
  CHECK(program_arguments(loaded, "/usr/bin/other") == loaded);
  CHECK(program_arguments({"ld.so", "--inhibit-cache", "./app", "1"}, "/usr/bin/ld.so") == Arguments({"./app", "1"}));
  const Arguments asked = {"ld.so", "--list-diagnostics"};
  CHECK(program_arguments(asked, "/lib64/ld-linux-x86-64.so.2") == asked);
  CHECK(program_arguments({"ld-linux.so.2", "--argv0"}, "/lib/ld-linux.so.2").size() == 2);
  CHECK(program_arguments({}, "/lib/ld.so").empty());
}

}  // namespace

int main() {
  char pattern[] = "/tmp/wavescope-text-XXXXXX";
  folder = mkdtemp(pattern);
  each_text_is_written_once();
  threads_agree_on_ids();
  a_full_text_stream_gives_no_ids();
  facts_are_json_whatever_is_in_them();
  settings_come_from_variables();
  clocks_are_read_less_often_after_an_hour();
  recording_follows_the_page_and_the_window();
  the_launcher_with_several_ranks_wins();
  a_command_names_the_program_and_not_its_loader();
  return std::system(("rm -r " + folder).c_str());
}
