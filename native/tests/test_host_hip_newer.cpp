// Functions that came after HIP 5.2: passed on unchanged, recorded with their arguments and results, their work linked to
// them; and found by name in every way that HIP offers.
#include <dlfcn.h>

#include <vector>

#include "check.h"
#include "collector_hip/functions.h"
#include "collector_hip/hip_types.h"
#include "core/session.h"
#include "recorded_session.h"

using namespace wavescope::hip;

#define HIP_FUNCTION(kind, name, parameters, passed, stream, kept) extern "C" int name parameters;
#define HIP_NEWER_FUNCTION(since, ...) HIP_FUNCTION(__VA_ARGS__)
#define HIP_CXX_FUNCTION(kind, name, parameters, passed, stream, kept, symbol)
#include "collector_hip/hip_functions.def"

extern "C" {
int hipGetProcAddress(const char* symbol, void** function, int version, uint64_t flags, int* status);
int hipGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags, int* status);
int hipGetDriverEntryPoint_spt(const char* symbol, void** function, unsigned long long flags, int* status);
}

namespace {

using Call = WavescopeCallRecord;

constexpr uint64_t kStream = 0x77;
constexpr uint64_t kBlock = uint64_t{64} | uint64_t{4} << 21 | uint64_t{1} << 42;
constexpr Dim3 kGridSize{1, 2, 3}, kBlockSize{64, 4, 1};
const char* const kOfStub = "first";  // as the stand-in names every host stub

uint64_t seen_inside = 0;

void note_correlation() { seen_inside = wavescope::current_correlation(); }

template <typename Pointer = void*>
Pointer pointer(uintptr_t value) {
  return reinterpret_cast<Pointer>(value);
}

class Recorded {
 public:
  explicit Recorded(const RecordedSession& session) : session_(session) {}

  Call last() const { return session_.records<Call>("calls").back(); }
  std::size_t count() const { return session_.records<Call>("calls").size(); }
  std::string text(uint64_t id) const { return session_.texts().at(id); }

  // The call just made was right, left one record of these arguments, and its work would have been linked to it.
  void check(int result, Function function, uint64_t stream, const std::vector<uint64_t>& arguments) {
    CHECK(result == 0);
    CHECK(count() == ++checked_);
    const Call call = last();
    CHECK(call.function == static_cast<uint16_t>(function) && call.result == 0 && call.flags == 0);
    CHECK(call.correlation != 0 && call.correlation == seen_inside && wavescope::current_correlation() == 0);
    CHECK(call.stream == stream);
    for (std::size_t at = 0; at < arguments.size(); ++at) CHECK(call.arguments[at] == arguments[at]);
  }

  // The same for a launch, whose first argument is the name of its kernel.
  void check_launch(int result, Function function, uint64_t stream, const char* kernel,
                    const std::vector<uint64_t>& arguments) {
    std::vector<uint64_t> all{last().arguments[0]};
    all.insert(all.end(), arguments.begin(), arguments.end());
    check(result, function, stream, all);
    CHECK(text(last().arguments[0]) == kernel);
  }

  // The call just made was refused by the runtime, which is what the program and the record got.
  void check_refused(int result, Function function) {
    CHECK(result == 1);
    CHECK(count() == ++checked_);
    CHECK(last().function == static_cast<uint16_t>(function) && last().result == 1);
  }

