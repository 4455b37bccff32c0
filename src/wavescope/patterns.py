"""Regular expressions that people write: compiled, or refused with what is wrong and a way out."""

from __future__ import annotations

import re

from wavescope.errors import UsageError

_AS_THEY_ARE = "put a backslash before characters that are meant as they are: \\( \\[ \\*"


def compiled(pattern: str, where: str = "") -> re.Pattern[str]:
    """The regular expression `pattern`; a usage error that says what is wrong with it.

    `where` is where it was written, if that is not plain to whoever wrote it.
    """
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError, ValueError) as error:
        raise no_pattern(pattern, _reason(error), where) from error


def no_pattern(pattern: str, reason: str, where: str = "") -> UsageError:
    """That `pattern` is no regular expression."""
    head = f"{where}: " if where else ""
    return UsageError(f"{head}'{pattern}' is not a regular expression: {reason}", hint=_AS_THEY_ARE)


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    # Of a number in it that has thousands of digits Python speaks as of its own limits.
    return str(error) if isinstance(error, re.error) else "a number in it is too large"
