"""What the launching threads did while a GPU idled: the calls that cover most of the time.

All calls that cover more than half of some time overlap one another there: they are the frames of
one stack, and the shortest are the innermost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.idle.gap_parts import Flags, GapParts, host_threads
from wavescope.analyze.idle.readable_calls import is_one_time, readable_call, says_what
from wavescope.arrays.lane_cover import LaneCover
from wavescope.model.columns import UNKNOWN

_MOST = 0.5
"""From this share of the time on a call is what the host did."""
_ONE_CALL = 0.8
_MUCH_LONGER = 10
_NESTED = 1.1
"""Calls that add up to more than this times what they cover together are inside one another."""

Rows = npt.NDArray[np.int64]


class CallCover(NamedTuple):
    """The calls of one name, and how much of the time they cover."""

    name: str
    covered_ns: int
    calls: int
    """How many of them cover any of it."""
    typical_ns: float
    """How long the call is that the host is in, on average over the time."""
    is_nested: bool
    """Whether they are called inside one another, as what calls everything is."""
    is_first_call: bool
    """Whether nearly all of it is the first call of that name, and later ones are far shorter."""

    @property
    def readable(self) -> str:
        return readable_call(self.name)

    @property
    def says_what(self) -> bool:
        """Whether the name tells what is done, not only how Python calls it."""
        return says_what(self.name) and not self.is_nested


@dataclass(frozen=True)
class HostWork:
    """The time before launches, and the calls that cover most of it, the outermost first."""

    total_ns: int
    stack: tuple[CallCover, ...]
    largest_part: CallCover | None
    """The call that covers most of those which do not cover most of the time."""
    unrecorded_ns: int
    """Time in which the threads were inside no recorded call."""

    @property
    def telling(self) -> list[CallCover]:
        """The calls of the stack whose names tell what is done; all where none does."""
        return [call for call in self.stack if call.says_what] or list(self.stack)

    @property
    def innermost(self) -> CallCover | None:
        return self.telling[-1] if self.stack else None

    @property
    def one_time(self) -> CallCover | None:
        """The call that is known to be made once: it compiles, captures or loads something."""
        once = [call for call in self.stack if is_one_time(call.name)]
        if once:
            return once[-1]
        innermost = self.innermost
        return innermost if innermost is not None and innermost.is_first_call else None


def host_work(parts: GapParts, chosen: Flags | slice = slice(None)) -> HostWork:
    """What covers most of the time before the launches of the chosen gaps, waits left out."""
    calls = parts.trace.calls
    threads = parts.trace.derived(host_threads)
    before = LaneCover.of(
        parts.starts[chosen], parts.launch_starts[chosen], parts.lanes[chosen]
    ).less(threads.waiting)
    total_ns = before.total_ns
    if not total_ns:
        return HostWork(0, (), None, 0)
    starts, ends, lanes = calls["start_ns"], calls["end_ns"], threads.lane_of_call
    near = (starts < parts.launch_starts[chosen].max()) & (ends > parts.starts[chosen].min())
    rows = np.flatnonzero(near & (calls["name"] != UNKNOWN))
    covered = before.between_ns(starts[rows], ends[rows], lanes[rows])
    rows, covered = rows[covered > 0], covered[covered > 0]
    codes = calls["name"][rows]
    sums = np.bincount(codes, covered.astype(np.float64)).astype(np.float64)
    measured = [
        _measured(parts, before, rows[codes == code], covered[codes == code])
        for code in _worth_a_look(sums, total_ns)
    ]
    measured.sort(key=lambda call: (-call.typical_ns, -call.covered_ns))
    stack = tuple(call for call in measured if call.covered_ns >= _MOST * total_ns)
    others = [call for call in measured if call.covered_ns < _MOST * total_ns]
    largest = max(others, key=lambda call: call.covered_ns, default=None)
    recorded = LaneCover.of(starts[rows], ends[rows], lanes[rows])
    return HostWork(total_ns, stack, largest, before.less(recorded).total_ns)


def _worth_a_look(sums: npt.NDArray[np.float64], total_ns: int) -> list[int]:
    """The names that may cover most of the time, and the largest of the others."""
    many = np.flatnonzero(sums >= _MOST * total_ns).tolist()
    few = np.flatnonzero((sums > 0) & (sums < _MOST * total_ns))
    return many + ([int(few[np.argmax(sums[few])])] if len(few) else [])


def _measured(
    parts: GapParts, before: LaneCover, rows: Rows, covered: npt.NDArray[np.uint64]
) -> CallCover:
    """The calls in `rows`, which have one name and may be inside one another."""
    calls = parts.trace.calls
    lanes = parts.trace.derived(host_threads).lane_of_call
    starts, ends = calls["start_ns"][rows], calls["end_ns"][rows]
    together = LaneCover.of(starts, ends, lanes[rows])
    union_ns = before.total_ns - before.less(together).total_ns
    weights = covered.astype(np.float64)
    return CallCover(
        parts.trace.strings[int(calls["name"][rows[0]])],
        union_ns,
        len(rows),
        float(np.average((ends - starts).astype(np.float64), weights=weights)),
        int(covered.sum()) > _NESTED * union_ns,
        _is_first_call(parts, rows, covered, union_ns),
    )


def _is_first_call(
    parts: GapParts, rows: Rows, covered: npt.NDArray[np.uint64], union_ns: int
) -> bool:
    calls = parts.trace.calls
    longest = int(rows[np.argmax(covered)])
    if int(covered.max()) < _ONE_CALL * union_ns:
        return False
    all_of_name = np.flatnonzero(calls["name"] == calls["name"][longest])
    starts = calls["start_ns"][all_of_name]
    later = all_of_name[starts > calls["start_ns"][longest]]
    if not len(later) or int(starts.min()) < int(calls["start_ns"][longest]):
        return False
    typical_ns = float(np.median(calls["end_ns"][later] - calls["start_ns"][later]))
    own_ns = int(calls["end_ns"][longest]) - int(calls["start_ns"][longest])
    return own_ns >= _MUCH_LONGER * typical_ns
