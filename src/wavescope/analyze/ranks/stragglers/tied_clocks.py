"""Which ranks' times the critical path may use."""

from __future__ import annotations

from wavescope.analyze.ranks.job import ClockState, RankClock


def is_tied(clock: RankClock) -> bool:
    """Whether ends of a rank's exchanges coincide with those of others in common time.

    A clock that was fitted to them is enough even where causality bounds it too widely to compare
    single moments: the path passes from rank to rank at ends of exchanges only, and a rank that is
    always late is bounded the less the later it is.
    """
    return clock.is_comparable or (clock.state is ClockState.TOO_WIDE and clock.exchange_count > 0)
