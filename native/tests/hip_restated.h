// Functions and structures of HIP that the header at hand may not declare, restated from later versions: those of HIP 7,
// and those of hip_ext.h, which only HIP's own compiler takes. A header that has them is compared with instead.
#ifndef WAVESCOPE_TESTS_HIP_RESTATED_H
#define WAVESCOPE_TESTS_HIP_RESTATED_H

#include <cstddef>
#include <cstdint>

namespace restated {

enum Enumeration { kFirst };
struct Opaque;

struct Location {
  Enumeration type;
  int id;
};

struct Config {  // hipLaunchConfig_t
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  hipStream_t stream;
  Opaque* attrs;
  unsigned int numAttrs;
};

struct DriverConfig {  // HIP_LAUNCH_CONFIG
  unsigned int gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  hipStream_t hStream;
  Opaque* attrs;
  unsigned int numAttrs;
};

struct Peer {  // hipMemcpy3DPeerParms
  hipArray* srcArray;
  hipPos srcPos;
  hipPitchedPtr srcPtr;
  int srcDevice;
  hipArray* dstArray;
  hipPos dstPos;
  hipPitchedPtr dstPtr;
  int dstDevice;
  hipExtent extent;
};

// hip_ext.h, and the runtime's own table
hipError_t hipExtModuleLaunchKernel(hipFunction_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, size_t,
                                    hipStream_t, void**, void**, hipEvent_t, hipEvent_t, uint32_t);
hipError_t hipHccModuleLaunchKernel(hipFunction_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, size_t,
                                    hipStream_t, void**, void**, hipEvent_t, hipEvent_t);
hipError_t hipExtHostAlloc(void**, size_t, unsigned int);

// HIP 7.0
hipError_t hipLaunchKernelExC(const Config*, const void*, void**);
hipError_t hipDrvLaunchKernelEx(const DriverConfig*, hipFunction_t, void**, void**);

// HIP 7.1
hipError_t hipMemPrefetchAsync_v2(const void*, size_t, Location, unsigned int, hipStream_t);
hipError_t hipMemAdvise_v2(const void*, size_t, Enumeration, Location);
hipError_t hipMemcpyBatchAsync(void**, void**, size_t*, size_t, Opaque*, size_t*, size_t, size_t*, hipStream_t);
hipError_t hipMemcpy3DBatchAsync(size_t, Opaque*, size_t*, unsigned long long, hipStream_t);
hipError_t hipMemcpy3DPeer(Peer*);
hipError_t hipMemcpy3DPeerAsync(Peer*, hipStream_t);
hipError_t hipMemsetD2D8(hipDeviceptr_t, size_t, unsigned char, size_t, size_t);
hipError_t hipMemsetD2D8Async(hipDeviceptr_t, size_t, unsigned char, size_t, size_t, hipStream_t);
hipError_t hipMemsetD2D16(hipDeviceptr_t, size_t, unsigned short, size_t, size_t);
hipError_t hipMemsetD2D16Async(hipDeviceptr_t, size_t, unsigned short, size_t, size_t, hipStream_t);
hipError_t hipMemsetD2D32(hipDeviceptr_t, size_t, unsigned int, size_t, size_t);
hipError_t hipMemsetD2D32Async(hipDeviceptr_t, size_t, unsigned int, size_t, size_t, hipStream_t);
hipError_t hipModuleLoadFatBinary(hipModule_t*, const void*);

// HIP 7.2
hipError_t hipLibraryLoadData(Opaque**, const void*, Enumeration*, void**, unsigned int, Enumeration*, void**, unsigned int);
hipError_t hipLibraryLoadFromFile(Opaque**, const char*, Enumeration*, void**, unsigned int, Enumeration*, void**,
                                  unsigned int);
hipError_t hipLibraryGetKernel(Opaque**, Opaque*, const char*);
hipError_t hipLibraryUnload(Opaque*);

}  // namespace restated

#endif
