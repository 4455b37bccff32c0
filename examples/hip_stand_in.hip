// Kernels with the names that a GPT-2 like model shows on AMD Instinct: hipBLASLt GEMMs, the kernels that sum what a
// split GEMM left, attention, layer norm, gelu, the lookup of tokens and their choice. They are empty: on the software
// GPU they take the times of a table.
//
//   HIP_PLATFORM=amd hipcc --genco --offload-arch=gfx90a -o hip_stand_in.hsaco hip_stand_in.hip
#include <hip/hip_runtime.h>

#define EMPTY(name) \
  extern "C" __global__ void name() {}

// Prefill: many tokens at once.
EMPTY(Cijk_Ailk_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs_MT64x64x256_MI16x16x1_SN)
EMPTY(Cijk_Ailk_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs_MT64x128x128_MI16x16x1_SN)
EMPTY(Cijk_Ailk_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs_MT64x16x512_MI16x16x1_SN)
EMPTY(Cijk_SB_Bias_AS_ScaleAlphaVec_PostGSU8)
// Decode: one token at a time.
EMPTY(Cijk_Ailk_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs_MT256x16x384_MI16x16x1_SN)
EMPTY(Cijk_Ailk_Bljk_HHS_BH_Bias_HAS_SAV_UserArgs_MT64x16x128_MI16x16x1_SN)
EMPTY(Cijk_SB_Bias_AS_ScaleAlphaVec_PostGSU8_VW1)
EMPTY(Cijk_SB_Bias_AS_ScaleAlphaVec_PostGSU8_VW4)
EMPTY(needless_copy)
// Both.
EMPTY(attn_fwd)

namespace at {
namespace native {
struct gelu;
template <int vector_size, typename function>
__global__ void vectorized_elementwise_kernel() {}
template __global__ void vectorized_elementwise_kernel<4, gelu>();
template <typename scalar, typename accumulator>
__global__ void vectorized_layer_norm_kernel() {}
template __global__ void vectorized_layer_norm_kernel<_Float16, float>();
template <typename scalar, typename index>
__global__ void indexSelectSmallIndex() {}
template __global__ void indexSelectSmallIndex<_Float16, long>();
struct ArgMaxOps;
template <int threads, typename operation>
__global__ void reduce_kernel() {}
template __global__ void reduce_kernel<512, ArgMaxOps>();
}  // namespace native
}  // namespace at
