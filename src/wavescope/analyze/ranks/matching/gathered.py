"""Groups of several ranks that are one group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from wavescope.analyze.ranks.digest import UNKNOWN
from wavescope.analyze.ranks.job import MISSING
from wavescope.analyze.ranks.matching.local_groups import LocalGroup


@dataclass(frozen=True, eq=False)
class Gathered:
    """The members of one group, before their exchanges are matched."""

    name: str
    description: str
    size: int
    """As recorded, at least the members."""
    members: tuple[LocalGroup, ...]
    """In order of their places."""
    listed: tuple[int, ...] = ()
    """Numbers of all members, where a trace lists them all."""
    certainty: float = 1.0
    doubt: str = ""
    """Why it is not certain that these ranks are one group, as a sentence."""
    is_pair: bool = False
    """Whether it is the sends and receives of two ranks."""
    sender: int = MISSING
    """The member that sends, where that is known."""

    def doubted(self, certainty: float, doubt: str) -> Gathered:
        """The same group, less certain."""
        return replace(self, certainty=min(self.certainty, certainty), doubt=self.doubt or doubt)


def gathered_of(
    members: Iterable[LocalGroup], listed: tuple[int, ...] = (), size: int = UNKNOWN
) -> Gathered:
    """One group of these members, called as the first of them calls it."""
    ordered = tuple(sorted(members, key=lambda member: member.place))
    group = ordered[0].group
    least = max(len(ordered), len(listed), size, group.size)
    return Gathered(group.name, group.description, least, ordered, listed)


def by_listed_members(
    parts: Sequence[LocalGroup], numbers: Sequence[int]
) -> tuple[list[Gathered], list[LocalGroup]]:
    """Groups whose members are listed, and the parts that tell no members."""
    by_ranks: dict[tuple[int, ...], list[LocalGroup]] = defaultdict(list)
    rest = []
    for part in parts:
        if _is_listed(part, numbers[part.place]):
            by_ranks[_listed_ranks(part)].append(part)
        else:
            rest.append(part)
    gathered = [
        gathered_of(named, _complete(ranks, named))
        for ranks, members in by_ranks.items()
        for named in _by_name_if_needed(members)
    ]
    return _with_unlisted(gathered, rest, numbers)


def _is_listed(part: LocalGroup, number: int) -> bool:
    ranks = part.group.ranks
    # A list that was cut short need not name the rank itself.
    return bool(ranks) and (number in ranks or 0 < len(ranks) < part.group.size)


def _listed_ranks(part: LocalGroup) -> tuple[int, ...]:
    return tuple(sorted(set(part.group.ranks)))


def _complete(ranks: tuple[int, ...], members: Sequence[LocalGroup]) -> tuple[int, ...]:
    return ranks if all(member.group.size <= len(ranks) for member in members) else ()


def _by_name_if_needed(members: Sequence[LocalGroup]) -> list[list[LocalGroup]]:
    """Parts of equal names where a rank has several groups of the same members."""
    places = [member.place for member in members]
    is_cut = any(member.group.size > len(_listed_ranks(member)) for member in members)
    if len(set(places)) == len(places) and not is_cut:
        return [list(members)]
    named: dict[tuple[str, str, int], list[LocalGroup]] = defaultdict(list)
    nth: dict[tuple[str, str, int], int] = defaultdict(int)
    for member in members:
        group = member.group
        occurrence = nth[group.name, group.description, member.place]
        nth[group.name, group.description, member.place] += 1
        named[group.name, group.description, occurrence].append(member)
    return list(named.values())


def _with_unlisted(
    gathered: list[Gathered], rest: list[LocalGroup], numbers: Sequence[int]
) -> tuple[list[Gathered], list[LocalGroup]]:
    """Parts without a list put to the listed group of their name that has their rank."""
    homes: dict[tuple[str, str, int], int] = {}
    for place, group in enumerate(gathered):
        for number in group.listed:
            homes.setdefault((group.name, group.description, number), place)
    added: dict[int, list[LocalGroup]] = defaultdict(list)
    left = []
    for part in rest:
        home = homes.get((part.group.name, part.group.description, numbers[part.place]))
        if home is None or part.place in {member.place for member in gathered[home].members}:
            left.append(part)
        else:
            added[home].append(part)
    return [
        gathered_of((*group.members, *added[place]), group.listed) if place in added else group
        for place, group in enumerate(gathered)
    ], left


def regular_parts(numbers: Sequence[int], size: int) -> list[list[list[int]]]:
    """Ways in which ranks are cut into groups as launchers do it: blocks, and strides over all."""
    count = len(numbers)
    blocks = _parts_by([number // size for number in numbers])
    world = max(numbers, default=0) + 1
    stride = max(-(-world // size), 1)
    strides = _parts_by([number % stride for number in numbers])
    ways = [parts for parts in (blocks, strides) if all(len(part) <= size for part in parts)]
    return ways or [[list(range(first, stop)) for first, stop in pairwise(_cuts(count, size))]]


def _parts_by(keys: Sequence[int]) -> list[list[int]]:
    parts: dict[int, list[int]] = defaultdict(list)
    for place, key in enumerate(keys):
        parts[key].append(place)
    return list(parts.values())


def _cuts(count: int, size: int) -> list[int]:
    return [*range(0, count, size), count]