 private:
  const RecordedSession& session_;
  std::size_t checked_ = 0;
};

void stubs_are_launched(Recorded& recorded) {
  static char stub;
  const std::vector<uint64_t> shape{1, 2, 3, kBlock, 256};
  void** const arguments = pointer<void**>(0xa0);
  LaunchConfig config{kGridSize, kBlockSize, 256, pointer(kStream), nullptr, 5};
  recorded.check_launch(hipLaunchKernelExC(&config, &stub, arguments), Function::hipLaunchKernelExC, kStream, kOfStub,
                        shape);
  recorded.check_refused(hipLaunchKernelExC(nullptr, &stub, arguments), Function::hipLaunchKernelExC);
  recorded.check_launch(hipLaunchKernel_spt(&stub, kGridSize, kBlockSize, arguments, 256, nullptr),
                        Function::hipLaunchKernel_spt, 0, kOfStub, shape);
  recorded.check_launch(hipLaunchCooperativeKernel(&stub, kGridSize, kBlockSize, arguments, 256, pointer(kStream)),
                        Function::hipLaunchCooperativeKernel, kStream, kOfStub, shape);
  recorded.check_launch(hipLaunchCooperativeKernel_spt(&stub, kGridSize, kBlockSize, arguments, 256, pointer(kStream)),
                        Function::hipLaunchCooperativeKernel_spt, kStream, kOfStub, shape);
  LaunchParameters launches[] = {{&stub, kGridSize, kBlockSize, arguments, 256, pointer(kStream)},
                                 {&stub, kGridSize, kBlockSize, arguments, 256, pointer(kStream + 1)}};
  recorded.check_launch(hipLaunchCooperativeKernelMultiDevice(launches, 2, 3),
                        Function::hipLaunchCooperativeKernelMultiDevice, kStream, kOfStub, {2, 3});
}

void functions_are_launched(Recorded& recorded) {
  void* const function = pointer(0xf1);
  const std::vector<uint64_t> shape{1, 2, 3, kBlock, 256};
  void** const arguments = pointer<void**>(0xa0);
  void** const extra = pointer<void**>(0xe0);
  DriverLaunchConfig config{1, 2, 3, 64, 4, 1, 256, pointer(kStream), nullptr, 0};
  recorded.check_launch(hipDrvLaunchKernelEx(&config, function, arguments, extra), Function::hipDrvLaunchKernelEx, kStream,
                        "of_function", shape);
  recorded.check_launch(hipModuleLaunchCooperativeKernel(function, 1, 2, 3, 64, 4, 1, 256, pointer(kStream), arguments),
                        Function::hipModuleLaunchCooperativeKernel, kStream, "of_function", shape);
  FunctionLaunchParameters launches[] = {{function, 1, 2, 3, 64, 4, 1, 256, pointer(kStream), arguments},
                                         {function, 1, 2, 3, 64, 4, 1, 256, pointer(kStream + 1), arguments}};
  recorded.check_launch(hipModuleLaunchCooperativeKernelMultiDevice(launches, 2, 3),
                        Function::hipModuleLaunchCooperativeKernelMultiDevice, kStream, "of_function", {2, 3});
  // These take work-items: a part of a workgroup is one.
  recorded.check_launch(hipExtModuleLaunchKernel(function, 60, 8, 3, 64, 4, 1, 256, pointer(kStream), arguments, extra,
                                                 pointer(0x51), pointer(0x52), 9),
                        Function::hipExtModuleLaunchKernel, kStream, "of_function", shape);
  recorded.check_launch(hipHccModuleLaunchKernel(function, 60, 8, 3, 64, 4, 1, 256, pointer(kStream), arguments, extra,
                                                 pointer(0x51), pointer(0x52)),
                        Function::hipHccModuleLaunchKernel, kStream, "of_function", shape);
}

void copies_and_fills(Recorded& recorded) {
  constexpr uint64_t kDeviceToDevice = 3, kDefault = 4;
  void* targets[] = {pointer(0xd1), pointer(0xd2)};
  void* sources[] = {pointer(0x51), pointer(0x52)};
  size_t sizes[] = {100, 23};
  const auto batch = [&](void** to) {
    return hipMemcpyBatchAsync(to, sources, sizes, 2, pointer(0x61), pointer<size_t*>(0x62), 1, pointer<size_t*>(0x63),
                               pointer(kStream));
  };
  recorded.check(batch(targets), Function::hipMemcpyBatchAsync, kStream, {0xd1, 0x51, 123, kDefault, 2});
  recorded.check_refused(batch(nullptr), Function::hipMemcpyBatchAsync);
  recorded.check(hipMemPrefetchAsync_v2(targets[0], 100, MemoryLocation{1, 3}, 9, pointer(kStream)),
                 Function::hipMemPrefetchAsync_v2, kStream, {0xd1, 100, 3, 1, 9});
  PeerCopy3D peers{nullptr, {}, {sources[0], 8, 8, 8}, 1, nullptr, {}, {targets[0], 8, 8, 8}, 2, {2, 3, 4}};
  recorded.check(hipMemcpy3DPeerAsync(&peers, pointer(kStream)), Function::hipMemcpy3DPeerAsync, kStream,
                 {0xd1, 0x51, 24, kDeviceToDevice, 2, 1});
  recorded.check(hipMemcpyAtoA(targets[0], 4, sources[0], 8, 100), Function::hipMemcpyAtoA, 0,
                 {0xd1, 0x51, 100, kDeviceToDevice, 4, 8});
  recorded.check(hipMemcpy2DAsync_spt(targets[0], 64, sources[0], 32, 20, 5, 2, nullptr), Function::hipMemcpy2DAsync_spt, 0,
                 {0xd1, 0x51, 100, 2, 20, 5});
  DriverCopy3D<size_t> driver{};
  driver.source_device = sources[0], driver.target_device = targets[0];
  driver.width = 2, driver.height = 3, driver.depth = 4;
  recorded.check(hipDrvMemcpy3D(&driver), Function::hipDrvMemcpy3D, 0, {0xd1, 0x51, 24, kDefault, 2, 3});
  recorded.check(hipMemsetD2D16Async(targets[0], 64, 0xffff, 20, 5, pointer(kStream)), Function::hipMemsetD2D16Async,
                 kStream, {0xd1, 200, 0xffff, 20, 5});
  recorded.check(hipMemset3DAsync_spt(PitchedPointer{targets[0], 11, 12, 13}, -5, Extent{2, 3, 4}, nullptr),
                 Function::hipMemset3DAsync_spt, 0, {0xd1, 24, static_cast<uint64_t>(int64_t{-5})});
}

void memory_and_streams(Recorded& recorded) {
  recorded.check(hipMemSetAccess(pointer(0xd1), 4096, pointer(0x61), 2), Function::hipMemSetAccess, 0, {0xd1, 4096, 2});
  recorded.check(hipStreamBatchMemOp(pointer(kStream), 3, pointer(0x61), 9), Function::hipStreamBatchMemOp, kStream, {3, 9});
  recorded.check(hipSignalExternalSemaphoresAsync(pointer(0x61), pointer(0x62), 2, pointer(kStream)),
                 Function::hipSignalExternalSemaphoresAsync, kStream, {2});
  recorded.check(hipLaunchHostFunc_spt(nullptr, pointer(0xf1), pointer(0x61)), Function::hipLaunchHostFunc_spt, 0, {0xf1});
}

void graphs(Recorded& recorded) {
  static char stub;
  constexpr int kKernelNode = 0, kCopyNode = 1;
  recorded.check(hipStreamBeginCaptureToGraph(pointer(kStream), pointer(0x91), pointer(0x61), pointer(0x62), 2, 1),
                 Function::hipStreamBeginCaptureToGraph, kStream, {0x91, 1});
  void* node = nullptr;
  NodeParameters parameters{};
  parameters.type = kKernelNode;
  parameters.kernel.function = &stub;
  recorded.check_launch(hipGraphAddNode(&node, pointer(0x91), pointer(0x61), 2, &parameters), Function::hipGraphAddNode, 0,
                        kOfStub, {kKernelNode, 0x92, 0x91});
  recorded.check_launch(hipGraphExecNodeSetParams(pointer(0x93), node, &parameters), Function::hipGraphExecNodeSetParams, 0,
                        kOfStub, {kKernelNode, 0x93, 0x92});
  parameters.type = kCopyNode;
  recorded.check(hipGraphAddNode(&node, pointer(0x91), pointer(0x61), 2, &parameters), Function::hipGraphAddNode, 0,
                 {0, kCopyNode, 0x92, 0x91});
  AllocationNodeParameters allocation{};
  allocation.bytes = 4096;
  recorded.check(hipGraphAddMemAllocNode(&node, pointer(0x91), nullptr, 0, &allocation), Function::hipGraphAddMemAllocNode,
                 0, {0xd1, 4096, 0x92, 0x91});
  recorded.check(hipGraphExecMemcpyNodeSetParams1D(pointer(0x93), node, pointer(0xd1), pointer(0x51), 100, 3),
                 Function::hipGraphExecMemcpyNodeSetParams1D, 0, {0xd1, 0x51, 100, 3, 0x93, 0x92});
}

void code(Recorded& recorded) {
  static char stub;
  void** const arguments = pointer<void**>(0xa0);
  void* kernel = nullptr;
  recorded.check(hipLibraryGetKernel(&kernel, pointer(0x81), "scale"), Function::hipLibraryGetKernel, 0, {0xf2, 0x81});
  CHECK(recorded.text(recorded.last().arguments[2]) == "scale");
  recorded.check_launch(hipFuncSetAttribute(&stub, 8, 65536), Function::hipFuncSetAttribute, 0, kOfStub, {8, 65536});
  recorded.check(hiprtcCompileProgram(pointer(0x81), 2, pointer<const char**>(0x61)), Function::hiprtcCompileProgram, 0,
                 {0x81, 2});

  // When a library went, an address may be another kernel's.
  const auto name_of_library_kernel = [&] {
    FunctionLaunchParameters launches[] = {{kernel, 1, 2, 3, 64, 4, 1, 256, pointer(kStream), arguments},
                                           {kernel, 1, 2, 3, 64, 4, 1, 256, pointer(kStream + 1), arguments}};
    const int result = hipModuleLaunchCooperativeKernelMultiDevice(launches, 2, 3);
    recorded.check(result, Function::hipModuleLaunchCooperativeKernelMultiDevice, kStream, {});
    return recorded.text(recorded.last().arguments[0]);
  };
  CHECK(name_of_library_kernel() == "of_library");
  recorded.check(hipLibraryUnload(pointer(0x81)), Function::hipLibraryUnload, 0, {0x81});
  CHECK(name_of_library_kernel() == "of_next_library");
}

using SetAccess = int(void*, size_t, const void*, size_t);

void functions_are_found_by_name(Recorded& recorded, void* runtime) {
  constexpr uint64_t kDefaultStream = 0, kStreamPerThread = 2;
  int status = -1;
  void* found = nullptr;
  CHECK(hipGetProcAddress("hipMemSetAccess", &found, 600, kDefaultStream, &status) == 0 && status == 0);
  CHECK(found == reinterpret_cast<void*>(&hipMemSetAccess));
  recorded.check(reinterpret_cast<SetAccess*>(found)(pointer(0xd1), 4096, pointer(0x61), 2), Function::hipMemSetAccess, 0,
                 {0xd1, 4096, 2});
  CHECK(hipGetProcAddress("hipLaunchCooperativeKernel", &found, 600, kDefaultStream, nullptr) == 0);
  CHECK(found == reinterpret_cast<void*>(&hipLaunchCooperativeKernel));
  CHECK(hipGetProcAddress("hipLaunchCooperativeKernel", &found, 600, kStreamPerThread, nullptr) == 0);
  CHECK(found == reinterpret_cast<void*>(&hipLaunchCooperativeKernel_spt));
  CHECK(hipGetDriverEntryPoint("hipLaunchCooperativeKernel", &found, kDefaultStream, &status) == 0 && status == 0);
  CHECK(found == reinterpret_cast<void*>(&hipLaunchCooperativeKernel));
  CHECK(hipGetDriverEntryPoint_spt("hipLaunchCooperativeKernel", &found, kDefaultStream, nullptr) == 0);
  CHECK(found == reinterpret_cast<void*>(&hipLaunchCooperativeKernel_spt));

  // What is not in the table is the runtime's own, of the version that was asked for.
  CHECK(hipGetProcAddress("hipGetDeviceProperties", &found, 600, kDefaultStream, &status) == 0 && status == 0);
  CHECK(found == dlsym(runtime, "hipGetDevicePropertiesR0600"));
}

void failed_lookups_stay_as_they_are() {
  int status = -1;
  void* found = pointer(0x1);
  CHECK(hipGetProcAddress("hipNothing", &found, 600, 0, &status) == 1 && status == 1 && found == nullptr);
  status = -1, found = pointer(0x1);
  CHECK(hipGetProcAddress("hipMemSetAccess", &found, 600, 3, &status) == 1 && status == -1 && found == pointer(0x1));
  CHECK(hipGetProcAddress("hipMemSetAccess", nullptr, 600, 0, nullptr) == 1);
  CHECK(hipGetProcAddress(nullptr, &found, 600, 0, nullptr) == 1 && found == pointer(0x1));
  CHECK(hipGetDriverEntryPoint(nullptr, nullptr, 0, nullptr) == 1);
}

}  // namespace

int main() {
  const RecordedSession session("hip");
  void* runtime = dlopen(FAKE_HIP_RUNTIME, RTLD_NOW | RTLD_LOCAL);
  CHECK(runtime != nullptr);
  *static_cast<void (**)()>(dlsym(runtime, "fake_inside")) = note_correlation;

  Recorded recorded(session);
  stubs_are_launched(recorded);
  functions_are_launched(recorded);
  copies_and_fills(recorded);
  memory_and_streams(recorded);
  graphs(recorded);
  code(recorded);
  functions_are_found_by_name(recorded, runtime);
  failed_lookups_stay_as_they_are();
  return 0;
}
