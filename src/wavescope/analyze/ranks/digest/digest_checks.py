"""Whether the parts of a digest fit together."""

from __future__ import annotations

from dataclasses import fields

from wavescope.analyze.ranks.digest.rank_digest import (
    UNKNOWN,
    CollectiveRows,
    Numbers,
    RankDigest,
    StepRows,
    TimeBins,
)


def checked(digest: RankDigest) -> RankDigest:
    """The same digest; ValueError when its columns or its numbers of rows do not fit together."""
    for table in (digest.collectives, digest.steps, digest.bins):
        _require_one_length(table)
    _require_rows(digest.collectives.use, len(digest.uses), "use", at_least=0)
    _require_rows(digest.collectives.step, len(digest.steps), "step")
    _require_rows(digest.steps.phase, len(digest.phases), "phase")
    if any(not UNKNOWN <= use.group < len(digest.groups) for use in digest.uses):
        raise ValueError("a use has a group that is not there")
    if digest.bins.width_ns < 1:
        raise ValueError("bins have no width")
    return digest


def _require_one_length(table: CollectiveRows | StepRows | TimeBins) -> None:
    columns = [getattr(table, each.name) for each in fields(table)]
    lengths = {len(column) for column in columns if hasattr(column, "__len__")}
    if len(lengths) != 1:
        raise ValueError("columns of one table differ in length")


def _require_rows(numbers: Numbers, count: int, what: str, at_least: int = UNKNOWN) -> None:
    if len(numbers) and not at_least <= int(numbers.min()) <= int(numbers.max()) < count:
        raise ValueError(f"a {what} is not there")
