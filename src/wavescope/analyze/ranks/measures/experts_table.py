"""The table `experts`: how unevenly the work of experts is spread over ranks.

Ranks are compared that exchange tokens with each other (members of a group with all-to-alls), or
all ranks where no such group was matched. In each step three things are compared, where known: the
summed time of expert kernels, the bytes that a rank gave to all-to-alls, and the launch sizes of
compute kernels where ranks have expert kernels. The imbalance of a step is max / mean over ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from wavescope.analyze.ranks.digest import UNKNOWN, RankDigest
from wavescope.analyze.ranks.job import MISSING
from wavescope.analyze.ranks.measures.job_measures import JobMeasures
from wavescope.arrays.intervals import Times
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of

ALL_TO_ALL = "all-to-all"
EXPERT_TIME = "time of expert kernels"
EXCHANGED_BYTES = "bytes of all-to-alls"
WORK_ITEMS = "launch sizes of compute"


class ExpertRow(NamedTuple):
    """One figure of experts, compared within one set of ranks."""

    metric: str
    where: str
    places: tuple[int, ...]
    step_count: int
    imbalance: float
    """The median over steps of max / mean over ranks."""
    imbalance_p95: float
    worst_step: int
    worst: float
    place: int
    """The rank that most often has most."""
    most_count: int
    lost_ns: int | None
    """Of expert kernels: the median over steps of max - mean."""


def expert_rows(measures: JobMeasures) -> list[ExpertRow]:
    """The most uneven first; none without experts."""
    job = measures.job
    if len(job) < 2 or not job.step_count:
        return []
    expert_ns = job.step_column("moe_ns", UNKNOWN)
    tokens = np.array(
        [_token_bytes(rank, own) for rank, own in zip(job.ranks, job.steps, strict=True)]
    ).reshape(job.steps.shape)
    work = job.step_column("work_items", UNKNOWN)
    rows: list[ExpertRow] = []
    for where, places in _compared(measures):
        has_experts = bool((expert_ns[places] > 0).any())
        metrics = [(EXPERT_TIME, expert_ns, has_experts), (WORK_ITEMS, work, has_experts)]
        # Equal sizes on all ranks are padded, and say nothing of where tokens went.
        is_uneven = _differs(tokens[places])
        metrics.append((EXCHANGED_BYTES, tokens, is_uneven))
        for metric, values, is_told in metrics:
            row = _row(metric, where, places, values[places]) if is_told else None
            rows += [row] if row is not None else []
    return sorted(rows, key=lambda row: (-row.imbalance, row.where, row.metric))


def experts_table(measures: JobMeasures, rows: Sequence[ExpertRow]) -> ResultTable:
    """The table of these figures."""
    numbers = measures.job.numbers
    most: ColumnOf[ExpertRow] = ResultColumn(
        "rank", "Rank", Unit.NONE, "rank that most often has most"
    ).of(lambda row: numbers[row.place])
    columns = (*_FIRST_COLUMNS, most, *_LAST_COLUMNS)
    return table_of("experts", "Balance of experts", columns, rows)


def _compared(measures: JobMeasures) -> Iterable[tuple[str, list[int]]]:
    """Sets of ranks between which tokens are spread."""
    found: dict[tuple[int, ...], str] = {}
    for place, group in enumerate(measures.job.groups):
        members = tuple(group.members.tolist())
        if len(members) >= 2 and any(use.operation == ALL_TO_ALL for use in group.uses):
            found.setdefault(members, measures.group_text(place))
    if found:
        return [(where, list(members)) for members, where in found.items()]
    return [("all ranks", list(range(len(measures.job))))]


def _token_bytes(rank: RankDigest, steps: Times) -> Times:
    """For each step of the job the bytes that the rank gave to all-to-alls; `UNKNOWN` without."""
    size = np.array(
        [use.size_bytes if use.operation == ALL_TO_ALL else UNKNOWN for use in rank.uses], np.int64
    )
    own = np.zeros(len(rank.steps) + 1, np.int64)
    if len(rank.collectives):
        rows = rank.collectives
        given = size[rows.use]
        chosen = (given > 0) & (rows.step != MISSING)
        np.add.at(own, rows.step[chosen], given[chosen])
    found = np.where(steps == MISSING, UNKNOWN, own[steps])
    return np.where(found == 0, UNKNOWN, found)


def _differs(values: Times) -> bool:
    """Whether any two ranks have different values in one step."""
    there = (values != UNKNOWN).all(axis=0)
    return bool((values[:, there] != values[:1, there]).any())


def _row(metric: str, where: str, places: list[int], values: Times) -> ExpertRow | None:
    """Steps count in which all of the ranks have a value, and any is above 0."""
    steps = np.flatnonzero((values != UNKNOWN).all(axis=0) & (values > 0).any(axis=0))
    if not len(steps):
        return None
    chosen = values[:, steps].astype(np.float64)
    means = chosen.mean(axis=0)
    ratios = chosen.max(axis=0) / means
    counts = np.bincount(chosen.argmax(axis=0), minlength=len(places))
    worst = int(ratios.argmax())
    return ExpertRow(
        metric=metric,
        where=where,
        places=tuple(places),
        step_count=len(steps),
        imbalance=float(np.median(ratios)),
        imbalance_p95=float(np.percentile(ratios, 95, method="inverted_cdf")),
        worst_step=int(steps[worst]),
        worst=float(ratios[worst]),
        place=places[int(counts.argmax())],
        most_count=int(counts.max()),
        lost_ns=int(np.median(chosen.max(axis=0) - means)) if metric == EXPERT_TIME else None,
    )


_FIRST_COLUMNS: tuple[ColumnOf[ExpertRow], ...] = (
    ResultColumn("metric", "What", Unit.NAME, "what is compared between ranks").of(
        lambda row: row.metric
    ),
    ResultColumn("where", "Where", Unit.NAME, "ranks that are compared").of(lambda row: row.where),
    ResultColumn("rank_count", "Ranks", Unit.COUNT, "how many they are").of(
        lambda row: len(row.places)
    ),
    ResultColumn("imbalance", "Max / mean", Unit.NONE, "over ranks, the median of all steps").of(
        lambda row: row.imbalance
    ),
    ResultColumn("imbalance_p95", "p95", Unit.NONE, "95th percentile over steps").of(
        lambda row: row.imbalance_p95
    ),
)
_LAST_COLUMNS: tuple[ColumnOf[ExpertRow], ...] = (
    ResultColumn("most_count", "Has most", Unit.COUNT, "steps in which it has most").of(
        lambda row: row.most_count
    ),
    ResultColumn("step_count", "Of", Unit.COUNT, "steps that were compared").of(
        lambda row: row.step_count
    ),
    ResultColumn("worst_step", "Worst step", Unit.NONE, "step with the greatest imbalance").of(
        lambda row: row.worst_step
    ),
    ResultColumn("worst", "Its max / mean", Unit.NONE, "imbalance in that step").of(
        lambda row: row.worst
    ),
    ResultColumn("lost_ns", "Longer", Unit.NS, "of kernels: max - mean per step, median").of(
        lambda row: row.lost_ns
    ),
)
