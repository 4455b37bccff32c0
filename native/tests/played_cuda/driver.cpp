// The stand-in for libcuda.so.1: the functions of the driver that programs of the tests and the collector call.
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "engine.h"

#define DRIVER_FUNCTION extern "C" PLAYED_EXPORT int

using played::CallScope;
using played::Kernel;
using played::Op;
using played::OpKind;
using played::Size3;
using played::Stream;

namespace {

constexpr auto kDriver = played::abi::CuptiCallbackDomain::kDriverApi;
constexpr int kInvalidValue = 1;
constexpr int kNoDevice = 100;
constexpr int kInvalidDevice = 101;
constexpr int kNotFound = 500;

// Names of kernels lie in the module, whose place the next module gets.
struct Module {
  uint32_t id = 0;
  char names[8][256] = {};
  std::map<std::string, Kernel> kernels;
};

struct Modules {
  std::mutex mutex;
  Module* unloaded = nullptr;
  uint32_t next = 1;
};

Modules& modules() {
  static Modules& one = *new Modules;
  return one;
}

void tell_module(played::abi::ResourceCallback id, Module& module) {
  played::abi::ModuleResourceData data{module.id, sizeof module.names, module.names[0]};
  if (const auto* tool = played::tool()) tool->resource(id, played::current_context(), nullptr, &data);
}

int launch(const Kernel& kernel, Size3 grid, Size3 block, uint32_t shared_bytes, void* stream) {
  if (grid.x <= 0 || block.x <= 0 || block.x > 1024) return kInvalidValue;
  Op op;
  op.kernel = kernel;
  op.grid = grid;
  op.block = block;
  op.dynamic_shared_bytes = static_cast<int32_t>(shared_bytes);
  played::submit(played::stream_of(stream), op);
  return 0;
}

int copy(played::abi::CopyKind kind, std::size_t bytes, void* stream) {
  Op op;
  op.kind = OpKind::kCopy;
  op.copy_kind = kind;
  op.bytes = bytes;
  played::submit(played::stream_of(stream), op);
  return 0;
}

}  // namespace

DRIVER_FUNCTION cuInit(unsigned) {
  if (played::gpu_count() == 0) return kNoDevice;
  return played::initialize();
}

DRIVER_FUNCTION cuDriverGetVersion(int* version) {
  *version = static_cast<int>(played::setting("driver", 13000));
  return 0;
}

DRIVER_FUNCTION cuDeviceGetCount(int* count) {
  if (played::is_torn_down()) played::complain("GPUs were asked for after the end of the driver");
  *count = static_cast<int>(played::gpu_count());
  return 0;
}

DRIVER_FUNCTION cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal < static_cast<int>(played::gpu_count()) ? 0 : kInvalidDevice;
}

DRIVER_FUNCTION cuDeviceGetName(char* name, int bytes, int) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "NVIDIA H200 (played)");
  return 0;
}

DRIVER_FUNCTION cuDeviceGetUuid_v2(uint8_t* uuid, int device) {
  for (int at = 0; at < 16; ++at) uuid[at] = static_cast<uint8_t>(0x10 * device + at);
  return 0;
}
DRIVER_FUNCTION cuDeviceGetUuid(uint8_t* uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }

DRIVER_FUNCTION cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = 150'000'000'000;
  return 0;
}

DRIVER_FUNCTION cuDeviceGetAttribute(int* value, int attribute, int device) {
  // Never destroyed: threads may ask until the process is gone.
  static const auto& values = *new std::map<int, int>{{10, 32},   {13, 1'980'000}, {16, 132}, {34, 0}, {36, 3'201'000},
                                                      {37, 6144}, {50, 0},         {75, 9},   {76, 0}};
  const auto found = values.find(attribute);
  *value = attribute == 33 ? 0x18 + device : found == values.end() ? 0 : found->second;
  return 0;
}

DRIVER_FUNCTION cuDeviceGetPCIBusId(char* text, int bytes, int device) {
  std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02X:00.0", 0x18 + device);
  return 0;
}

DRIVER_FUNCTION cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = played::primary_context(static_cast<uint32_t>(device));
  return 0;
}

DRIVER_FUNCTION cuCtxSetCurrent(void* context) {
  played::current_context() = static_cast<played::Context*>(context);
  return 0;
}

DRIVER_FUNCTION cuCtxGetCurrent(void** context) {
  *context = played::current_context();
  return 0;
}

DRIVER_FUNCTION cuCtxGetDevice(int* device) {
  if (played::current_context() == nullptr) return 201;  // CUDA_ERROR_INVALID_CONTEXT
  *device = static_cast<int>(played::current_context()->gpu);
  return 0;
}

