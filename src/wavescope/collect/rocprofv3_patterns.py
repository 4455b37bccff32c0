"""Patterns of kernel names that rocprofv3 matches, by ECMAScript's rules and not by Python's."""

from __future__ import annotations

import re

from wavescope.errors import UsageError
from wavescope.patterns import compiled

_UNKNOWN = r"(?P<unknown>\\[AZ]|\(\?(?![:=!])[^)]{0,12})"
_PIECES = re.compile(_UNKNOWN + r"|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
"""What rocprofv3 does not know, and what may look like it: escaped, or inside of brackets."""


def require_rocprofv3_pattern(pattern: str) -> None:
    """An error where the two differ: kernels would be left out, and nobody told."""
    compiled(pattern)
    for piece in _PIECES.finditer(pattern):
        if piece["unknown"]:
            raise UsageError(
                f"rocprofv3, which matches kernel names here, does not know '{piece['unknown']}'",
                hint="write letters of both cases as [gG], and no named groups or look-behind",
            )
