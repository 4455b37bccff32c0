"""The tables `groups` and `mismatches`: how ranks' collectives were put together."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from wavescope.analyze.ranks.job import MatchedGroup, Mismatch
from wavescope.analyze.ranks.measures.exchange_times import ExchangeTimes
from wavescope.analyze.ranks.measures.job_measures import JobMeasures
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of


class _GroupRow(NamedTuple):
    name: str
    ranks: str
    group: MatchedGroup
    times: ExchangeTimes
    mismatch_count: int


def groups_table(measures: JobMeasures) -> ResultTable:
    """All groups, those whose members waited longest first."""
    job = measures.job
    mismatches = Counter(mismatch.group for mismatch in job.mismatches)
    rows = [
        _GroupRow(
            measures.group_text(place),
            measures.rank_text(group.members.tolist()),
            group,
            times,
            mismatches[place],
        )
        for place, (group, times) in enumerate(zip(job.groups, measures.exchanges, strict=True))
    ]
    rows.sort(key=lambda row: -int(row.times.wait_ns.sum()))
    return table_of("groups", "Groups of ranks", _GROUP_COLUMNS, rows)


class _MismatchRow(NamedTuple):
    group: str
    ranks: str
    mismatch: Mismatch


def mismatches_table(measures: JobMeasures) -> ResultTable:
    """What does not fit between ranks, that of most exchanges first."""
    rows = [
        _MismatchRow(
            measures.group_text(mismatch.group)
            if 0 <= mismatch.group < len(measures.job.groups)
            else "",
            measures.rank_text(mismatch.places),
            mismatch,
        )
        for mismatch in measures.job.mismatches
    ]
    rows.sort(key=lambda row: -row.mismatch.exchange_count)
    return table_of("mismatches", "Collectives that do not match", _MISMATCH_COLUMNS, rows)


_GROUP_COLUMNS: tuple[ColumnOf[_GroupRow], ...] = (
    ResultColumn("group", "Group", Unit.NAME, "name and description").of(lambda row: row.name),
    ResultColumn("ranks", "Ranks", Unit.NAME, "members whose traces were given").of(
        lambda row: row.ranks
    ),
    ResultColumn("member_count", "Given", Unit.COUNT, "how many of them").of(
        lambda row: len(row.group.members)
    ),
    ResultColumn("group_size", "Size", Unit.COUNT, "ranks in the group, as recorded").of(
        lambda row: row.group.size
    ),
    ResultColumn("exchange_count", "Exchanges", Unit.COUNT, "matched collectives").of(
        lambda row: row.group.exchange_count
    ),
    ResultColumn("timed_count", "Timed", Unit.COUNT, "whose arrivals can be compared").of(
        lambda row: int(row.times.is_timed.sum())
    ),
    ResultColumn("wait_ns", "Wait", Unit.NS, "last arrival - own, over members and exchanges").of(
        lambda row: int(row.times.wait_ns.sum()) if row.times.is_timed.any() else None
    ),
    ResultColumn(
        "matched_by",
        "Matched by",
        Unit.NAME,
        "what shows which collectives of the ranks belong together",
    ).of(lambda row: row.group.matched_by.value),
    ResultColumn("confidence", "Confidence", Unit.NONE, "0 to 1: how sure the matching is").of(
        lambda row: float(row.group.confidence)
    ),
    ResultColumn("mismatch_count", "Mismatches", Unit.COUNT, "rows of `mismatches`").of(
        lambda row: row.mismatch_count
    ),
)
_MISMATCH_COLUMNS: tuple[ColumnOf[_MismatchRow], ...] = (
    ResultColumn("kind", "Kind", Unit.NAME, "missing, operation, size, absent or order").of(
        lambda row: row.mismatch.kind
    ),
    ResultColumn("group", "Group", Unit.NAME, "name and description").of(lambda row: row.group),
    ResultColumn("ranks", "Ranks", Unit.NAME, "those that differ from the rest").of(
        lambda row: row.ranks or None
    ),
    ResultColumn("exchange_count", "Exchanges", Unit.COUNT, "how many it is about").of(
        lambda row: row.mismatch.exchange_count
    ),
    ResultColumn("sentence", "What", Unit.NAME, "in words").of(lambda row: row.mismatch.sentence),
)
