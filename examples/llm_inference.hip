// A program with the shape of LLM inference on two GPUs: a prefill of few large kernels, then decode steps of many
// small ones that are replayed from a graph, copies of tokens in and out, and roctx ranges around the phases.
// The kernels are empty; on the software GPU they take the times of llm_inference.durations:
//
//   HIP_PLATFORM=amd hipcc --offload-arch=gfx90a -O2 -o llm_inference llm_inference.hip -ldl
//   wavescope softgpu --gpus 2 --durations llm_inference.durations -- ./llm_inference [LAYERS] [TOKENS] [REQUESTS]
#include <dlfcn.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

void require(hipError_t status, const char* call) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, hipGetErrorString(status));
  std::exit(1);
}
#define OK(call) require((call), #call)

// Markers of whichever roctx is loaded; without one they do nothing.
class Range {
 public:
  explicit Range(const std::string& name) {
    static const auto push = reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "roctxRangePushA"));
    if (push) push(name.c_str());
  }
  ~Range() {
    static const auto pop = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "roctxRangePop"));
    if (pop) pop();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}  // namespace

// Names are those of libraries that LLM servers use on AMD Instinct.
#define GEMM(tile)                                                                                                 \
  Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT##tile##_MI16x16x1_SN_LDSB1_AFC1_GRVWA8_GRVWB8_PGR2_PLR1_TLDS1_WG64_4_1
#define GEMM_KERNEL(tile) \
  extern "C" __global__ void GEMM(tile)(hip_bfloat16*, const hip_bfloat16*, const hip_bfloat16*, int, int, int) {}
GEMM_KERNEL(256x256x64)
GEMM_KERNEL(256x224x64)
GEMM_KERNEL(256x256x128)
GEMM_KERNEL(256x240x64)
GEMM_KERNEL(32x16x512)
GEMM_KERNEL(16x16x512)
GEMM_KERNEL(64x16x512)

namespace vllm {
template <typename scalar_t, int width>
__global__ void fused_add_rms_norm_kernel(scalar_t*, scalar_t*, const scalar_t*, float, int, int) {}
template <typename scalar_t, bool is_neox>
__global__ void rotary_embedding_kernel(const int64_t*, scalar_t*, scalar_t*, const scalar_t*, int, int, int) {}
template <typename scalar_t, typename cache_t>
__global__ void reshape_and_cache_flash_kernel(const scalar_t*, const scalar_t*, cache_t*, cache_t*, int) {}
template <typename scalar_t, bool act_first>
__global__ void act_and_mul_kernel(scalar_t*, const scalar_t*, int) {}
template <typename scalar_t, int ngpus>
__global__ void cross_device_reduce_1stage(scalar_t*, int, int) {}
}  // namespace vllm

namespace aiter {
__global__ void fmha_fwd_hd128_bf16_causal_rtne_group(const hip_bfloat16*, hip_bfloat16*, int) {}
}  // namespace aiter

template <typename scalar_t, int block_size, int head_size>
__global__ void paged_attention_ll4mi_QKV_mfma16_kernel(const scalar_t*, const scalar_t*, scalar_t*, int) {}
template <typename scalar_t, int head_size>
__global__ void paged_attention_ll4mi_reduce_kernel(scalar_t*, const float*, int) {}
__global__ void ncclDevKernel_Generic_1(hip_bfloat16*, int) {}
template <typename scalar_t>
__global__ void sample_tokens_kernel(int*, const scalar_t*, int) {}

namespace {

using bf16 = hip_bfloat16;

struct Options {
  int layers = 8;
  int tokens = 24;
  int requests = 2;
};

// One GPU of the tensor parallel pair.
class Worker {
 public:
  Worker(int device, const Options& options) : device_(device), options_(options), host_tokens_(batch) {
    OK(hipSetDevice(device_));
    OK(hipStreamCreate(&stream_));
    OK(hipMalloc(&activations_, activation_bytes));
    OK(hipMalloc(&tokens_, batch * sizeof(int)));
    capture_decode();
  }

  void serve(int request) {
    OK(hipSetDevice(device_));
    const Range range("request " + std::to_string(request));
    prefill();
    for (int step = 0; step < options_.tokens; ++step) decode(step);
  }

 private:
  static constexpr size_t batch = 32;
  static constexpr size_t activation_bytes = size_t{4} << 20;

  void prefill() {
    const Range range("prefill");
    std::vector<char> prompt(activation_bytes / 4, 1);
    OK(hipMemcpyAsync(activations_, prompt.data(), prompt.size(), hipMemcpyHostToDevice, stream_));
    for (int layer = 0; layer < options_.layers; ++layer) {
      const Range layer_range("layer " + std::to_string(layer));
      norm(2048);
      GEMM(256x256x64)<<<608, 256, 0, stream_>>>(activations_, activations_, activations_, 0, 0, 0);
      position(2048);
      aiter::fmha_fwd_hd128_bf16_causal_rtne_group<<<1024, 512, 0, stream_>>>(activations_, activations_, 0);
      GEMM(256x224x64)<<<512, 256, 0, stream_>>>(activations_, activations_, activations_, 0, 0, 0);
      ncclDevKernel_Generic_1<<<32, 256, 0, stream_>>>(activations_, 0);
      norm(2048);
      GEMM(256x256x128)<<<1216, 256, 0, stream_>>>(activations_, activations_, activations_, 0, 0, 0);
      vllm::act_and_mul_kernel<bf16, true><<<2048, 1024, 0, stream_>>>(activations_, activations_, 0);
      GEMM(256x240x64)<<<608, 256, 0, stream_>>>(activations_, activations_, activations_, 0, 0, 0);
      ncclDevKernel_Generic_1<<<32, 256, 0, stream_>>>(activations_, 0);
    }
    sample();
  }

