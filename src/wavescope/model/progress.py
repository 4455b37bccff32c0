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


NOTE_TAG = "note: "
"""How the metadata of a file begins the tag of a note, so that it stays known there."""
_MOST_NOTES = 1000
_LONGEST_NOTE = 4096
_LARGEST_COUNT = 1 << 62


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

    def facts(self) -> list[tuple[str, str]]:
        """The notes as tags and values of metadata."""
        return [(NOTE_TAG + sentence, str(count)) for sentence, count in self]

    def take_fact(self, tag: str, value: str) -> bool:
        """Take back what `facts` gave, once; whether the tag is that of a note."""
        if not tag.startswith(NOTE_TAG):
            return False
        sentence = tag.removeprefix(NOTE_TAG)[:_LONGEST_NOTE]
        is_count = value.isascii() and value.isdigit() and len(value) <= len(str(_LARGEST_COUNT))
        if is_count and len(self) < _MOST_NOTES:
            self.set(sentence, min(int(value), _LARGEST_COUNT))
        return True

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
