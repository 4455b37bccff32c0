// Memory, events, code objects and the truth log of the software GPU.
#include <elf.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "check.h"
#include "softgpu/code_objects.h"
#include "softgpu/events.h"
#include "softgpu/kernels.h"
#include "softgpu/memory.h"
#include "softgpu/truth.h"

using namespace softgpu;

namespace {

void test_memory() {
  Memory memory;
  CHECK(!memory.find(0x10000) && memory.translate(0x10000) == 0x10000);
  memory.add({0x10000, 0x10000, 0x2000, false});
  memory.add({0x40000, 0x90000, 0x1000, false});
  memory.add({0x20000, 0x70000, 0x1000, true});
  CHECK(memory.find(0x11fff)->gpu_address == 0x10000 && !memory.find(0x12000) && !memory.find(0xffff));
  CHECK(memory.translate(0x11000) == 0x11000);
  CHECK(memory.translate(0x20fff) == 0x70fff && memory.translate(0x21000) == 0x21000);
  CHECK(memory.translate(0x40004) == 0x90004 && memory.translate(0x30000) == 0x30000);

  memory.add({0x40000, 0xa0000, 0x2000, false});  // in the place of the older one
  CHECK(memory.translate(0x41000) == 0xa1000);
  const uint64_t generation = memory.code_generation();
  memory.remove(0x40000);
  CHECK(memory.translate(0x40000) == 0x40000 && !memory.find(0x40000));
  CHECK(memory.code_generation() == generation);
  memory.remove(0x20000);
  CHECK(memory.code_generation() == generation + 1);
  memory.remove(0x20000);
  CHECK(memory.code_generation() == generation + 1);
}

bool waits(Events& events, std::vector<uint32_t> ids, WaitFor wanted, uint32_t timeout_ms) {
  std::vector<AwaitedEvent> awaited;
  for (const uint32_t id : ids) awaited.push_back({id});
  return events.wait(awaited, wanted, timeout_ms);
}

void test_events() {
  Events events;
  const uint32_t automatic = events.create(false, false);
  const uint32_t manual = events.create(true, false);
  CHECK(automatic && manual && automatic != manual);
  CHECK(!waits(events, {automatic}, WaitFor::all, 0));
  events.set(automatic);
  CHECK(waits(events, {automatic}, WaitFor::all, 0) && !waits(events, {automatic}, WaitFor::all, 1));
  events.set(manual);
  CHECK(waits(events, {manual}, WaitFor::all, 0) && waits(events, {automatic, manual}, WaitFor::any, 0));
  CHECK(!waits(events, {automatic, manual}, WaitFor::all, 1));
  events.reset(manual);
  CHECK(!waits(events, {manual}, WaitFor::any, 0));
  events.destroy(automatic);
  events.set(automatic);
  events.set(Events::limit + 5);
  for (uint32_t index = 0; index < Events::limit - 2; ++index) CHECK(events.create(false, false));
  CHECK(events.create(false, false) == 0);
}

void test_ages_of_events() {
  Events events;
  const uint32_t event = events.create(false, false);
  std::vector<AwaitedEvent> awaited{{event, 1}};
  CHECK(!events.wait(awaited, WaitFor::any, 0) && awaited[0].seen_age == 1);
  events.set(event);
  CHECK(events.wait(awaited, WaitFor::any, 0) && awaited[0].seen_age == 2);
  CHECK(!events.wait(awaited, WaitFor::any, 1) && awaited[0].seen_age == 2);
  std::vector<AwaitedEvent> another{{event, 1}};  // whoever missed it sees it still, and again when it forgets
  CHECK(events.wait(another, WaitFor::any, 0) && another[0].seen_age == 2);
  another[0].seen_age = 1;
  CHECK(events.wait(another, WaitFor::any, 0));

  const uint32_t second = events.create(false, false);
  std::vector<AwaitedEvent> both{{event, 2}, {second, 1}};
  events.set(event);
  CHECK(!events.wait(both, WaitFor::all, 1) && both[0].seen_age == 3 && both[1].seen_age == 1);
  std::thread setter([&] { events.set(second); });
  std::vector<AwaitedEvent> later{{second, 1}};
  CHECK(events.wait(later, WaitFor::any, Events::forever_ms) && later[0].seen_age == 2);
  setter.join();
  std::vector<AwaitedEvent> wrong{{Events::limit, 1}};
  CHECK(!events.wait(wrong, WaitFor::any, 0));
}

void test_event_reaches_every_thread_once() {
  Events events;
  const uint32_t event = events.create(false, false);
  std::vector<std::thread> threads;
  std::atomic<int> woken{0};
  for (int index = 0; index < 3; ++index) {
    threads.emplace_back([&, index] {
      // Some wait before the event is set, some after another thread has taken it.
      std::this_thread::sleep_for(std::chrono::milliseconds(4 * index));
      woken += waits(events, {event}, WaitFor::all, Events::forever_ms);
      CHECK(!waits(events, {event}, WaitFor::all, 1));
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  events.raise(event);
  for (std::thread& thread : threads) thread.join();
  CHECK(woken == 3);
}

void test_destroyed_event_wakes_and_is_forgotten() {
  Events events;
  const uint32_t event = events.create(false, false);
  std::thread waiter([&] { CHECK(waits(events, {event}, WaitFor::any, Events::forever_ms)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  events.destroy(event);
  waiter.join();
  for (uint32_t index = 0; index < Events::limit - 1; ++index) {
    const uint32_t another = events.create(false, false);
    CHECK(another && !waits(events, {another}, WaitFor::any, 0));
  }
}

// A loaded image with one kernel descriptor, laid out by hand.
struct Image {
  static constexpr uint64_t descriptor = 0x1040;
  static constexpr size_t bytes = 3 * 4096;

  Image() : base(static_cast<char*>(std::aligned_alloc(4096, bytes))) {
    std::memset(base, 0, bytes);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phoff = 64;
    header.e_phnum = 1;
    Elf64_Phdr dynamic{};
    dynamic.p_type = PT_DYNAMIC;
    dynamic.p_vaddr = 0x200;
    const Elf64_Dyn entries[] = {{DT_SYMTAB, {0x300}}, {DT_STRTAB, {0x400}}, {DT_HASH, {0x500}}, {DT_NULL, {0}}};
    Elf64_Sym symbols[3]{};
    symbols[1] = {1, 0, 0, 0, descriptor, 0};
    symbols[2] = {8, 0, 0, 0, descriptor, 0};
    const uint32_t hash[] = {1, 3};
    std::memcpy(base, &header, sizeof header);
    std::memcpy(base + 64, &dynamic, sizeof dynamic);
    std::memcpy(base + 0x200, entries, sizeof entries);
    std::memcpy(base + 0x300, symbols, sizeof symbols);
    std::memcpy(base + 0x400, "\0_Z3foo\0_Z3foo.kd", 18);
    std::memcpy(base + 0x500, hash, sizeof hash);
  }

  ~Image() { std::free(base); }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  Block block() const { return {0x7000'0000, reinterpret_cast<uintptr_t>(base), bytes, true}; }
  uint64_t object() const { return reinterpret_cast<uint64_t>(base) + descriptor; }
  char* base;
};

void test_kernel_names() {
  const Image image;
  const Block block = image.block();
  CHECK(kernel_symbol(block, image.object()) == "_Z3foo");
  CHECK(kernel_symbol(block, image.object() + 64).empty());

  std::mt19937 random(1);  // whatever is in memory, only the block is read
  const std::vector<char> original(image.base, image.base + 0x600);
  for (int round = 0; round < 20'000; ++round) {
    std::memcpy(image.base, original.data(), original.size());
    for (int change = 0; change < 4; ++change) {
      image.base[random() % original.size()] = static_cast<char>(random());
    }
    kernel_symbol(block, image.object());
  }
}

void test_kernels_are_found_where_the_gpu_sees_them() {
  const Image image;
  Memory memory;
  memory.add(image.block());
  Configuration configuration;
  KernelTable kernels(0, configuration, memory);
  CHECK(kernels.of(image.block().gpu_address + Image::descriptor).name == "_Z3foo");
  CHECK(kernels.of(image.block().gpu_address + 64).name.empty());
  CHECK(kernels.of(1).name.empty());
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void test_truth() {
  char folder[] = "/tmp/softgpu_truth_XXXXXX";
  CHECK(mkdtemp(folder));
  const std::string pattern = std::string(folder) + "/%p.csv";
  const std::string path = std::string(folder) + "/" + std::to_string(getpid()) + ".csv";
  const std::string second_path = path + "." + std::to_string(getpid());
  {
    const TruthFile file(pattern);
    CHECK(file.is_made());
    TruthBuffer buffer(&file);
    buffer.add({2, 5, 77, "dispatch", "odd,\"name", 100, 250, 300, 0, 4096, "hang"});
    buffer.flush();
    const TruthFile second(pattern);
    CHECK(second.is_made() && access(second_path.c_str(), F_OK) == 0);
  }
  CHECK(content(path) ==
        "gpu,queue,packet,kind,name,start_ns,end_ns,completed_ns,bytes,signal,fault\n"
        "2,5,77,dispatch,\"odd,\"\"name\",100,250,300,0,4096,hang\n");
  CHECK(!TruthFile("/no/such/folder/x").is_made());
  unlink(path.c_str());
  unlink(second_path.c_str());
  rmdir(folder);
}

}  // namespace

int main() {
  test_memory();
  test_events();
  test_ages_of_events();
  test_event_reaches_every_thread_once();
  test_destroyed_event_wakes_and_is_forgotten();
  test_kernel_names();
  test_kernels_are_found_where_the_gpu_sees_them();
  test_truth();
  return 0;
}
