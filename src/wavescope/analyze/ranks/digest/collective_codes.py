"""The times of collectives as columns that pack well, and back.

Most times follow from others but for a little: a collective begins soon after the one before it
ended, what ran between both is compute and gaps, and while it ran either nothing else did or what
came next began before its end. What is stored is how far that is from being so. Sums wrap around
within 64 bits both ways, so that any times come back.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wavescope.analyze.ranks.digest.rank_digest import CollectiveRows
from wavescope.arrays import Array
from wavescope.arrays.intervals import Times

AS_THEY_ARE = ("use", "queue", "sequence", "peer", "step", "idle_before_ns", "host_late_ns")
"""Columns of the rows that are stored without a change."""
DERIVED = ("gap_ns", "length_ns", "other_before_ns", "hidden_ns", "other_tail_ns")


def stored_columns(rows: CollectiveRows, first_ns: int) -> dict[str, Array]:
    """All columns as they are stored, of a rank whose first op began at `first_ns`."""
    starts, ends = rows.start_ns, rows.end_ns
    lengths = ends - starts
    hidden = lengths - rows.exposed_ns
    derived = {
        "gap_ns": starts - _ended_before(ends, first_ns),
        "length_ns": lengths,
        "other_before_ns": _idle_or_computed(starts, ends)
        - rows.idle_before_ns
        - rows.compute_before_ns,
        "hidden_ns": hidden,
        "other_tail_ns": rows.exposed_tail_ns - np.where(hidden == 0, lengths, 0),
    }
    return {**{name: getattr(rows, name) for name in AS_THEY_ARE}, **derived}


def restored_rows(stored: Mapping[str, Array], first_ns: int) -> CollectiveRows:
    """The rows that `stored_columns` was given, of columns of one length."""
    lengths, hidden = stored["length_ns"], stored["hidden_ns"]
    # From each end to the next: the gap, and the collective behind it.
    ends = np.cumsum(stored["gap_ns"] + lengths, dtype=np.int64) + np.int64(first_ns)
    starts = ends - lengths
    before = _idle_or_computed(starts, ends)
    return CollectiveRows(
        **{name: stored[name] for name in AS_THEY_ARE},
        start_ns=starts,
        end_ns=ends,
        compute_before_ns=before - stored["idle_before_ns"] - stored["other_before_ns"],
        exposed_ns=lengths - hidden,
        exposed_tail_ns=stored["other_tail_ns"] + np.where(hidden == 0, lengths, 0),
    )


def _ended_before(ends: Times, first_ns: int) -> Times:
    """The end of the row before each one; the rank's first moment for the first."""
    return np.concatenate((np.array([first_ns], np.int64), ends))[:-1]


def _idle_or_computed(starts: Times, ends: Times) -> Times:
    """How long before each start all earlier rows were over; 0 for the first."""
    latest = np.maximum.accumulate(np.concatenate((starts[:1], ends[:-1])))
    return starts - np.minimum(latest, starts)
