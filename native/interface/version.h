// Which functions and structures the library has. Python asks before it calls any other function
// (wavescope/native/library.py).
#ifndef WAVESCOPE_INTERFACE_VERSION_H
#define WAVESCOPE_INTERFACE_VERSION_H

#include <stdint.h>

#include "interface/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// Raised with every change of an exported function or structure, together with ABI in wavescope/native/library.py.
enum { WAVESCOPE_COLUMNS_ABI = 5 };

WAVESCOPE_EXPORT int32_t wavescope_columns_abi(void);

#ifdef __cplusplus
}
#endif

#endif
