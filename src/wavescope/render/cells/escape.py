"""Makes text of any length fit where it is shown; `visible` makes it fit to be shown at all.

A text that is too wide loses words, never parts of numbers: `Cijk_…(MT256x16x384)`. Which words
stay depends on the other texts of the column, so that two of them do not look the same.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from wavescope.units import visible as visible  # noqa: PLC0414  a part of this module's door


def cell_width(text: str) -> int:
    """How many terminal cells `text` takes: wide East Asian characters and emoji take two."""
    if text.isascii():
        return len(text)
    return sum(_character_width(character) for character in text)


def _character_width(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shortened(text: str, width: int, telling: Collection[str] = ()) -> str:
    """`text` in at most `width` cells; what is left out becomes an ellipsis.

    Kernel names tell most at their beginning and something at their end, so the head gets more.
    The words that are `telling`, and tiles such as MT256x16x384, stay if there is room at all.
    """
    if len(text) <= width // 2 or cell_width(text) <= width:
        return text
    if len(text) > 8 * width + 64:
        text = f"{text[: 4 * width + 32]}{text[-4 * width - 32 :]}"
    words = _Words(text)
    if width > 8 and words.keep(0, width - 1):
        words.keep_telling(telling, width)
        words.keep_ends(width)
        found = words.spelled(width)
        if cell_width(found) > width // 2:
            return found
    return _without_middle(text, width)


def shortened_texts(texts: Sequence[str], width: int) -> list[str]:
    """Each text in at most `width` cells; different ones stay different where the width allows."""
    long = {text for text in texts if cell_width(text) > width}
    if not long:
        return list(texts)
    families: dict[str, list[str]] = {}
    for text in long:
        families.setdefault(_first_word(text), []).append(text)
    short = {text: text for text in texts}
    for family in families.values():
        short |= _told_apart(family, width)
    for group in _looking_alike(short):
        short |= _told_apart(group, width)
    for group in _looking_alike(short):
        short |= {text: _marked(text, width, _hashed(text)) for text in group if text in long}
    for group in _looking_alike(short):
        marks = enumerate(sorted(long.intersection(group)), 1)
        short |= {text: _marked(text, width, f"~{number}") for number, text in marks}
    return [short[text] for text in texts]


def _told_apart(texts: Sequence[str], width: int) -> dict[str, str]:
    """The texts shortened to the words that not all of them have, the rarest first."""
    counts = Counter(word for text in texts for word in set(_WORD.findall(text)))
    telling = [word for word, count in counts.items() if count < len(texts)]
    telling.sort(key=lambda word: counts[word])
    return {text: shortened(text, width, telling) for text in texts}


def _looking_alike(short: dict[str, str]) -> Iterator[list[str]]:
    shown: dict[str, list[str]] = {}
    for text, spelled in short.items():
        shown.setdefault(spelled, []).append(text)
    return (texts for texts in shown.values() if len(texts) > 1)


def _hashed(text: str) -> str:
    """A mark that a text has in every table."""
    return f"~{zlib.crc32(text.encode(errors='replace')) & 0xFFFF:04x}"


def _marked(text: str, width: int, mark: str) -> str:
    """A text that no word tells apart from another one."""
    return (
        shortened(text, width - len(mark)) + mark if width > len(mark) else shortened(text, width)
    )


_WORD = re.compile(r"[A-Z]+[^\W_A-Z]*|[^\W_A-Z]+")
_MACRO_TILE = re.compile(r"MT\d+x\d+(?:x\d+)*")
_TILE = re.compile(r"\d+x\d+(?:x\d+)*")


def _first_word(text: str) -> str:
    found = _WORD.search(text)
    return found.group() if found else ""


class _Words:
    """The words of a text, of which some are kept."""

    def __init__(self, text: str) -> None:
        self.words = _WORD.findall(text)
        # Before the first word, between any two, and after the last.
        self.between = _WORD.split(text)
        self.kept = [False] * len(self.words)
        self.width = 1  # of the ellipsis for all that is left out

    def keep(self, position: int, width: int) -> bool:
        """Keep one more word with what joins it to kept ones, if there is room."""
        if position >= len(self.words) or self.kept[position]:
            return False
        before, after = self._joins(position)
        added = cell_width(self.words[position])
        added += cell_width(self.between[position]) if before else 0
        added += cell_width(self.between[position + 1]) if after else 0
        added += 1 - before - after
        if self.width + added > width:
            return False
        self.kept[position] = True
        self.width += added
        return True

    def _joins(self, position: int) -> tuple[bool, bool]:
        before = position == 0 or self.kept[position - 1]
        after = position == len(self.words) - 1 or self.kept[position + 1]
        return before, after

    def keep_telling(self, telling: Collection[str], width: int) -> None:
        """Keep macro tiles, then the telling words in their order, then other tiles."""
        places: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            places.setdefault(word, []).append(place)
        macro_tiles = [word for word in places if _MACRO_TILE.fullmatch(word)]
        tiles = [word for word in places if _TILE.fullmatch(word)]
        for word in (*macro_tiles, *(word for word in telling if word in places), *tiles):
            for place in places[word]:
                self.keep(place, width)

    def keep_ends(self, width: int) -> None:
        """Keep words from both ends on, two from the left for each one from the right."""
        left, right = 1, len(self.words) - 1
        goes_left = goes_right = True
        while left <= right and (goes_left or goes_right):
            if goes_right:
                goes_right = self.kept[right] or self.keep(right, width)
                right -= 1
            for _ in range(2):
                if goes_left and left <= right:
                    goes_left = self.kept[left] or self.keep(left, width)
                    left += 1

    def spelled(self, width: int) -> str:
        """The kept words, with the marks around a gap where there is room for them."""
        room = width - self.width
        text, is_gap = "", False
        last = len(self.words) - 1
        for place, word in enumerate(self.words):
            mark = self.between[place]
            if self.kept[place]:
                if is_gap and cell_width(mark) <= room:
                    room -= cell_width(mark)
                    text += mark
                elif not is_gap:
                    text += mark
                text, is_gap = text + word, False
            elif not is_gap:
                if cell_width(mark) <= room:
                    room -= cell_width(mark)
                    text += mark
                text, is_gap = text + "…", True
        return text + self.between[-1] if self.kept[last] else text


def _without_middle(text: str, width: int) -> str:
    if width <= 1:
        return "…"[:width]
    tail = (width - 1) // 3
    return _leading(text, width - 1 - tail) + "…" + _leading(text[::-1], tail)[::-1]


def _leading(text: str, width: int) -> str:
    taken = 0
    for index, character in enumerate(text):
        taken += _character_width(character)
        if taken > width:
            return text[:index]
    return text


def padded(text: str, width: int, *, right: bool) -> str:
    """`text` filled up with spaces to `width` cells."""
    space = " " * (width - cell_width(text))
    return space + text if right else text + space
