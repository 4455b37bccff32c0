// The kernels behind measured ceilings, compiled at run time for the GPU at hand: by HIPRTC for
// AMD, by NVRTC for NVIDIA. A kernel that a chip cannot run is not there, and so not measured.
//
// Every kernel repeats its work `rounds` times and keeps the result alive by a store that never
// happens. What one round does is stated beside each kernel in measurements.py.

#if defined(__HIP_DEVICE_COMPILE__) || defined(__HIPCC_RTC__) || defined(__HIP__)
#define ON_AMD 1
#else
#define ON_NVIDIA 1
#endif

#define KERNEL extern "C" __global__ void __launch_bounds__(256)
#define UNROLL _Pragma("unroll")

// A value that no sum of the (zeroed) memory reaches, and that no compiler can rule out.
__device__ inline bool impossible(float value) { return value == 12345.678f; }
__device__ inline float sum_of(float4 v) { return v.x + v.y + v.z + v.w; }

// Memory: the whole grid walks once over `count` elements per round, eight loads in flight.
KERNEL read_memory(const float4* data, long long count, int rounds, float* sink) {
  const long long stride = (long long)gridDim.x * 256;
  float sum = 0;
  for (int round = 0; round < rounds; ++round) {
    for (long long at = (long long)blockIdx.x * 256 + threadIdx.x; at < count; at += 8 * stride) {
      float4 loaded[8];
      UNROLL for (int i = 0; i < 8; ++i) loaded[i] = data[at + i * stride];
      UNROLL for (int i = 0; i < 8; ++i) sum += sum_of(loaded[i]);
    }
  }
  if (impossible(sum)) *sink = sum;
}

// Caches: every workgroup walks over all of `count` elements (a power of two), each beginning at a
// place of its own; one round is 16 loads of each thread.
template <typename Load>
__device__ inline float read_around(const float4* data, long long count, int rounds, Load load) {
  const unsigned mask = (unsigned)count - 1;
  unsigned at = blockIdx.x * 2048 + threadIdx.x;
  float sum = 0;
  for (int round = 0; round < rounds; ++round, at += 16 * 256) {
    float4 loaded[16];
    UNROLL for (int i = 0; i < 16; ++i) loaded[i] = load(data + ((at + i * 256) & mask));
    UNROLL for (int i = 0; i < 16; ++i) sum += sum_of(loaded[i]);
  }
  return sum;
}

struct FromFirstLevel {
  __device__ float4 operator()(const float4* place) const { return *place; }
};
struct FromSecondLevel {
#if ON_AMD
  // The first level is far smaller than what is walked over, and so is of no help.
  __device__ float4 operator()(const float4* place) const { return *place; }
#else
  __device__ float4 operator()(const float4* place) const {
    float4 v;
    asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(place));
    return v;
  }
#endif
};

KERNEL read_first_level(const float4* data, long long count, int rounds, float* sink) {
  const float sum = read_around(data, count, rounds, FromFirstLevel());
  if (impossible(sum)) *sink = sum;
}
KERNEL read_second_level(const float4* data, long long count, int rounds, float* sink) {
  const float sum = read_around(data, count, rounds, FromSecondLevel());
  if (impossible(sum)) *sink = sum;
}

// The scratchpad of a compute unit: 16 loads of each thread per round, without bank conflicts.
KERNEL read_shared(const float4* data, long long count, int rounds, float* sink) {
  __shared__ float4 tile[1024];
  for (int i = threadIdx.x; i < 1024; i += 256) tile[i] = data[i];
  __syncthreads();
  unsigned at = threadIdx.x;
  float sum = 0;
  for (int round = 0; round < rounds; ++round, at += 256) {
    float4 loaded[16];
    UNROLL for (int i = 0; i < 16; ++i) loaded[i] = tile[(at + i * 64) & 1023];
    UNROLL for (int i = 0; i < 16; ++i) sum += sum_of(loaded[i]);
  }
  if (impossible(sum)) *sink = sum;
}

// Arithmetic: 16 independent chains of multiply-add, 8 steps of each per round.
template <typename Number>
__device__ inline float multiply_add(const float* data, int rounds) {
  Number chain[16];
  const Number factor = (Number)(data[0] + 1), term = (Number)(data[1] + 2);
  UNROLL for (int i = 0; i < 16; ++i) chain[i] = (Number)(threadIdx.x + i);
  for (int round = 0; round < rounds; ++round) {
    UNROLL for (int step = 0; step < 8; ++step) {
      UNROLL for (int i = 0; i < 16; ++i) chain[i] = chain[i] * factor + term;
    }
  }
  float sum = 0;
  UNROLL for (int i = 0; i < 16; ++i) sum += (float)chain[i];
  return sum;
}

