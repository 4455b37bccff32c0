"""Which rank each digest is: by the user's pattern, by what the traces say, by names, by order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from wavescope.analyze.ranks.digest import RankDigest, joined
from wavescope.api.rank_files import RankFile, RankFrom

_MOST_NAMED = 3
"""Files that a sentence lists."""


@dataclass(frozen=True)
class NumberedRanks:
    """Digests with different rank numbers, and what had to be decided."""

    digests: tuple[RankDigest, ...]
    numbers: tuple[int, ...]
    notes: tuple[str, ...]
    """Sentences about ranks that are not as the files say."""
    of_file: tuple[tuple[int, ...], ...]
    """For each file the rank numbers that its digests are part of."""


class _Claim(NamedTuple):
    """A digest, the file it came from, and the rank it is said to be."""

    digest: RankDigest
    file: int
    rank: int | None


def ranks_of(files: Sequence[RankFile], digests: Sequence[Sequence[RankDigest]]) -> NumberedRanks:
    """The rank of each digest; `digests` are those of each file, none of files that failed.

    Files of one rank that were recorded one after the other, on the same host and GPU, are joined.
    Others that claim the same rank all stay, the later ones under free numbers, and a note says so.
    """
    claims, notes = _claims(files, digests)
    numbered: dict[int, list[_Claim]] = {}
    displaced: list[_Claim] = []
    unnamed: list[_Claim] = []
    for claim in claims:
        if claim.rank is None:
            unnamed.append(claim)
        elif claim.rank not in numbered or _continues(numbered[claim.rank], claim):
            numbered.setdefault(claim.rank, []).append(claim)
        else:
            displaced.append(claim)
    free = _free_numbers(numbered, len(displaced) + len(unnamed))
    # Without any rank the order of the files is that of the ranks.
    for claim, number in zip((*unnamed, *displaced), free, strict=True):
        numbered[number] = [claim]
    notes += _sentences(unnamed, displaced, len(claims))
    places: list[list[int]] = [[] for _ in files]
    for number, members in sorted(numbered.items()):
        for claim in members:
            if number not in places[claim.file]:
                places[claim.file].append(number)
    return NumberedRanks(
        tuple(
            joined([claim.digest for claim in numbered[number]])
            if len(numbered[number]) > 1
            else numbered[number][0].digest
            for number in sorted(numbered)
        ),
        tuple(sorted(numbered)),
        tuple(notes),
        tuple(map(tuple, places)),
    )


def _claims(
    files: Sequence[RankFile], digests: Sequence[Sequence[RankDigest]]
) -> tuple[list[_Claim], list[str]]:
    """What is said of each digest's rank, and a note where names are believed before traces."""
    claims, named = [], []
    for number, (file, made) in enumerate(zip(files, digests, strict=True)):
        for digest in made:
            known = _with_host(digest, file.host)
            # What is said of a file tells nothing of several ranks in it.
            told = file.rank if len(made) == 1 else None
            is_pattern = file.rank_from is RankFrom.PATTERN and told is not None
            stated = known.identity.rank
            rank = told if is_pattern or stated is None else stated
            claims.append(_Claim(known, number, rank))
            named.append(told)
    if _contradict(claims) and None not in named and len(set(named)) == len(named):
        note = "several traces say that they are the same rank: the names of the files are believed"
        return [claim._replace(rank=told) for claim, told in zip(claims, named, strict=True)], [
            note
        ]
    return claims, []


def _contradict(claims: Sequence[_Claim]) -> bool:
    """Whether traces that cannot be one rank say that they are."""
    by_rank: dict[int, list[_Claim]] = {}
    for claim in claims:
        if claim.rank is None:
            continue
        members = by_rank.setdefault(claim.rank, [])
        if members and not _continues(members, claim):
            return True
        members.append(claim)
    return False


def _continues(members: Sequence[_Claim], claim: _Claim) -> bool:
    """Whether a digest can be of the same rank: other times, the same place."""
    return all(_can_be_one(member.digest, claim.digest) for member in members)


def _can_be_one(one: RankDigest, other: RankDigest) -> bool:
    if one.first_ns < other.last_ns and other.first_ns < one.last_ns:
        return False
    pairs = (
        (one.identity.host, other.identity.host),
        (one.identity.gpu_uuid, other.identity.gpu_uuid),
        (one.identity.gpu_model, other.identity.gpu_model),
        (one.identity.world_size, other.identity.world_size),
        (one.format, other.format),
    )
    return all(not first or not second or first == second for first, second in pairs)


def _with_host(digest: RankDigest, host: str) -> RankDigest:
    """The digest with the host that its file is named for, where the trace tells none."""
    if digest.identity.host or not host:
        return digest
    return replace(digest, identity=replace(digest.identity, host=host))


def _free_numbers(taken: dict[int, list[_Claim]], count: int) -> list[int]:
    free: list[int] = []
    number = 0
    while len(free) < count:
        if number not in taken:
            free.append(number)
        number += 1
    return free


def _sentences(unnamed: Sequence[_Claim], displaced: Sequence[_Claim], count: int) -> list[str]:
    sentences = []
    if unnamed and len(unnamed) == count:
        if count > 1:
            sentences.append(
                "nothing says which rank is which: ranks are numbered in the order of the files"
            )
    elif unnamed:
        sentences.append(f"{_files(unnamed)}: no rank is known, free numbers are given")
    if displaced:
        ranks = sorted({claim.rank for claim in displaced if claim.rank is not None})
        listed = ", ".join(map(str, ranks[:_MOST_NAMED])) + (", ..." if len(ranks) > 3 else "")
        sentences.append(
            f"{_files(displaced)}: another file is rank {listed}, too, and was recorded at the "
            "same time or elsewhere: free numbers are given"
        )
    return sentences


def _files(claims: Sequence[_Claim]) -> str:
    paths = list(dict.fromkeys(claim.digest.path for claim in claims))
    more = f" and {len(paths) - _MOST_NAMED} more" if len(paths) > _MOST_NAMED else ""
    return ", ".join(paths[:_MOST_NAMED]) + more
