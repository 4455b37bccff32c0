"""How long work says how far it is and what it met: one form for readers, writers and recorders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

Progress = Callable[[int, int], None]
"""Called with rows done and rows in all; 0 in all where nobody knows yet."""


def no_progress(done: int, total: int) -> None:
    """Says nothing."""


Tell = Callable[[str], None]
"""Called with a sentence worth saying: what was skipped or repaired, or that nothing is left."""


def tell_nobody(sentence: str) -> None:
    """Says nothing."""


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
