"""From where on a rank is called late: all constants of this room, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Nobody is named below these; shares are of 1."""

    blocking_tail_ns: int = 5_000
    """An exchange was waited for if no compute ran so long before its end: kernels that follow each
    other leave gaps of 1 to 5 us."""
    chained_ns: int = 10_000
    """An exchange that begins so soon after another on the same queue waited for the queue."""
    end_deviation_ns: int = 50_000
    """Ends of an exchange lie within some microseconds of each other: a clock by which half of them
    are off by more does not fit."""
    peer_count: int = 31
    """A typical duration is the median of at most so many ranks: more change it little."""
    least_steps: int = 4
    """With fewer steps chance repeats itself too easily."""
    least_share: float = 0.01
    """Of the time of the steps in which it was late: smaller delays are not worth an accusation."""
    natural_work_share: float = 0.015
    """GPUs of one model differ by up to 1 % from the slowest to the fastest, all the time. So
    a constant difference in compute below 1.5 % is no fault of anybody."""
    natural_work_share_of_few: float = 0.025
    """The same where too few ranks do the same to see how much they naturally differ."""
    few_ranks: int = 6
    natural_idle_share: float = 0.01
    """Of the step: hosts launch with pauses that differ by less."""
    natural_idle_share_of_few: float = 0.025
    """The same where too few ranks do the same: two or three hosts are alike by chance."""
    spread_factor: float = 4.0
    """How many robust standard deviations of the ranks it must be above the rest."""
    noise_factor: float = 6.0
    """How many robust standard deviations of single steps a step must be above the rest."""
    step_factor: float = 1.5
    """A single step must be late by so much more than what counts for the median of many."""
    always_share: float = 0.6
    """Late in so many of its steps: it recurs, and is not temporary."""
    least_late_steps: int = 3
    """Fewer late steps are hiccups."""
    waited_share: float = 0.25
    """The job must have waited for so much of what a rank was late in a single step."""
    chance: float = 1e-3
    """Late steps here and there count if hiccups, as often as others have them, would fall on
    any one rank so often with less than this chance."""
    run_density: float = 0.7
    """Share of late steps within the time that is called temporary."""
    rotating_steps: float = 0.3
    """Share of steps with somebody late, from which on lateness rotates."""
    rotating_ranks: int = 3
    """Fewer different ranks are a rotation only if each of them has its turn again."""
    transfer_share: float = 0.15
    """A transfer that takes so much longer than those of equal groups is slow."""
    unmatched_share: float = 0.1
    """Where more of the waiting is in exchanges of which not all sides are known, the critical path
    cannot be told: it may lead over those who are missing."""
    least_confidence: float = 0.5
    """Exchanges that were matched with less say nothing of links."""
    cause_share: float = 0.5
    """A cause must explain this share of the delay."""
    host_share: float = 0.75
    """A host is late if so many of its ranks are, and hardly any other rank."""


LIMITS = Limits()
