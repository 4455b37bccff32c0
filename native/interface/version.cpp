#include "interface/version.h"

int32_t wavescope_columns_abi(void) { return WAVESCOPE_COLUMNS_ABI; }
