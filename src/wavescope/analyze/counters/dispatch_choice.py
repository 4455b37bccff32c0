"""Chooses dispatches by kernel, dispatch id and GPU, as the command line spells them."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wavescope.errors import UsageError
from wavescope.model.counters import CounterTable, Integers
from wavescope.model.selection import compiled

_RANGE = re.compile(r"(\d{1,18})(?::(\d{1,18}))?", re.ASCII)
_ABOVE = re.compile(r">\s*(\d{1,18})", re.ASCII)


def kernels_by_time(table: CounterTable) -> Integers:
    """Indexes of kernel names, the one with most time first; a kernel's id is its place here."""
    times = np.bincount(
        table.kernel_codes,
        weights=np.nan_to_num(table.durations_ns),
        minlength=len(table.kernel_names),
    )
    return np.argsort(-times, kind="stable")


def chosen_rows(
    table: CounterTable,
    kernels: Sequence[str] = (),
    dispatches: Sequence[str] = (),
    gpus: Sequence[str] = (),
    pattern: str = "",
) -> NDArray[np.bool_]:
    """Which dispatches all filters leave; nothing left is a usage error.

    `kernels` are ids or parts of names, `pattern` is found somewhere in the name.
    """
    chosen = np.ones(table.count, dtype=np.bool_)
    if kernels:
        codes = [code for text in kernels for code in _kernel_codes(table, text)]
        chosen &= np.isin(table.kernel_codes, codes)
    if pattern:
        is_meant = compiled(pattern).search
        matches = np.array([bool(is_meant(name)) for name in table.kernel_names], dtype=np.bool_)
        chosen &= matches[table.kernel_codes]
    if dispatches:
        chosen &= _dispatch_mask(table.dispatch_ids, dispatches)
    if gpus:
        chosen &= np.isin(table.gpu_ids, [_gpu_id(table, text) for text in gpus])
    if not chosen.any():
        raise UsageError(
            f"no dispatch of {table.path} is left",
            hint="`wavescope analyze -p DIR --list-stats` lists kernels, dispatches and GPUs",
        )
    return chosen


def _kernel_codes(table: CounterTable, text: str) -> list[int]:
    """The kernels that an id of --list-stats, a part of the name or a pattern with * means."""
    order = kernels_by_time(table).tolist()
    if text.isdecimal() and int(text) < len(order):
        return [order[int(text)]]
    names = table.kernel_names
    if any(mark in text for mark in "*?["):
        found = [code for code, name in enumerate(names) if fnmatch.fnmatchcase(name, text)]
    else:
        found = [code for code, name in enumerate(names) if text in name]
    if not found:
        near = difflib.get_close_matches(text, names, 2, 0.3)
        raise UsageError(
            f"no kernel is '{text}'",
            hint=f"did you mean '{near[0]}'?"
            if near
            else f"there are {len(names)} kernels, `--list-stats` lists them",
        )
    return found


def _dispatch_mask(ids: Integers, texts: Sequence[str]) -> NDArray[np.bool_]:
    chosen = np.zeros(len(ids), dtype=np.bool_)
    for text in texts:
        above = _ABOVE.fullmatch(text.strip())
        found = _RANGE.fullmatch(text.strip())
        if above:
            chosen |= ids > int(above.group(1))
        elif found:
            first = int(found.group(1))
            last = int(found.group(2) or first)
            chosen |= (ids >= first) & (ids <= last)
        else:
            raise UsageError(
                f"'{text}' is no dispatch", hint="write 5, 3:7 (both included) or '>10'"
            )
    return chosen


def _gpu_id(table: CounterTable, text: str) -> int:
    known = sorted({int(gpu) for gpu in table.gpu_ids})
    if not (text.isdecimal() and int(text) in known):
        raise UsageError(
            f"no dispatch ran on GPU '{text}'",
            hint=f"there are: {', '.join(map(str, known))}",
        )
    return int(text)