#define ARITHMETIC(name, Number)                                                        \
  KERNEL name(const float4* data, long long count, int rounds, float* sink) {           \
    const float sum = multiply_add<Number>((const float*)data, rounds);                 \
    if (impossible(sum)) *sink = sum;                                                   \
  }
ARITHMETIC(arithmetic_fp32, float)
ARITHMETIC(arithmetic_fp64, double)
ARITHMETIC(arithmetic_int32, int)
ARITHMETIC(arithmetic_int64, long long)

// Two half precision numbers in one register.
struct HalfPair {
#if ON_AMD
  typedef _Float16 Pair __attribute__((ext_vector_type(2)));
  Pair value;
  __device__ explicit HalfPair(float v) : value((_Float16)v) {}
  __device__ explicit HalfPair(unsigned v) : HalfPair((float)v) {}
  __device__ explicit HalfPair(Pair v) : value(v) {}
  __device__ explicit operator float() const { return (float)(value[0] + value[1]); }
  struct Product {
    Pair a, b;
    __device__ HalfPair operator+(HalfPair c) const { return HalfPair(a * b + c.value); }
  };
  __device__ Product operator*(HalfPair other) const { return Product{value, other.value}; }
#else
  unsigned value;
  __device__ explicit HalfPair(float v) {
    asm("{ .reg .f16 h; cvt.rn.f16.f32 h, %1; mov.b32 %0, {h, h}; }" : "=r"(value) : "f"(v));
  }
  __device__ explicit HalfPair(unsigned v) : HalfPair((float)v) {}
  __device__ explicit operator float() const { return (float)value; }
  struct Product {
    unsigned a, b;
    __device__ HalfPair operator+(HalfPair c) const {
      HalfPair sum;
      asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(sum.value) : "r"(a), "r"(b), "r"(c.value));
      return sum;
    }
  };
  __device__ Product operator*(HalfPair other) const { return Product{value, other.value}; }
#endif
  HalfPair() = default;
};
ARITHMETIC(arithmetic_fp16, HalfPair)

// Matrix units: four independent accumulators, 32 products into each of them per round: compilers
// may move all accumulators from one kind of registers to another at the end of a round, and so
// many products make that count for little. The name of a kernel ends in the shape of one product,
// which a whole wave computes.
#define MATRIX(name, Operand, Sum, PRODUCT)                                             \
  KERNEL name(const float4* data, long long count, int rounds, float* sink) {           \
    Operand a = {}, b = {};                                                             \
    Sum sums[4] = {};                                                                   \
    for (int round = 0; round < rounds; ++round) {                                      \
      UNROLL for (int i = 0; i < 128; ++i) { Sum& sum = sums[i % 4]; PRODUCT; }         \
    }                                                                                   \
    float total = 0;                                                                    \
    UNROLL for (int i = 0; i < 4; ++i) total += (float)sums[i][0];                      \
    if (impossible(total)) *sink = total;                                               \
  }

#if ON_AMD && (defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx940__) || \
               defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__))
typedef _Float16 Half4 __attribute__((ext_vector_type(4)));
typedef short Short2 __attribute__((ext_vector_type(2)));
typedef short Short4 __attribute__((ext_vector_type(4)));
typedef float Float16s __attribute__((ext_vector_type(16)));
typedef double Double4 __attribute__((ext_vector_type(4)));
typedef int Int16s __attribute__((ext_vector_type(16)));

MATRIX(matrix_fp32_32x32x2, float, Float16s, sum = __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, sum, 0, 0, 0))
#if defined(__gfx950__)
// Products of twice the depth, in the same cycles: the older shapes reach half of this chip's rate.
typedef _Float16 Half8 __attribute__((ext_vector_type(8)));
typedef __bf16 Bfloat8 __attribute__((ext_vector_type(8)));
typedef int Int4 __attribute__((ext_vector_type(4)));
typedef int Int8s __attribute__((ext_vector_type(8)));
MATRIX(matrix_fp16_32x32x16, Half8, Float16s, sum = __builtin_amdgcn_mfma_f32_32x32x16_f16(a, b, sum, 0, 0, 0))
MATRIX(matrix_bf16_32x32x16, Bfloat8, Float16s, sum = __builtin_amdgcn_mfma_f32_32x32x16_bf16(a, b, sum, 0, 0, 0))
MATRIX(matrix_int8_32x32x32, Int4, Int16s, sum = __builtin_amdgcn_mfma_i32_32x32x32_i8(a, b, sum, 0, 0, 0))
// One instruction for numbers of 8, 6 and 4 bits; the format of both operands is a code.
#define SMALL_FLOATS(format) \
  sum = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a, b, sum, format, format, 0, 0, 0, 0)
