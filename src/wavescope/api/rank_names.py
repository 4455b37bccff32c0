"""What names of files tell of ranks: `rank_3/trace.json`, `trace.3.json`, `dp0_tp1.db`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import PurePath

_RANK_WORD = re.compile(r"rank[-_.= ]?0*(\d{1,9})(?!\d)", re.IGNORECASE)
_OTHER_WORD = re.compile(
    r"(?:(?<![A-Za-z0-9])r|worker|process|proc)[-_.= ]?0*(\d{1,9})(?![A-Za-z0-9])", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+")
_PLACE = re.compile(r"(?<![A-Za-z0-9])(tp|cp|ep|pp|dp)[-_.=]?(\d{1,6})(?!\d)", re.IGNORECASE)
_FROM_PYTORCH = re.compile(r"^(?P<host>.+)_\d+\.\d+\.pt\.trace\.json(?:\.gz)?$")
"""The host, the process and the time: what PyTorch's handler for TensorBoard calls a trace."""
_QUICKEST_FIRST = ("tp", "cp", "ep", "pp", "dp")
"""In which order parallel places are counted: neighbours in `tp` have neighbouring ranks."""
_LONGEST_PATH = 4096


def natural_key(path: str) -> list[tuple[int, int, str]]:
    """Sorts `rank2` before `rank10`."""
    pieces = re.split(r"(\d{1,18})", path[:_LONGEST_PATH])
    return [
        (0, int(piece), "") if place % 2 else (1, 0, piece) for place, piece in enumerate(pieces)
    ]


def host_in_name(path: str) -> str:
    """The host that a file is named for, "" when it is not."""
    found = _FROM_PYTORCH.match(PurePath(path).name[:_LONGEST_PATH])
    return found["host"] if found else ""


def ranks_in_names(paths: Sequence[str]) -> list[int | None]:
    """The rank that each file is named for.

    One way to tell is used for all files, and only if it tells a different rank of each of them;
    otherwise names tell nothing.
    """
    below = _below_common_folder(paths)
    for told in (_by_word(below, _RANK_WORD), _by_word(below, _OTHER_WORD), _by_places(below)):
        if _is_whole(told):
            return told
    told = _by_only_number(below)
    return told if _is_whole(told) else [None] * len(paths)


def _is_whole(told: Sequence[int | None]) -> bool:
    return bool(told) and None not in told and len(set(told)) == len(told)


def _below_common_folder(paths: Sequence[str]) -> list[str]:
    """The paths from where they differ on: what they share tells no ranks apart."""
    split = [PurePath(path[-_LONGEST_PATH:]).parts for path in paths]
    levels = zip(*(parts[:-1] for parts in split), strict=False)
    shared = sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, levels))
    return ["/".join(parts[shared:]) for parts in split]


def _by_word(paths: Sequence[str], word: re.Pattern[str]) -> list[int | None]:
    """The number after a word; None where there is none, or several that differ."""
    found = [{int(number) for number in word.findall(path)} for path in paths]
    return [next(iter(numbers)) if len(numbers) == 1 else None for numbers in found]


def _by_places(paths: Sequence[str]) -> list[int | None]:
    """Ranks by places in a parallel layout; both `pp` and `dp` may be the slowest: not told."""
    nothing: list[int | None] = [None] * len(paths)
    places = [
        {name.lower(): int(number) for name, number in _PLACE.findall(path)} for path in paths
    ]
    names = set(places[0]) if places else set()
    if not names or {"pp", "dp"} <= names or any(set(place) != names for place in places):
        return nothing
    ranks, factor = [0] * len(paths), 1
    for name in _QUICKEST_FIRST:
        if name in names:
            ranks = [rank + factor * place[name] for rank, place in zip(ranks, places, strict=True)]
            factor *= 1 + max(place[name] for place in places)
    return list(ranks) if factor <= 2 * len(paths) else nothing


def _by_only_number(paths: Sequence[str]) -> list[int | None]:
    """The one number in which all names differ; process ids and times are too large for ranks."""
    nothing: list[int | None] = [None] * len(paths)
    if len(paths) < 2 or any(host_in_name(path) for path in paths):
        return nothing
    if len({_NUMBER.sub("#", path) for path in paths}) != 1:
        return nothing
    columns = list(zip(*(_NUMBER.findall(path) for path in paths), strict=True))
    differing = [column for column in columns if len(set(column)) > 1]
    if len(differing) != 1 or any(len(number) > 9 for number in differing[0]):
        return nothing
    ranks = [int(number) for number in differing[0]]
    return list(ranks) if max(ranks) < 2 * len(paths) + 8 else nothing
