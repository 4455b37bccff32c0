// The life of the process's collector: made when CUDA is initialized, finished before its driver is gone.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_INJECTION_H
#define WAVESCOPE_COLLECTOR_CUPTI_INJECTION_H

#include "collector_cupti/cupti_library.h"

namespace wavescope::cupti {

// Begins to record with that library, if anything is to be recorded in this process and nothing is yet.
void begin_collecting(const CuptiLibrary& library);

}  // namespace wavescope::cupti

#endif
