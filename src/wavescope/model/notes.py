"""What a reader had to skip or repair: the one form in which every reader says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

NO_LAUNCH = "have no launch record"
"""How a reader's note on ops without a known call ends; a finding of its own tells more of them."""


class Notes:
    """What a reader had to skip or repair, counted by a sentence that says so."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, sentence: str, count: int = 1) -> None:
        """Count `count` more rows of which `sentence` is true; zero is no note."""
        if count:
            self._counts[sentence] += int(count)

    def set(self, sentence: str, count: int) -> None:
        """State the count of `sentence`: for passes that may run more than once."""
        if count:
            self._counts[sentence] = int(count)

    def sentences(self) -> list[str]:
        """The sentences for people in the order of first sight, those of many rows with a count."""
        return [
            sentence if count == 1 else f"{sentence}: {count:,}"
            for sentence, count in self._counts.items()
        ]

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(sorted(self._counts.items()))

    def __len__(self) -> int:
        return len(self._counts)
