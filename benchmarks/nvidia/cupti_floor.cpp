// What any tool pays that has CUPTI record kernels: buffers are taken, their records counted and thrown away.
//   CUDA_INJECTION64_PATH=./libcupti_floor.so program
// FLOOR_KINDS: numbers of activity kinds (default: concurrent kernels, copies, fills); FLOOR_FLUSH_MS: a flush period (none
// by default). Says at exit what it counted, in FLOOR_LOG where that is set.
#include <cupti.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

constexpr size_t kBufferBytes = 8 << 20;
std::atomic<unsigned long long> records{0}, buffers{0}, dropped{0};

void CUPTIAPI requested(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t, size_t valid) {
  CUpti_Activity* record = nullptr;
  unsigned long long count = 0;
  while (valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) ++count;
  records += count;
  ++buffers;
  size_t lost = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS) dropped += lost;
  std::free(buffer);
}

void say() {
  cuptiActivityFlushAll(1);
  const char* path = std::getenv("FLOOR_LOG");
  FILE* out = path == nullptr ? nullptr : std::fopen(path, "w");
  if (out == nullptr) return;
  std::fprintf(out, "records %llu buffers %llu dropped %llu\n", records.load(), buffers.load(), dropped.load());
  std::fclose(out);
}

void enable_kinds() {
  const char* kinds = std::getenv("FLOOR_KINDS");
  const std::string list = kinds == nullptr ? "10,1,2" : kinds;
  for (size_t at = 0; at < list.size();) {
    size_t used = 0;
    const int kind = std::stoi(list.substr(at), &used);
    if (cuptiActivityEnable(static_cast<CUpti_ActivityKind>(kind)) != CUPTI_SUCCESS) {
      std::fprintf(stderr, "cupti_floor: activity kind %d was refused\n", kind);
    }
    at += used + 1;
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  if (cuptiActivityRegisterCallbacks(requested, completed) != CUPTI_SUCCESS) {
    std::fprintf(stderr, "cupti_floor: CUPTI refused the callbacks\n");
    return 0;
  }
  enable_kinds();
  std::atexit(say);
  if (const char* period = std::getenv("FLOOR_FLUSH_MS")) {
    const int period_ms = std::atoi(period);
    std::thread([period_ms] {
      for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(period_ms));
        cuptiActivityFlushAll(0);
      }
    }).detach();
  }
  return 1;
}