DRIVER_FUNCTION cuCtxSynchronize() {
  int result = 0;
  const CallScope scope(kDriver, 17, "cuCtxSynchronize", nullptr, result);
  played::wait_for_context(played::stream_of(nullptr)->context);
  return result;
}

DRIVER_FUNCTION cuStreamSynchronize(void* stream) {
  int result = 0;
  struct {
    void* stream;
  } parameters{stream};
  const CallScope scope(kDriver, 126, "cuStreamSynchronize", &parameters, result);
  played::wait_for(played::stream_of(stream)->busy_until_ns);
  return result;
}

DRIVER_FUNCTION cuModuleLoadData(void** module, const void* image) {
  int result = 0;
  struct {
    void** module;
    const void* image;
  } parameters{module, image};
  const CallScope scope(kDriver, 19, "cuModuleLoadData", &parameters, result);
  Module* made = nullptr;
  {
    const std::lock_guard<std::mutex> lock(modules().mutex);
    made = modules().unloaded == nullptr ? new Module : modules().unloaded;
    modules().unloaded = nullptr;
    made->id = modules().next++;
    made->kernels.clear();
  }
  tell_module(played::abi::ResourceCallback::kModuleLoaded, *made);
  *module = made;
  return result;
}

DRIVER_FUNCTION cuModuleGetFunction(void** function, void* module, const char* name) {
  auto& owner = *static_cast<Module*>(module);
  const std::lock_guard<std::mutex> lock(modules().mutex);
  const auto place = owner.kernels.size();
  if (place == 8 || std::strlen(name) >= 256) return kNotFound;
  const auto [found, is_new] = owner.kernels.try_emplace(name);
  if (is_new) found->second.name = std::strcpy(owner.names[place], name);
  *function = &found->second;
  return 0;
}

DRIVER_FUNCTION cuModuleUnload(void* module) {
  int result = 0;
  struct {
    void* module;
  } parameters{module};
  const CallScope scope(kDriver, 22, "cuModuleUnload", &parameters, result);
  auto* unloaded = static_cast<Module*>(module);
  tell_module(played::abi::ResourceCallback::kModuleUnloadStarting, *unloaded);
  if (const auto* tool = played::tool()) tool->drain();
  const std::lock_guard<std::mutex> lock(modules().mutex);
  modules().unloaded = unloaded;
  return result;
}

DRIVER_FUNCTION cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** arguments,
                               void** extra) {
  const auto& kernel = *static_cast<Kernel*>(function);
  int result = 0;
  struct {
    void* function;
    unsigned sizes[6];
    unsigned shared_bytes;
    void* stream;
    void** arguments;
    void** extra;
  } parameters{function, {grid_x, grid_y, grid_z, block_x, block_y, block_z}, shared_bytes, stream, arguments, extra};
  const CallScope scope(kDriver, 307, "cuLaunchKernel", &parameters, result, kernel.name);
  const Size3 grid{static_cast<int>(grid_x), static_cast<int>(grid_y), static_cast<int>(grid_z)};
  const Size3 block{static_cast<int>(block_x), static_cast<int>(block_y), static_cast<int>(block_z)};
  result = launch(kernel, grid, block, shared_bytes, stream);
  return result;
}

DRIVER_FUNCTION cuMemAlloc_v2(uint64_t* address, std::size_t bytes) {
  int result = 0;
  struct {
    uint64_t* address;
    std::size_t bytes;
  } parameters{address, bytes};
  const CallScope scope(kDriver, 243, "cuMemAlloc_v2", &parameters, result);
  *address = played::allocate(bytes);
  return result;
}

DRIVER_FUNCTION cuMemFree_v2(uint64_t address) {
  int result = 0;
  struct {
    uint64_t address;
  } parameters{address};
  const CallScope scope(kDriver, 245, "cuMemFree_v2", &parameters, result);
  return result;
}

DRIVER_FUNCTION cuMemcpyHtoDAsync_v2(uint64_t target, const void* source, std::size_t bytes, void* stream) {
  int result = 0;
  struct {
    uint64_t target;
    const void* source;
    std::size_t bytes;
    void* stream;
  } parameters{target, source, bytes, stream};
  const CallScope scope(kDriver, 277, "cuMemcpyHtoDAsync_v2", &parameters, result);
  result = copy(played::abi::CopyKind::kHostToDevice, bytes, stream);
  return result;
}

DRIVER_FUNCTION cuGraphLaunch(void* exec, void* stream) {
  int result = 0;
  struct {
    void* exec;
    void* stream;
  } parameters{exec, stream};
  const CallScope scope(kDriver, 514, "cuGraphLaunch", &parameters, result);
  played::launch_graph(*static_cast<played::Graph*>(exec), played::stream_of(stream));
  return result;
}
