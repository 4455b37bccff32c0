"""The native library of columns: the only place that knows ctypes.

`columns_library()` has the functions of `signatures`; arrays are given as they are and are checked
for their type, or as a `pointer` in one of the `structures`.
"""

from wavescope.native.library import columns_library
from wavescope.native.pointers import pointer

__all__ = ["columns_library", "pointer"]
