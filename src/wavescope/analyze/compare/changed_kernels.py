"""How each kernel of two traces changed from one to the other, in one word; as `compare` has it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wavescope.analyze.compare.differences import (
    Difference,
    difference_table,
    differences,
    percent_change,
)
from wavescope.analyze.compare.figures import FigureOptions, TraceFigures, shown_name
from wavescope.analyze.compare.renames import renames, told_apart
from wavescope.model.result import ResultTable
from wavescope.model.trace import Trace

SAME_PERCENT = 5.0
"""A kernel whose mean duration changed by no more is the same."""
_JOINED = " + "


class KernelChange(str, enum.Enum):
    """What a kernel of one trace is beside the other."""

    ONLY_HERE = "only here"
    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"


@dataclass(frozen=True)
class KernelChanges:
    """Of each kernel, as listed, its change; and the table of `wavescope compare`."""

    of_base: Mapping[str, KernelChange]
    of_new: Mapping[str, KernelChange]
    table: ResultTable
    options: FigureOptions

    def listed(self, label: str) -> str:
        """What ops of a label (see `op_labels`) are listed under."""
        return shown_name(label, self.options)


def kernel_changes(base: Trace, new: Trace) -> KernelChanges:
    """The kernels of both, with those put together that only have another name."""
    figures = told_apart([TraceFigures(trace, FigureOptions()) for trace in (base, new)])
    rows = differences(figures[0].by_kernel, figures[1].by_kernel, renames(*figures))
    categories = figures[0].category_of_kernel | figures[1].category_of_kernel
    return KernelChanges(
        _of_names((part.base_name or part.name, _from_new_to_base(part)) for part in rows),
        _of_names((part.name, _from_base_to_new(part)) for part in rows),
        difference_table("kernels", "Kernels", "Kernel", [(2, rows)], categories=categories),
        figures[0].options,
    )


def _of_names(changes: Iterable[tuple[str, KernelChange | None]]) -> dict[str, KernelChange]:
    return {
        name: change
        for names, change in changes
        if change is not None
        for name in (names, *(names.split(_JOINED) if _JOINED in names else ()))
    }


def _from_base_to_new(part: Difference) -> KernelChange | None:
    return _change(part.base.mean_ns, part.new.mean_ns)


def _from_new_to_base(part: Difference) -> KernelChange | None:
    return _change(part.new.mean_ns, part.base.mean_ns)


def _change(other_ns: float | None, here_ns: float | None) -> KernelChange | None:
    """None: it is not here at all."""
    if here_ns is None:
        return None
    if other_ns is None:
        return KernelChange.ONLY_HERE
    percent = percent_change(other_ns, here_ns)
    if percent is None or abs(percent) <= SAME_PERCENT:
        return KernelChange.SAME
    return KernelChange.SLOWER if percent > 0 else KernelChange.FASTER
