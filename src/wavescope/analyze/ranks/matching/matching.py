"""All collectives of all ranks matched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wavescope.analyze.ranks.digest import RankDigest
from wavescope.analyze.ranks.job import MatchedGroup, Mismatch
from wavescope.analyze.ranks.matching.exchange_matrix import UseTable, matched_group
from wavescope.analyze.ranks.matching.gathered import Gathered, by_listed_members
from wavescope.analyze.ranks.matching.local_groups import Uses, local_groups
from wavescope.analyze.ranks.matching.mismatches import Names
from wavescope.analyze.ranks.matching.send_receive import sends_and_receives
from wavescope.analyze.ranks.matching.unlisted_groups import by_names


class Matching(NamedTuple):
    """The groups of a job with their exchanges, and what did not fit."""

    groups: tuple[MatchedGroup, ...]
    mismatches: tuple[Mismatch, ...]


def matched_collectives(digests: Sequence[RankDigest], numbers: Sequence[int]) -> Matching:
    """Groups in order of their lowest rank, largest first."""
    uses, names = Uses(), Names(tuple(numbers))
    parts, left_out = local_groups(digests, uses)
    listed, rest = by_listed_members(parts, numbers)
    pairs, mismatches = sends_and_receives(digests, uses, names)
    gathered = sorted([*listed, *by_names(rest, numbers), *pairs], key=_order)
    table = UseTable(tuple(uses.exact), tuple(uses.tokens))
    mismatches.extend(names.without_group(left_out))
    groups = []
    for place, group in enumerate(gathered):
        matched, found = matched_group(group, place, table, names)
        groups.append(matched)
        mismatches.extend(found)
    return Matching(tuple(groups), tuple(mismatches))


def _order(group: Gathered) -> tuple[bool, int, int, str]:
    return (group.is_pair, group.members[0].place, -len(group.members), group.name)
