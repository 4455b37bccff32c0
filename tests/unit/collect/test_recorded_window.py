"""What was counted in a window."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.collect.windows.recorded_window import counted_between
from wavescope.formats.session.layout import COUNTERS, SKIP_PAUSED


def counters(*rows: tuple[int, int, int]) -> npt.NDArray[np.void]:
    """By queue: seen, timed, passed while paused."""
    records = np.zeros(len(rows), COUNTERS.record)
    records["kind"] = 1
    for place, (seen, timed, paused) in enumerate(rows):
        records["seen"][place], records["timed"][place] = seen, timed
        records["skipped"][place, SKIP_PAUSED] = paused
    return records


def test_what_passed_before_and_after_the_window_does_not_count() -> None:
    counted = counted_between(
        before=counters((100, 40, 60)),
        begun=counters((107, 40, 65)),
        stopped=counters((150, 70, 68)),
        after=counters((200, 80, 120)),
    )
    assert counted["timed"].tolist() == [40]
    assert counted["skipped"][:, SKIP_PAUSED].tolist() == [3]  # the program paused by itself
    assert counted["seen"].tolist() == [43]


def test_queues_that_are_made_in_the_window_count_from_nothing() -> None:
    counted = counted_between(
        before=counters((5, 5, 0)),
        begun=counters((5, 5, 0)),
        stopped=counters((7, 7, 0), (9, 4, 0)),
        after=counters((8, 8, 0), (9, 9, 0)),
    )
    assert counted["seen"].tolist() == [3, 9]
    assert counted["timed"].tolist() == [3, 9]
