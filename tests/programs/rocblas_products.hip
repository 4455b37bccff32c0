// Matrix products by rocBLAS, opened at run time: its headers need not be installed.
// Usage: rocblas_products COUNT SIDE
#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

using Handle = void*;
constexpr int kNoTranspose = 111;
constexpr int kTranspose = 112;

using CreateHandle = int (*)(Handle*);
using DestroyHandle = int (*)(Handle);
using Sgemm = int (*)(Handle, int, int, int, int, int, const float*, const float*, int,
                      const float*, int, const float*, float*, int);

template <typename Function>
Function found(void* library, const char* name) {
  auto function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    std::fprintf(stderr, "rocBLAS has no %s\n", name);
    std::exit(3);
  }
  return function;
}

void require(int status, const char* what) {
  if (status != 0) {
    std::fprintf(stderr, "%s: status %d\n", what, status);
    std::exit(4);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 3;
  const int side = argc > 2 ? std::atoi(argv[2]) : 256;
  void* library = dlopen("librocblas.so.4", RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  Handle handle = nullptr;
  require(found<CreateHandle>(library, "rocblas_create_handle")(&handle), "create");
  float* matrices[3];
  for (float*& matrix : matrices) {
    require(hipMalloc(reinterpret_cast<void**>(&matrix), sizeof(float) * side * side), "memory");
  }
  const auto sgemm = found<Sgemm>(library, "rocblas_sgemm");
  const float one = 1, zero = 0;
  for (int index = 0; index < count; ++index) {
    require(sgemm(handle, index % 2 ? kTranspose : kNoTranspose, kNoTranspose, side, side, side,
                  &one, matrices[0], side, matrices[1], side, &zero, matrices[2], side),
            "product");
  }
  require(hipDeviceSynchronize(), "wait");
  require(found<DestroyHandle>(library, "rocblas_destroy_handle")(handle), "destroy");
  std::printf("%d products\n", count);
  return 0;
}
