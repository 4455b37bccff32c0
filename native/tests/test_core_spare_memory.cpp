// The memory that is kept for when there is no other: pieces do not overlap, and come back.
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "core/spare_memory.h"
#include "tests/check.h"

using namespace wavescope;

namespace {

std::unique_ptr<SpareMemory> some() { return std::make_unique<SpareMemory>(); }

bool is_aligned(const void* memory) { return reinterpret_cast<uintptr_t>(memory) % alignof(std::max_align_t) == 0; }

void test_pieces_do_not_overlap() {
  const auto spare = some();
  char* pieces[3];
  const std::size_t bytes[3] = {1, 64, 1000};
  for (int at = 0; at < 3; ++at) {
    pieces[at] = static_cast<char*>(spare->take(bytes[at]));
    CHECK(pieces[at] != nullptr && is_aligned(pieces[at]));
    std::memset(pieces[at], 'a' + at, bytes[at]);
  }
  for (int at = 0; at < 3; ++at) {
    for (std::size_t byte = 0; byte < bytes[at]; ++byte) CHECK(pieces[at][byte] == 'a' + at);
  }
}

void test_all_of_it_can_be_had_and_no_more() {
  const auto spare = some();
  CHECK(spare->take(SpareMemory::kBytes + 1) == nullptr);
  CHECK(!spare->is_in_use());
  void* all = spare->take(SpareMemory::kBytes);
  CHECK(all != nullptr && spare->is_in_use());
  CHECK(spare->take(0) == nullptr);
  CHECK(spare->give_back(all));
  CHECK(!spare->is_in_use());
  CHECK(spare->take(SpareMemory::kBytes) == all);
}

void test_what_was_given_back_between_others_is_used_again() {
  const auto spare = some();
  spare->take(100);
  void* between = spare->take(200);
  void* behind = spare->take(100);
  CHECK(spare->give_back(between));
  CHECK(spare->take(300) > behind);
  CHECK(spare->take(200) == between);
}

void test_memory_of_others_is_told_apart() {
  const auto spare = some();
  int other = 0;
  CHECK(!spare->give_back(&other));
  CHECK(!spare->give_back(nullptr));
  CHECK(!spare->give_back(reinterpret_cast<char*>(spare.get()) + sizeof *spare));
}

void test_threads_get_pieces_of_their_own() {
  const auto spare = some();
  std::vector<std::thread> threads;
  for (int number = 1; number <= 4; ++number) {
    threads.emplace_back([&spare, number] {
      for (int round = 0; round < 2000; ++round) {
        auto* piece = static_cast<unsigned char*>(spare->take(700));
        CHECK(piece != nullptr);
        std::memset(piece, number, 700);
        for (int byte = 0; byte < 700; ++byte) CHECK(piece[byte] == number);
        CHECK(spare->give_back(piece));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(spare->take(SpareMemory::kBytes) != nullptr);
}

}  // namespace

int main() {
  test_pieces_do_not_overlap();
  test_all_of_it_can_be_had_and_no_more();
  test_what_was_given_back_between_others_is_used_again();
  test_memory_of_others_is_told_apart();
  test_threads_get_pieces_of_their_own();
  return 0;
}
