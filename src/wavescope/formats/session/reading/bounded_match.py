"""Which names match a regular expression that somebody else may have written.

A session that was handed on brings its own pattern, and a pattern can be made to take for ever. One
that repeats anything is therefore tried by a process of its own, which can be ended.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence

LONGEST_S = 20.0
_REPEATS = frozenset("*+{")
_MATCH = """
import json, re, sys
text, names = json.load(sys.stdin)
pattern = re.compile(text)
json.dump([pattern.search(name) is not None for name in names], sys.stdout)
"""


def is_quick(pattern: re.Pattern[str]) -> bool:
    """Whether a pattern repeats nothing, so that it cannot take long."""
    return _REPEATS.isdisjoint(pattern.pattern)


def matches(pattern: re.Pattern[str], names: Sequence[str]) -> list[bool] | None:
    """Of each name whether the pattern is found in it; None when that takes too long."""
    if not names or is_quick(pattern):
        return [pattern.search(name) is not None for name in names]
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _MATCH],
            input=json.dumps([pattern.pattern, list(names)]),
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=True,
        )
        found: list[bool] = json.loads(done.stdout)
    except (subprocess.SubprocessError, OSError, ValueError):
        return None
    return found