  void decode(int step) {
    const Range range("decode " + std::to_string(step));
    OK(hipMemcpyAsync(tokens_, host_tokens_.data(), batch * sizeof(int), hipMemcpyHostToDevice, stream_));
    OK(hipGraphLaunch(decode_graph_, stream_));
    sample();
  }

  void sample() {
    const Range range("sample");
    sample_tokens_kernel<bf16><<<1, 1024, 0, stream_>>>(tokens_, activations_, 0);
    OK(hipMemcpyAsync(host_tokens_.data(), tokens_, batch * sizeof(int), hipMemcpyDeviceToHost, stream_));
    OK(hipStreamSynchronize(stream_));
  }

  void capture_decode() {
    hipGraph_t graph;
    OK(hipStreamBeginCapture(stream_, hipStreamCaptureModeThreadLocal));
    for (int layer = 0; layer < options_.layers; ++layer) decode_layer();
    OK(hipStreamEndCapture(stream_, &graph));
    OK(hipGraphInstantiate(&decode_graph_, graph, nullptr, nullptr, 0));
    OK(hipGraphDestroy(graph));
  }

  void decode_layer() {
    norm(batch);
    GEMM(32x16x512)<<<304, 256, 0, stream_>>>(activations_, activations_, activations_, 0, 0, 0);
    position(batch);
    paged_attention_ll4mi_QKV_mfma16_kernel<bf16, 16, 128><<<256, 256, 0, stream_>>>(activations_, activations_,
                                                                                     activations_, 0);
    paged_attention_ll4mi_reduce_kernel<bf16, 128><<<batch, 128, 0, stream_>>>(activations_, nullptr, 0);
    GEMM(16x16x512)<<<304, 256, 0, stream_>>>(activations_, activations_, activations_, 0, 0, 0);
    vllm::cross_device_reduce_1stage<bf16, 2><<<36, 512, 0, stream_>>>(activations_, 0, 0);
    norm(batch);
    GEMM(64x16x512)<<<304, 256, 0, stream_>>>(activations_, activations_, activations_, 0, 0, 0);
    vllm::act_and_mul_kernel<bf16, true><<<batch, 1024, 0, stream_>>>(activations_, activations_, 0);
    GEMM(16x16x512)<<<304, 256, 0, stream_>>>(activations_, activations_, activations_, 0, 0, 0);
    vllm::cross_device_reduce_1stage<bf16, 2><<<36, 512, 0, stream_>>>(activations_, 0, 0);
  }

  void norm(unsigned blocks) {
    vllm::fused_add_rms_norm_kernel<bf16, 8><<<blocks, 1024, 0, stream_>>>(activations_, activations_, activations_,
                                                                           1e-6f, 0, 0);
  }

  void position(unsigned blocks) {
    vllm::rotary_embedding_kernel<bf16, true><<<blocks, 512, 0, stream_>>>(nullptr, activations_, activations_,
                                                                           activations_, 0, 0, 0);
    vllm::reshape_and_cache_flash_kernel<bf16, bf16><<<blocks, 512, 0, stream_>>>(activations_, activations_,
                                                                                  activations_, activations_, 0);
  }

  int device_;
  Options options_;
  hipStream_t stream_{};
  hipGraphExec_t decode_graph_{};
  bf16* activations_ = nullptr;
  int* tokens_ = nullptr;
  std::vector<int> host_tokens_;
};

int positive(const char* text) {
  const int number = std::atoi(text);
  if (number > 0) return number;
  std::fprintf(stderr, "'%s' is not a number above 0\nusage: llm_inference [LAYERS] [TOKENS] [REQUESTS]\n", text);
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (argc > 1) options.layers = positive(argv[1]);
  if (argc > 2) options.tokens = positive(argv[2]);
  if (argc > 3) options.requests = positive(argv[3]);
  int devices = 0;
  OK(hipGetDeviceCount(&devices));
  std::vector<std::thread> workers;
  for (int device = 0; device < devices && device < 2; ++device) {
    workers.emplace_back([device, &options] {
      Worker worker(device, options);
      for (int request = 0; request < options.requests; ++request) worker.serve(request);
    });
  }
  for (std::thread& worker : workers) worker.join();
  std::printf("%d GPUs served %d requests of %d tokens\n", static_cast<int>(workers.size()), options.requests,
              options.tokens);
  return 0;
}
