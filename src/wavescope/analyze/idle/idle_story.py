"""What is behind the idle time of one GPU: its parts, and for each what can be told of it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.idle.first_launches import FirstLaunches, first_launches
from wavescope.analyze.idle.gap_parts import Flags, GapParts, IdleSplit, host_threads
from wavescope.analyze.idle.host_work import HostWork, host_work
from wavescope.analyze.idle.late_starts import LateStarts, late_starts
from wavescope.arrays.intervals import Times
from wavescope.arrays.lane_cover import Lengths


class IdlePart(str, enum.Enum):
    """What the host did while the GPU idled."""

    BEFORE = "before"
    WAITING = "waiting"
    IN_LAUNCH = "in_launch"
    AFTER_LAUNCH = "after_launch"
    UNLINKED = "unlinked"

    def of(self, split: IdleSplit) -> int:
        """The time of this part."""
        lengths = split._asdict()
        return int(lengths[f"{self.value}_ns"])


@dataclass(frozen=True)
class IdleStory:
    """The idle time of a GPU and what is behind it."""

    parts: GapParts
    host: HostWork | None
    """What the host did before launches."""
    host_in_longest: HostWork | None
    """The same for the longest gap alone."""
    first_launches: FirstLaunches | None
    late_starts: LateStarts | None
    waiting_call: str
    """The call in which the host waited for the GPU longest during gaps."""
    drained_ns: int
    """Time before launches in gaps that began while the launching thread waited for the GPU."""
    before_gap_ns: int
    """Half of the time before launches is in gaps that are not longer than this."""

    @property
    def split(self) -> IdleSplit:
        return self.parts.split

    @property
    def ranked(self) -> list[IdlePart]:
        """The parts, the longest first."""
        return sorted(IdlePart, key=lambda part: -part.of(self.split))

    @property
    def longest_gap(self) -> int:
        """The place of the longest gap."""
        return int(np.argmax(self.parts.lengths_ns))


def idle_story(parts: GapParts, delivery_ns: float) -> IdleStory:
    """The story of a GPU that has gaps."""
    longest = np.zeros(len(parts.starts), bool)
    longest[np.argmax(parts.lengths_ns)] = True
    has_launches = bool(parts.linked.any())
    return IdleStory(
        parts,
        host_work(parts) if parts.split.before_ns else None,
        host_work(parts, longest) if parts.before_ns[longest].any() else None,
        first_launches(parts),
        late_starts(parts, delivery_ns) if has_launches else None,
        _longest_waits(parts) if has_launches else "",
        int(parts.before_ns[_began_waiting(parts)].sum()) if has_launches else 0,
        _half_of_before_ns(parts),
    )


def _longest_waits(parts: GapParts) -> str:
    """The name of the calls that waited for the GPU longest during gaps."""
    trace, threads = parts.trace, parts.trace.derived(host_threads)
    rows = threads.waiting_calls
    if not len(rows) or not len(parts.starts):
        return ""
    starts, ends = trace.calls["start_ns"][rows], trace.calls["end_ns"][rows]
    # A call waits during gaps as long as it lasts less what the GPU worked meanwhile.
    idle_until = np.append(np.uint64(0), np.cumsum(parts.lengths_ns))
    waited = _idle_before(parts, ends, idle_until) - _idle_before(parts, starts, idle_until)
    names, of_row = np.unique(trace.calls["name"][rows], return_inverse=True)
    sums = np.bincount(of_row, waited, len(names))
    return trace.strings[int(names[np.argmax(sums)])] if sums.max() > 0 else ""


def _idle_before(parts: GapParts, times: Times, idle_until: Lengths) -> npt.NDArray[np.float64]:
    """How long the GPU had idled in all until each moment."""
    begun = np.searchsorted(parts.starts, times, side="right")
    last = np.maximum(begun - 1, 0)
    ahead = np.where(begun > 0, np.maximum(parts.ends[last] - times, 0), 0)
    idled: npt.NDArray[np.float64] = idle_until[begun].astype(np.float64) - ahead
    return idled


def _began_waiting(parts: GapParts) -> Flags:
    """Which gaps began while the thread that ended them was in a call that waits for the GPU."""
    threads = parts.trace.derived(host_threads)
    moment = threads.waiting.between_ns(parts.starts, parts.starts + 1, parts.lanes)
    began: Flags = moment > 0
    return began


def _half_of_before_ns(parts: GapParts) -> int:
    lengths, before = parts.lengths_ns, parts.before_ns
    if not before.any():
        return 0
    order = np.argsort(lengths, kind="stable")
    reached = np.cumsum(before[order].astype(np.float64))
    return int(lengths[order[np.searchsorted(reached, reached[-1] / 2)]])
