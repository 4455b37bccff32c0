"""What findings about a job are told from, and how a rank's trace is opened at a moment."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wavescope.analyze.ranks.findings.thresholds import RankThresholds
from wavescope.analyze.ranks.measures import FileState, JobMeasures, JobRows

_LEAST_AROUND_NS = 100_000


class RankContext(NamedTuple):
    """A job with all rows of its tables."""

    measures: JobMeasures
    rows: JobRows
    files: Sequence[FileState]
    thresholds: RankThresholds = RankThresholds()

    def rank_name(self, place: int) -> str:
        """What people call a rank: rank 3 (host7)."""
        number, host = (
            self.measures.job.numbers[place],
            self.measures.job.ranks[place].identity.host,
        )
        return f"rank {number} ({host})" if host else f"rank {number}"

    def ranks_name(self, places: Sequence[int]) -> str:
        """The same of several."""
        if len(places) == 1:
            return self.rank_name(places[0])
        return f"ranks {self.measures.rank_text(places)}"

    def view_command(self, place: int, start_ns: int, end_ns: int) -> str:
        """The command that shows a rank's trace around a time, given in its own clock."""
        around = max((end_ns - start_ns) // 4, _LEAST_AROUND_NS)
        path = self.measures.job.ranks[place].path_at((start_ns + end_ns) // 2)
        return view_command(
            path,
            start_ns - around,
            end_ns + around,
            self.measures.job.numbers[place] if self._is_shared(path) else None,
        )

    def view_step(self, place: int, step: int) -> str:
        """The command that shows a step of a rank; "" where the rank has no such step."""
        row = int(self.measures.job.steps[place, step])
        if row < 0:
            return ""
        steps = self.measures.job.ranks[place].steps
        return self.view_command(place, int(steps.start_ns[row]), int(steps.end_ns[row]))

    def view_common(self, place: int, start_ns: int, end_ns: int) -> str:
        """The command that shows a rank's trace around a time, given in common time."""
        clock = self.measures.job.clocks[place]
        start, end = clock.to_own(np.array([start_ns, end_ns], np.int64)).tolist()
        return self.view_command(place, start, end)

    def _is_shared(self, path: str) -> bool:
        """Whether several ranks are in the file."""
        return sum(path in rank.paths for rank in self.measures.job.ranks) > 1


def view_command(path: str, start_ns: int, end_ns: int, rank: int | None = None) -> str:
    """`wavescope view` for a window of a trace, as a shell reads it."""
    # A name that begins with a dash would be read as an option.
    named = f"./{path}" if path.startswith("-") else path
    words = ["wavescope", "view", named, f"--start={start_ns}", f"--end={end_ns}"]
    if rank is not None:
        words.append(f"--rank={rank}")
    return shlex.join(words)
