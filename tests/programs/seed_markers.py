"""The tutorial's example, with the place of the work left empty."""

import ctypes

# Load roctx from global symbol table (RTL injects via LD_PRELOAD)
lib = ctypes.CDLL(None)
roctx_push = lib.roctxRangePushA
roctx_push.argtypes = [ctypes.c_char_p]
roctx_push.restype = ctypes.c_int
roctx_pop = lib.roctxRangePop
roctx_pop.restype = ctypes.c_int

# Mark prefill phase
roctx_push(b"prefill")
# ... prefill code (large batch GEMM, attention, etc.) ...
roctx_pop()

# Mark decode phase
roctx_push(b"decode")
# ... decode loop (skinny GEMM, token-by-token generation) ...
roctx_pop()
