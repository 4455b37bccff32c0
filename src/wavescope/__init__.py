"""wavescope: GPU traces, opened, analysed and converted.

import wavescope

trace = wavescope.open("trace.db")        # any known format
trace.ops.to_pandas()
wavescope.summary(trace)                  # tables and findings, shown richly in a notebook
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wavescope.version import __version__

if TYPE_CHECKING:
    from wavescope.api import convert, merge, open, summary  # noqa: A004
    from wavescope.errors import WavescopeError

__all__ = ["WavescopeError", "__version__", "convert", "merge", "open", "summary"]


def __getattr__(name: str) -> Any:
    """Public names, imported when first used: `wavescope --help` must not wait for NumPy."""
    if name == "WavescopeError":
        from wavescope.errors import WavescopeError  # noqa: PLC0415

        return WavescopeError
    if name in __all__:
        from wavescope import api  # noqa: PLC0415

        return getattr(api, name)
    raise AttributeError(f"module 'wavescope' has no attribute '{name}'")
