"""Counter values of kernel dispatches, whatever kind of file they are from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

COLLECT_HINT = (
    "collect for example: rocprofv3 --pmc TCC_HIT_sum TCC_MISS_sum TCC_EA0_RDREQ_sum "
    "TCC_EA0_RDREQ_32B_sum -f csv -- CMD, and TCC_BUBBLE_sum in a second run"
)
"""How to get counters of memory traffic."""
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9_]*?)(?:_(sum|SUM))?(?:\[(\d+)\])?", re.ASCII)


class CounterName(NamedTuple):
    """A counter as files spell it: `TCC_HIT_sum` is TCC_HIT over all, `TCC_HIT[3]` a part of it."""

    base: str
    is_part: bool


class CountedDispatch(NamedTuple):
    """One dispatch of one run with the counters of that run; `duration_ns` None is unknown."""

    file: int
    """Index into `DispatchCounters.files`."""
    dispatch: str
    kernel: str
    duration_ns: int | None
    values: Mapping[str, float]
    """By counter name without `_sum`, summed over the instances of the block."""


@dataclass(frozen=True)
class DispatchCounters:
    """All dispatches of some files, which may be passes of one program or different runs."""

    files: tuple[str, ...]
    dispatches: Sequence[CountedDispatch]
    chip: str = ""
    """Such as gfx942; '' where the files do not say."""
    product: str = ""
    notes: tuple[str, ...] = ()

    @property
    def kernels(self) -> list[str]:
        """Kernel names in the order of their first dispatch."""
        return list(dict.fromkeys(dispatch.kernel for dispatch in self.dispatches))


def counter_name(text: str) -> CounterName | None:
    """The counter that `text` names, None where it cannot be one."""
    found = _NAME.fullmatch(text.strip())
    return CounterName(found.group(1).upper(), found.group(3) is not None) if found else None


class ValueSum:
    """Adds up values of one dispatch: a sum over all instances is preferred to adding parts."""

    def __init__(self) -> None:
        self._whole: dict[str, float] = {}
        self._parts: dict[str, float] = {}

    def add(self, name: CounterName, value: float) -> None:
        """Count one value."""
        counts = self._parts if name.is_part else self._whole
        counts[name.base] = counts.get(name.base, 0.0) + value

    def values(self) -> dict[str, float]:
        """By counter."""
        return self._parts | self._whole


def united(parts: Iterable[DispatchCounters]) -> DispatchCounters:
    """The dispatches of several sets of files as one; the first chip that any of them names."""
    files: list[str] = []
    dispatches: list[CountedDispatch] = []
    notes: list[str] = []
    chip = product = ""
    for part in parts:
        dispatches += [each._replace(file=each.file + len(files)) for each in part.dispatches]
        files += part.files
        notes += part.notes
        if part.chip and not chip:
            chip, product = part.chip, part.product
    return DispatchCounters(tuple(files), dispatches, chip, product, tuple(notes))
