// Memory that is shared or mapped: hip_memory SUBJECT. Prints "right", or the first call that failed and its error.
//   ipc           memory of this process is read and written by another one, which is this program again
//   ipc_child HEX the other one, with the handle
//   vmm           memory is created, mapped at a reserved address and used by kernels and copies
#include <hip/hip_runtime.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define OK(call)                                                               \
  do {                                                                         \
    const hipError_t error_ = (call);                                          \
    if (error_ == hipSuccess) break;                                           \
    std::printf("%.*s: %s\n", name_length(#call), #call, hipGetErrorName(error_)); \
    std::exit(1);                                                              \
  } while (false)

extern char** environ;

static int name_length(const char* call) { return static_cast<int>(std::strcspn(call, "(")); }

__global__ void touch(int* data) {
  if (data) data[threadIdx.x] += 1;
}

namespace {

constexpr size_t count = 1 << 18;
constexpr size_t bytes = count * sizeof(int);
constexpr int launches = 20;

std::vector<int> filled(int value) { return std::vector<int>(count, value); }

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s does not hold\n", what);
  std::exit(1);
}

// Kernels compute nothing on a software GPU; that they run is what counts.
void launch_some() {
  for (int index = 0; index < launches; ++index) touch<<<1, 64>>>(nullptr);
  OK(hipDeviceSynchronize());
}

bool has(const int* memory, int value) {
  std::vector<int> result(count);
  OK(hipMemcpy(result.data(), memory, bytes, hipMemcpyDeviceToHost));
  return result == filled(value);
}

void fill(int* memory, int value) { OK(hipMemcpy(memory, filled(value).data(), bytes, hipMemcpyHostToDevice)); }

std::string spelled(const hipIpcMemHandle_t& handle) {
  std::string text;
  char pair[3];
  for (const char byte : handle.reserved) {
    std::snprintf(pair, sizeof pair, "%02x", static_cast<unsigned char>(byte));
    text += pair;
  }
  return text;
}

hipIpcMemHandle_t handle_of(const char* text) {
  hipIpcMemHandle_t handle;
  for (char& byte : handle.reserved) {
    const char pair[3] = {text[0], text[1], 0};
    byte = static_cast<char>(std::strtol(pair, nullptr, 16));
    text += 2;
  }
  return handle;
}

void ipc(char* program) {
  int* memory = nullptr;
  hipIpcMemHandle_t handle;
  OK(hipMalloc(reinterpret_cast<void**>(&memory), bytes));
  fill(memory, 17);
  OK(hipIpcGetMemHandle(&handle, memory));
  launch_some();
  std::string text = spelled(handle);
  char subject[] = "ipc_child";
  char* words[] = {program, subject, &text[0], nullptr};
  pid_t child = 0;
  int status = -1;
  require(posix_spawn(&child, program, nullptr, nullptr, words, environ) == 0, "a child is started");
  require(waitpid(child, &status, 0) == child && status == 0, "the child ends well");
  require(has(memory, 42), "the parent reads what the child wrote");
  OK(hipFree(memory));
}

// What the only flag there is is called by: the headers at hand may be older than the runtime.
unsigned lazy_peer_access() {
  int version = 0;
  OK(hipRuntimeGetVersion(&version));
  return version >= 60000000 ? 1 : 0;
}

void ipc_child(const char* text) {
  void* memory = nullptr;
  OK(hipIpcOpenMemHandle(&memory, handle_of(text), lazy_peer_access()));
  require(has(static_cast<int*>(memory), 17), "the child reads what the parent wrote");
  fill(static_cast<int*>(memory), 42);
  launch_some();
  OK(hipIpcCloseMemHandle(memory));
}

// hipMemAllocationProp as runtimes with this memory have it: that of the headers at hand may be older.
struct AllocationProperties {
  hipMemAllocationType type;
  hipMemAllocationHandleType handle_type;
  hipMemLocation location;
  void* metadata;
  unsigned flags;
};

void vmm() {
  AllocationProperties own{hipMemAllocationTypePinned, hipMemHandleTypeNone, {hipMemLocationTypeDevice, 0}, nullptr, 0};
  const auto& properties = reinterpret_cast<const hipMemAllocationProp&>(own);
  hipMemAccessDesc access{own.location, hipMemAccessFlagsProtReadWrite};
  size_t granularity = 0;
  OK(hipMemGetAllocationGranularity(&granularity, &properties, hipMemAllocationGranularityRecommended));
  require(granularity > 0, "memory can be mapped");
  const size_t size = (bytes + granularity - 1) / granularity * granularity;
  hipMemGenericAllocationHandle_t handle;
  void* memory = nullptr;
  OK(hipMemCreate(&handle, size, &properties, 0));
  OK(hipMemAddressReserve(&memory, size, 0, nullptr, 0));
  OK(hipMemMap(memory, size, 0, handle, 0));
  OK(hipMemSetAccess(memory, size, &access, 1));
  fill(static_cast<int*>(memory), 23);
  launch_some();
  require(has(static_cast<int*>(memory), 23), "mapped memory keeps what is copied to it");
  OK(hipMemUnmap(memory, size));
  OK(hipMemAddressFree(memory, size));
  OK(hipMemRelease(handle));
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count < 2) return 2;
  if (std::strcmp(arguments[1], "ipc") == 0) ipc(arguments[0]);
  if (std::strcmp(arguments[1], "ipc_child") == 0 && argument_count > 2) {
    ipc_child(arguments[2]);
    return 0;
  }
  if (std::strcmp(arguments[1], "vmm") == 0) vmm();
  std::puts("right");
  return 0;
}
