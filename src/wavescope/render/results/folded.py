"""Writes time by stack as folded stacks, `a;b;c 120`: what flame graph tools read.

One line for each path with time that no shown path below it has, so that all lines add up to
everything. A `;` in a name would be another frame and a line end another line: they become `:` and
a space, as do all characters that end lines or control terminals.
"""

from __future__ import annotations

import re
from typing import TextIO

from wavescope.model.result import ResultTable

_NO_NAME = "(no name)"
_UNSAFE = re.compile("[\x00-\x20\x7f-\xa0\u2028\u2029\ud800-\udfff]+")


def write_folded(table: ResultTable, stream: TextIO) -> None:
    """Write the table `flame` of a result, in which paths come depth first."""
    stack: list[tuple[str, int]] = []
    """The names from the root on, each with the time that is still to be written."""
    for record in table.records():
        depth, total_ns = int(record["depth"] or 0), int(record["total_ns"] or 0)
        _close(stack, depth, stream)
        if stack:
            name, left_ns = stack[-1]
            stack[-1] = (name, left_ns - total_ns)
        stack.append((folded_name(str(record["name"])), total_ns))
    _close(stack, 0, stream)


def folded_name(name: str) -> str:
    """A name that is one frame of one line."""
    return _UNSAFE.sub(" ", name).replace(";", ":").strip() or _NO_NAME


def _close(stack: list[tuple[str, int]], depth: int, stream: TextIO) -> None:
    """Write the time of the paths that end here: those of `depth` names and more."""
    while len(stack) > depth:
        left_ns = stack[-1][1]
        # The root is in no line: tools have one of their own.
        names = [name for name, _ in stack[1:]] or [stack[0][0]]
        if left_ns > 0:
            stream.write(f"{';'.join(names)} {left_ns}\n")
        stack.pop()
