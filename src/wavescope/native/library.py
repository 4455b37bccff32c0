"""Opens the native library of columns."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

from wavescope.errors import MachineError
from wavescope.native.signatures import ABI, declare
from wavescope.package_files import library_path

_REINSTALL = "install wavescope again: pip install --force-reinstall wavescope"


@functools.cache
def columns_library() -> ctypes.CDLL:
    """The library that reads and writes trace columns, its functions declared."""
    path = library_path("wavescope_columns")
    if path is None:
        raise MachineError(
            "wavescope's native library, libwavescope_columns.so, is not installed", hint=_REINSTALL
        )
    return opened(path)


def opened(path: Path) -> ctypes.CDLL:
    """The library in `path`; refused unless it is of this version of wavescope."""
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise MachineError(f"{path} cannot be loaded: {error}", hint=_REINSTALL) from error
    abi = library.wavescope_columns_abi() if hasattr(library, "wavescope_columns_abi") else 0
    if abi != ABI:
        raise MachineError(
            f"{path} is of another version of wavescope: its interface is number {abi}, "
            f"this one needs {ABI}",
            hint=_REINSTALL,
        )
    declare(library)
    return library
