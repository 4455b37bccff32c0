"""How long the GPU was idle because the host had not launched the next op yet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.calls.outermost import with_all_calls
from wavescope.analyze.ops.op_links import OpLinks, op_links
from wavescope.analyze.ranks.digest.rank_digest import UNKNOWN
from wavescope.analyze.ranks.digest.rank_ops import RankOps
from wavescope.arrays.covered_time import CoveredTime
from wavescope.arrays.intervals import Times, is_sorted


class HostLate(NamedTuple):
    """Idle gaps of which the launch of the next op is known, and of each the time before it."""

    late: CoveredTime
    """From the beginning of a gap until the launch call of the op that ends it was over."""
    told: CoveredTime
    """The whole gaps."""

    def between(self, starts: Times, ends: Times, idle_ns: Times) -> Times:
        """How long the host was late in each [start, end); -1 where it was idle and no launch is
        known."""
        late_ns = self.late.between(starts, ends)
        unknown = (idle_ns > 0) & (self.told.between(starts, ends) == 0)
        return np.where(unknown, UNKNOWN, late_ns)


def host_late(ops: RankOps) -> HostLate | None:
    """What is known of a rank's gaps; None where the trace has no launches."""
    trace = with_all_calls(ops.trace)
    if not len(trace.links) or not len(trace.calls):
        return None
    links, busy = trace.derived(op_links), ops.busy
    if not len(links.op_rows) or len(busy.starts) < 2:
        return None
    gap_starts, gap_ends = busy.ends[:-1], busy.starts[1:]
    calls = _launches_at(ops, links, gap_ends)
    is_told = np.flatnonzero(calls != UNKNOWN)
    gap_starts, gap_ends = gap_starts[is_told], gap_ends[is_told]
    until = np.clip(trace.calls["end_ns"][calls[is_told]], gap_starts, gap_ends)
    return HostLate(CoveredTime.of(gap_starts, until), CoveredTime.of(gap_starts, gap_ends))


def _launches_at(ops: RankOps, links: OpLinks, moments: Times) -> npt.NDArray[np.int64]:
    """For each moment the call that launched an op which begins then, -1 where none is known."""
    starts, calls = ops.trace.ops["start_ns"][links.op_rows], links.call_rows
    if not is_sorted(starts):
        order = np.argsort(starts, kind="stable")
        starts, calls = starts[order], calls[order]
    place = np.minimum(np.searchsorted(starts, moments), len(starts) - 1)
    return np.where(starts[place] == moments, calls[place], UNKNOWN)
