"""What bounds every gain: the bytes that memory must move, and the cycles that SIMDs must work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Gain(NamedTuple):
    """Percent of all waves' time that a change can save at most, and how that is known."""

    percent: float | None
    """None where nothing is promised."""
    basis: str


class GainLimits(NamedTuple):
    """In percent of the kernel's time; None where a limit is not known."""

    memory_percent: float | None
    memory_words: str
    idle_percent: float | None

    def capped(self, gain: Gain, *, by_idle: bool) -> Gain:
        """A gain no larger than the limits, and which of them made it smaller."""
        if by_idle and _is_above(gain, self.idle_percent):
            words = f"no more than the {self.idle_percent:.1f} % in which its SIMDs did nothing"
            gain = Gain(self.idle_percent, f"{gain.basis}; {words}")
        if _is_above(gain, self.memory_percent):
            gain = Gain(self.memory_percent, f"{gain.basis}; {self._memory_sentence}")
        return gain

    def shared(self, gains: Sequence[Gain]) -> list[Gain]:
        """Gains that exclude each other's time, together no more than memory allows."""
        total = sum(gain.percent or 0.0 for gain in gains)
        if self.memory_percent is None or total <= self.memory_percent or not total:
            return list(gains)
        factor = self.memory_percent / total
        return [
            Gain(
                None if gain.percent is None else gain.percent * factor,
                gain.basis
                if gain.percent is None or self._memory_sentence in gain.basis
                else f"{gain.basis}; {self._memory_sentence}",
            )
            for gain in gains
        ]

    @property
    def _memory_sentence(self) -> str:
        return (
            f"{self.memory_words}, so that all changes together save at most "
            f"{self.memory_percent:.1f} % while the same bytes are moved"
        )


def _is_above(gain: Gain, limit: float | None) -> bool:
    return limit is not None and gain.percent is not None and gain.percent > limit