MATRIX(matrix_fp8_32x32x64, Int8s, Float16s, SMALL_FLOATS(0))
MATRIX(matrix_fp6_32x32x64, Int8s, Float16s, SMALL_FLOATS(2))
MATRIX(matrix_fp4_32x32x64, Int8s, Float16s, SMALL_FLOATS(4))
#else
MATRIX(matrix_fp16_32x32x8, Half4, Float16s, sum = __builtin_amdgcn_mfma_f32_32x32x8f16(a, b, sum, 0, 0, 0))
#endif
#if defined(__gfx908__)
MATRIX(matrix_bf16_32x32x4, Short2, Float16s, sum = __builtin_amdgcn_mfma_f32_32x32x4bf16(a, b, sum, 0, 0, 0))
#else
MATRIX(matrix_fp64_16x16x4, double, Double4, sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, sum, 0, 0, 0))
#endif
#if defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
MATRIX(matrix_bf16_32x32x8, Short4, Float16s, sum = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, sum, 0, 0, 0))
#endif
#if defined(__gfx908__) || defined(__gfx90a__)
MATRIX(matrix_int8_32x32x8, int, Int16s, sum = __builtin_amdgcn_mfma_i32_32x32x8i8(a, b, sum, 0, 0, 0))
#elif !defined(__gfx950__)
MATRIX(matrix_int8_32x32x16, long, Int16s, sum = __builtin_amdgcn_mfma_i32_32x32x16_i8(a, b, sum, 0, 0, 0))
MATRIX(matrix_fp8_32x32x16, long, Float16s, sum = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(a, b, sum, 0, 0, 0))
#endif
#endif

#if ON_NVIDIA && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
struct Words4 { unsigned w[4]; };
struct Floats4 {
  float f[4];
  __device__ float operator[](int i) const { return f[i]; }
};
struct Ints4 {
  int n[4];
  __device__ int operator[](int i) const { return n[i]; }
};
struct Doubles2 {
  double d[2];
  __device__ double operator[](int i) const { return d[i]; }
};
#define MMA_FLOAT(shape_and_types)                                                              \
  asm volatile("mma.sync.aligned." shape_and_types                                              \
               " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"                         \
               : "+f"(sum.f[0]), "+f"(sum.f[1]), "+f"(sum.f[2]), "+f"(sum.f[3])                 \
               : "r"(a.w[0]), "r"(a.w[1]), "r"(a.w[2]), "r"(a.w[3]), "r"(b.w[0]), "r"(b.w[1]))
MATRIX(matrix_fp16_16x8x16, Words4, Floats4, MMA_FLOAT("m16n8k16.row.col.f32.f16.f16.f32"))
MATRIX(matrix_bf16_16x8x16, Words4, Floats4, MMA_FLOAT("m16n8k16.row.col.f32.bf16.bf16.f32"))
MATRIX(matrix_fp32_16x8x8, Words4, Floats4, MMA_FLOAT("m16n8k8.row.col.f32.tf32.tf32.f32"))
// The assembler of the driver knows 8-bit floats from CUDA 12.4 on, and refuses the whole module before. Later chips have
// them in another instruction: what an H200 makes of this one came out at three times what the chip can do.
#if __CUDA_ARCH__ == 890 && defined(__CUDACC_VER_MAJOR__) && \
    __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1204
MATRIX(matrix_fp8_16x8x32, Words4, Floats4, MMA_FLOAT("m16n8k32.row.col.f32.e4m3.e4m3.f32"))
#endif
MATRIX(matrix_int8_16x8x32, Words4, Ints4,
       asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
                    " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                    : "+r"(sum.n[0]), "+r"(sum.n[1]), "+r"(sum.n[2]), "+r"(sum.n[3])
                    : "r"(a.w[0]), "r"(a.w[1]), "r"(a.w[2]), "r"(a.w[3]), "r"(b.w[0]), "r"(b.w[1])))
MATRIX(matrix_fp64_8x8x4, double, Doubles2,
       asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                    : "+d"(sum.d[0]), "+d"(sum.d[1])
                    : "d"(a), "d"(b)))
#endif
