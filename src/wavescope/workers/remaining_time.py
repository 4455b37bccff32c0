"""How far a run is, and about how long the rest takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

RunProgress = Callable[[int, int, float | None], None]
"""Called with items done, items in all, and about how many seconds are left, if anyone can say."""


def tell_no_progress(done: int, total: int, seconds_left: float | None) -> None:
    """Says nothing."""


class RemainingTime:
    """Guesses the rest of a run from the share of the work that is done.

    `weights` say how much work each item is, such as the bytes of its file; without them all are
    taken to be alike.
    """

    def __init__(
        self, count: int, weights: Sequence[int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        # A file without bytes takes a moment, too.
        self._weights = [max(1, weight) for weight in weights] or [1] * count
        self._left = sum(self._weights)
        self._done = 0
        self._clock = clock
        self._began = clock()

    def finish(self, index: int) -> float | None:
        """About how many seconds are left now that the item at `index` is done."""
        self._done += self._weights[index]
        self._left -= self._weights[index]
        if self._left <= 0:
            return 0.0
        return (self._clock() - self._began) * self._left / self._done
