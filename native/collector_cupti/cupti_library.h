// CUPTI as the collector uses it: the functions of a libcupti that was found in the process or opened, none of them linked.
//
// A plain struct of pointers, so that a test can fill one itself. What the records and callbacks hold is in cupti_abi.h.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_CUPTI_LIBRARY_H
#define WAVESCOPE_COLLECTOR_CUPTI_CUPTI_LIBRARY_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collector_cupti/cupti_abi.h"

namespace wavescope::cupti {

template <typename... Arguments>
using CuptiFunction = CuptiResult (*)(Arguments... arguments);

struct CuptiLibrary {
  std::string path;
  void* handle = nullptr;  // of dlopen
  uint32_t version = 0;    // 130001 for 13.0 with its first update; those of 12.x count up to 28

  // Without these nothing can be recorded.
  CuptiFunction<uint32_t*> get_version = nullptr;
  CuptiFunction<CuptiSubscriber*, CuptiCallback, void*> subscribe = nullptr;
  CuptiFunction<CuptiSubscriber> unsubscribe = nullptr;
  CuptiFunction<uint32_t, CuptiSubscriber, CuptiCallbackDomain, uint32_t> enable_callback = nullptr;
  CuptiFunction<uint32_t, CuptiSubscriber, CuptiCallbackDomain> enable_domain = nullptr;
  CuptiFunction<CuptiBufferRequested, CuptiBufferCompleted> activity_register_callbacks = nullptr;
  CuptiFunction<CuptiActivityKind> activity_enable = nullptr;
  CuptiFunction<CuptiActivityKind> activity_disable = nullptr;
  CuptiFunction<uint32_t> activity_flush_all = nullptr;
  CuptiFunction<uint8_t*, std::size_t, CuptiActivity**> activity_get_next_record = nullptr;
  CuptiFunction<void*, uint32_t, std::size_t*> activity_get_dropped = nullptr;  // context, stream, count
  CuptiFunction<uint64_t*> get_timestamp = nullptr;
  CuptiFunction<> finalize = nullptr;

  // These may be missing; who calls one looks first.
  CuptiFunction<uint32_t, std::size_t*, void*> activity_set_attribute = nullptr;
  CuptiFunction<uint32_t, std::size_t*, void*> activity_get_attribute = nullptr;
  CuptiFunction<CuptiActivityKind> activity_enable_and_dump = nullptr;
  CuptiFunction<CuptiResult, const char**> get_result_string = nullptr;
  CuptiFunction<CuptiCallbackDomain, uint32_t, const char**> get_callback_name = nullptr;
  CuptiFunction<void*, uint32_t*> get_context_id = nullptr;                          // CUcontext
  CuptiFunction<void*, uint32_t*> get_device_id = nullptr;                           // CUcontext
  CuptiFunction<void*, void*, uint8_t, uint32_t*> get_stream_id = nullptr;           // CUcontext, CUstream, per thread
  CuptiFunction<void*, uint64_t*> get_graph_node_id = nullptr;                       // CUgraphNode
  CuptiFunction<void*, uint32_t*> get_graph_id = nullptr;                            // CUgraph
  CuptiFunction<void*, uint32_t*> get_graph_exec_id = nullptr;                       // CUgraphExec; of 12.3 and later

  // Whether records of a running program may go off and on again. With 12.9 that ended 8 of 10 programs in SIGSEGV, with
  // and without graphs, and some hung; with 13.0 none.
  bool switches_records() const { return version >= kVersion13_0; }

  // "CUPTI_ERROR_...", or its number.
  std::string name_of(CuptiResult result) const;
};

// What of the process decides where to look for CUPTI.
struct CuptiSearch {
  std::vector<std::string> loaded;  // paths of the libraries of the process
  std::string wanted_path;          // WAVESCOPE_CUPTI; may be empty
  uint32_t driver_major = 0;        // of CUDA as the driver has it; 0: not known
};

// The process's own, then the wanted one, then what lies beside its CUDA runtime, then where the linker and the installer of
// CUDA have it; of two versions the one that is not newer than the driver. Only the first may be loaded already.
std::vector<std::string> cupti_candidates(const CuptiSearch& search);

// Fills in the functions of the library with that handle; false, with the reason, when it is too old or lacks one of them.
bool take_functions(void* handle, CuptiLibrary& library, std::string& reason);

// Finds and opens CUPTI; false, with what to tell the user, when there is none that can be used.
bool find_cupti(const std::string& wanted_path, CuptiLibrary& library, std::string& reason);

// "13.0", of what cuptiGetVersion answers.
std::string spelled_version(uint32_t version);

// Of the kernel driver ("580.159.03"), else of CUDA as the driver has it ("CUDA 13.0").
std::string driver_version();

}  // namespace wavescope::cupti

#endif
