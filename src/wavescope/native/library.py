"""Finds and opens the native libraries; every caller has a slower path for when there are none.

`WAVESCOPE_NATIVE=0` in the environment switches them off, which is how tests compare both paths.
"""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path

from wavescope.package_files import package_file


def library_path(name: str) -> Path | None:
    """The installed file of native library `name`, or None when this build has none."""
    return package_file("lib", f"lib{name}.so")


@functools.cache
def columns_library() -> ctypes.CDLL | None:
    """The library that reads and writes trace columns, or None where Python must do."""
    if os.environ.get("WAVESCOPE_NATIVE") == "0":
        return None
    path = library_path("wavescope_columns")
    return None if path is None else ctypes.CDLL(str(path))
