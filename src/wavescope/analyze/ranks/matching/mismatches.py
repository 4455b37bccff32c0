"""What does not fit between the members of a group, as rows with a sentence each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import MISSING, Mismatch
from wavescope.analyze.ranks.matching.gathered import Gathered
from wavescope.analyze.ranks.matching.local_groups import Numbers

_NAMED_RANKS = 8


@dataclass(frozen=True)
class Names:
    """How groups and ranks are called in sentences."""

    numbers: Sequence[int]

    def group(self, gathered: Gathered) -> str:
        called = gathered.name or gathered.description
        return f"group {called}" if called else "a group without a name"

    def ranks(self, places: Iterable[int]) -> str:
        """`rank 3`, `ranks 1, 2 and 5`; the first few of many."""
        return rank_list([self.numbers[place] for place in places])

    def differing(
        self, kind: str, gathered: Gathered, place: int, counts: npt.NDArray[np.int64]
    ) -> Mismatch:
        """Members whose exchanges are of another operation or size than those of most."""
        members = [
            member.place
            for member, count in zip(gathered.members, counts.tolist(), strict=True)
            if count
        ]
        most = int(counts.max())
        what = (
            "did another operation than most, which are not matched"
            if kind == "operation"
            else "gave another size or type than most"
        )
        sentence = (
            f"{self.group(gathered)}: in up to {most} exchanges {self.ranks(members)} {what}."
        )
        return Mismatch(kind, place, tuple(members), most, sentence)

    def without_group(self, left_out: Mapping[int, int]) -> list[Mismatch]:
        """Collectives that were left out because nothing tells their group."""
        if not left_out:
            return []
        sentence = (
            f"{sum(left_out.values())} collectives of {self.ranks(left_out)} do not tell their "
            "group, as others of these ranks do (mostly launched before the recording began): "
            "they are not matched."
        )
        count = sum(left_out.values())
        return [Mismatch("order", MISSING, tuple(left_out), count, sentence)]

    def lacking(
        self, gathered: Gathered, places: Sequence[int], found: tuple[int, int, int]
    ) -> str:
        """That ranks lack exchanges before, between and after their own."""
        where = ("before the first", "between", "after the last")
        told = [f"{count} {word}" for count, word in zip(found, where, strict=True) if count]
        lack = "lacks" if len(places) == 1 else "each lack"
        return (
            f"{self.group(gathered)}: {self.ranks(places)} {lack} {sum(found)} exchanges that "
            f"others have ({', '.join(told)} of its own)."
        )


def rank_list(numbers: Sequence[int]) -> str:
    """`rank 3`, `ranks 1, 2 and 5`; the first few of many."""
    if len(numbers) == 1:
        return f"rank {numbers[0]}"
    shown = [str(number) for number in numbers[:_NAMED_RANKS]]
    if len(numbers) > _NAMED_RANKS:
        return f"ranks {', '.join(shown)} and {len(numbers) - _NAMED_RANKS} more"
    return f"ranks {', '.join(shown[:-1])} and {shown[-1]}"


def absent_members(gathered: Gathered, place: int, names: Names) -> list[Mismatch]:
    """Members of which no trace was given, or whose trace has nothing of the group."""
    count = max(len(member) for member in gathered.members)
    there = {names.numbers[member.place] for member in gathered.members}
    given = {number: at for at, number in enumerate(names.numbers)}
    not_given = [number for number in gathered.listed if number not in given]
    silent = [number for number in gathered.listed if number in given and number not in there]
    rows = []
    if silent:
        places = tuple(given[number] for number in silent)
        sentence = (
            f"{names.group(gathered)}: nothing of its {count} exchanges was recorded on "
            f"its {rank_list(silent)}."
        )
        rows.append(Mismatch("missing", place, places, count, sentence))
    if not_given:
        sentence = f"{names.group(gathered)}: no trace was given of its {rank_list(not_given)}."
        rows.append(Mismatch("absent", place, (), count, sentence))
    elif not gathered.listed and gathered.size > len(gathered.members):
        sentence = (
            f"{names.group(gathered)}: it has {gathered.size} members, traces of "
            f"{len(gathered.members)} were given."
        )
        rows.append(Mismatch("absent", place, (), count, sentence))
    return rows


def lacking_members(gathered: Gathered, place: int, rows: Numbers, names: Names) -> list[Mismatch]:
    """Members that lack exchanges which others have, those that lack the same ones together."""
    if rows.shape[1] == 0:
        return []
    is_there = rows != MISSING
    total = rows.shape[1]
    before = np.where(is_there.any(axis=1), np.argmax(is_there, axis=1), total)
    after = np.where(before < total, np.argmax(is_there[:, ::-1], axis=1), 0)
    between = total - np.count_nonzero(is_there, axis=1) - before - after
    alike: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for member, found in enumerate(
        zip(before.tolist(), between.tolist(), after.tolist(), strict=True)
    ):
        if any(found):
            alike[found].append(gathered.members[member].place)
    return [
        Mismatch(
            "missing", place, tuple(places), sum(found), names.lacking(gathered, places, found)
        )
        for found, places in alike.items()
    ]
