// Memory, events, code objects and the truth log of the software GPU.
#include <elf.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "check.h"
#include "softgpu/code_objects.h"
#include "softgpu/events.h"
#include "softgpu/memory.h"
#include "softgpu/truth.h"

using namespace softgpu;

namespace {

constexpr size_t mebibyte = size_t{1} << 20;

void test_allocation() {
  Memory memory;
  void* small = memory.allocate(1, 100, 7, false, false, mebibyte);
  CHECK(small && memory.find(small)->bytes == 4096 && memory.find(small)->flags == 7);
  CHECK(memory.find(static_cast<char*>(small) + 4095) && !memory.find(static_cast<char*>(small) + 4096));
  CHECK(!memory.allocate(1, mebibyte, 0, false, false, mebibyte));
  CHECK(memory.allocate(2, mebibyte, 0, false, false, mebibyte));  // another node has room
  CHECK(memory.allocate(1, 64 * mebibyte, 0, false, true, mebibyte));
  CHECK(!memory.allocate(1, SIZE_MAX, 0, false, false, SIZE_MAX));
  CHECK(!memory.allocate(1, 0, 0, false, false, mebibyte));
  CHECK(memory.release(small) && !memory.release(small) && !memory.find(small));
  void* large = memory.allocate(1, mebibyte, 0, false, false, mebibyte);
  CHECK(large);
  const uint64_t generation = memory.code_generation();
  CHECK(memory.release(large) && memory.code_generation() == generation);
  CHECK(memory.release(memory.allocate(1, 4096, 0, true, false, mebibyte)));
  CHECK(memory.code_generation() == generation + 1);
}

void test_registration() {
  Memory memory;
  std::vector<char> host(100'000);
  CHECK(memory.register_host(host.data() + 3, 90'000, 0));
  const auto alias = memory.map(host.data() + 3, {1, 2});
  CHECK(alias && *alias != reinterpret_cast<uintptr_t>(host.data() + 3));
  CHECK(memory.translate(*alias + 5) == reinterpret_cast<uintptr_t>(host.data() + 8));
  CHECK(memory.translate(reinterpret_cast<uintptr_t>(host.data())) == reinterpret_cast<uintptr_t>(host.data()));
  CHECK(memory.find(reinterpret_cast<void*>(*alias))->host_address == reinterpret_cast<uintptr_t>(host.data() + 3));
  CHECK(*memory.mapped_nodes(host.data() + 3) == (std::vector<uint32_t>{1, 2}));
  CHECK(memory.register_host(host.data() + 3, 10, 0));
  CHECK(memory.deregister_host(host.data() + 3) && memory.find(host.data() + 3));
  CHECK(memory.deregister_host(host.data() + 3) && !memory.find(host.data() + 3));
  CHECK(!memory.deregister_host(host.data() + 3));
  CHECK(!memory.map(host.data(), {1}));
  CHECK(!memory.register_host(host.data(), 0, 0));
}

void test_events() {
  Events events;
  const uint32_t automatic = events.create(false, false);
  const uint32_t manual = events.create(true, false);
  CHECK(automatic && manual && automatic != manual);
  CHECK(!events.wait({automatic}, WaitFor::all, 0));
  events.set(automatic);
  CHECK(events.wait({automatic}, WaitFor::all, 0) && !events.wait({automatic}, WaitFor::all, 1));
  events.set(manual);
  CHECK(events.wait({manual}, WaitFor::all, 0) && events.wait({automatic, manual}, WaitFor::any, 0));
  CHECK(!events.wait({automatic, manual}, WaitFor::all, 1));
  events.reset(manual);
  CHECK(!events.wait({manual}, WaitFor::any, 0));
  events.destroy(automatic);
  events.set(automatic);
  events.set(Events::limit + 5);
  for (uint32_t index = 0; index < Events::limit - 2; ++index) CHECK(events.create(false, false));
  CHECK(events.create(false, false) == 0);
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
      woken += events.wait({event}, WaitFor::all, Events::forever_ms);
      CHECK(!events.wait({event}, WaitFor::all, 1));
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
  std::thread waiter([&] { CHECK(events.wait({event}, WaitFor::any, Events::forever_ms)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  events.destroy(event);
  waiter.join();
  for (uint32_t index = 0; index < Events::limit - 1; ++index) {
    const uint32_t another = events.create(false, false);
    CHECK(another && !events.wait({another}, WaitFor::any, 0));
  }
}

// A loaded image with one kernel descriptor, laid out by hand.
struct Image {
  static constexpr uint64_t descriptor = 0x1040;

  explicit Image(Memory& memory)
      : base(static_cast<char*>(memory.allocate(1, 3 * 4096, 0, true, false, mebibyte))) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phoff = 64;
    header.e_phnum = 1;
    Elf64_Phdr dynamic{};
    dynamic.p_type = PT_DYNAMIC;
    dynamic.p_vaddr = 0x200;
    const Elf64_Dyn entries[] = {
        {DT_SYMTAB, {0x300}}, {DT_STRTAB, {0x400}}, {DT_HASH, {0x500}}, {DT_NULL, {0}}};
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

  uint64_t object() const { return reinterpret_cast<uint64_t>(base) + descriptor; }
  char* base;
};

void test_kernel_names() {
  Memory memory;
  const Image image(memory);
  const Block block = *memory.find(image.base);
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
    CHECK(file.is_open());
    TruthBuffer buffer(&file);
    buffer.add({2, 5, 77, "dispatch", "odd,\"name", 100, 250, 300, 0, 4096, "hang"});
    buffer.flush();
    const TruthFile second(pattern);
    CHECK(second.is_open() && access(second_path.c_str(), F_OK) == 0);
  }
  CHECK(content(path) ==
        "gpu,queue,packet,kind,name,start_ns,end_ns,completed_ns,bytes,signal,fault\n"
        "2,5,77,dispatch,\"odd,\"\"name\",100,250,300,0,4096,hang\n");
  CHECK(!TruthFile("/no/such/folder/x").is_open());
  unlink(path.c_str());
  unlink(second_path.c_str());
  rmdir(folder);
}

}  // namespace

int main() {
  test_allocation();
  test_registration();
  test_events();
  test_event_reaches_every_thread_once();
  test_destroyed_event_wakes_and_is_forgotten();
  test_kernel_names();
  test_truth();
  return 0;
}
