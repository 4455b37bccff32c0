"""The table `stages`: how evenly the stages of a pipeline compute, and how long they stand idle.

A step of a pipeline lasts from the first start to the last end over its ranks (of a rank whose
clock cannot be compared: its own start to its own end). A rank's bubble is that time less what it
computed, and less exposed collectives that are not sends or receives: nothing to do, or waiting for
another stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wavescope.analyze.ranks.digest import RankDigest
from wavescope.analyze.ranks.job import MISSING
from wavescope.analyze.ranks.measures.job_measures import JobMeasures
from wavescope.analyze.ranks.measures.pipeline import SEND_RECV, Pipeline, pipelines
from wavescope.arrays.groups import nearest_rank
from wavescope.arrays.intervals import Times
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of


class StageRow(NamedTuple):
    """The ranks of all pipelines that are the same stage."""

    stage: int
    places: tuple[int, ...]
    step_count: int
    compute_ns: int
    """Per rank and step, the median."""
    bubble_ns: int
    bubble_percent: float | None
    """The median over ranks and steps of bubble / time of the pipeline's step."""
    balance: float | None
    """Its compute / the mean of all stages."""
    told_by: str


def stage_rows(measures: JobMeasures) -> list[StageRow]:
    """All stages in order; none where no pipeline or no step is visible."""
    found = pipelines(measures)
    if not found or not measures.job.step_count:
        return []
    cells = [_cells(measures, pipeline) for pipeline in found]
    rows = []
    for stage in range(len(found[0].places)):
        compute = np.concatenate([each.compute[stage][each.there[stage]] for each in cells])
        bubble = np.concatenate([each.bubble[stage][each.there[stage]] for each in cells])
        time = np.concatenate([each.time[stage][each.there[stage]] for each in cells])
        if not len(compute):
            return []
        shares = 100 * bubble[time > 0] / time[time > 0]
        rows.append(
            StageRow(
                stage,
                tuple(sorted(pipeline.places[stage] for pipeline in found)),
                int(np.any([each.there[stage] for each in cells], axis=0).sum()),
                nearest_rank(compute, 50),
                nearest_rank(bubble, 50),
                float(np.median(shares)) if len(shares) else None,
                None,
                found[0].told_by,
            )
        )
    mean = sum(row.compute_ns for row in rows) / len(rows)
    return [row._replace(balance=row.compute_ns / mean if mean else None) for row in rows]


def stages_table(measures: JobMeasures, rows: Sequence[StageRow]) -> ResultTable:
    """The table of these stages."""
    ranks: ColumnOf[StageRow] = ResultColumn("ranks", "Ranks", Unit.NAME, "ranks of the stage").of(
        lambda row: measures.rank_text(row.places)
    )
    return table_of("stages", "Pipeline stages", (_STAGE, ranks, *_COLUMNS), rows)


class _Cells(NamedTuple):
    """[stage, step] of one pipeline."""

    there: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
    compute: Times
    bubble: Times
    time: Times


def _cells(measures: JobMeasures, pipeline: Pipeline) -> _Cells:
    job, places = measures.job, list(pipeline.places)
    there = measures.has_step[places]
    compute = np.maximum(job.step_column("compute_ns", 0)[places], 0)
    exposed = np.maximum(job.step_column("exposed_ns", 0)[places], 0)
    passing = np.array([_passing_ns(job.ranks[place], job.steps[place]) for place in places])
    time = measures.step_durations[places]
    if measures.is_comparable[places].all():
        starts = np.where(there, job.step_starts[places], np.iinfo(np.int64).max).min(axis=0)
        ends = np.where(there, job.step_ends[places], np.iinfo(np.int64).min).max(axis=0)
        time = np.where(there.any(axis=0), ends - starts, 0)[None, :].repeat(len(places), axis=0)
    working = compute + exposed - np.minimum(passing, exposed)
    return _Cells(there, compute, np.clip(time - working, 0, np.maximum(time, 0)), time)


def _passing_ns(rank: RankDigest, steps: Times) -> Times:
    """For each step of the job how long the rank's sends and receives were exposed."""
    rows = rank.collectives
    is_passing = np.array([use.operation == SEND_RECV for use in rank.uses], np.bool_)
    own = np.zeros(len(rank.steps) + 1, np.int64)
    if len(rows):
        chosen = is_passing[rows.use] & (rows.step != MISSING)
        np.add.at(own, rows.step[chosen], np.maximum(rows.exposed_ns[chosen], 0))
    return np.where(steps == MISSING, 0, own[steps])


_STAGE: ColumnOf[StageRow] = ResultColumn("stage", "Stage", Unit.NONE, "from 0").of(
    lambda row: row.stage
)
_COLUMNS: tuple[ColumnOf[StageRow], ...] = (
    ResultColumn("rank_count", "Of", Unit.COUNT, "pipelines side by side: a rank of each").of(
        lambda row: len(row.places)
    ),
    ResultColumn("compute_ns", "Compute", Unit.NS, "per rank and step, median").of(
        lambda row: row.compute_ns
    ),
    ResultColumn("balance", "Balance", Unit.NONE, "compute / mean of all stages").of(
        lambda row: row.balance
    ),
    ResultColumn("bubble_percent", "Bubble %", Unit.PERCENT, "bubble / pipeline's step").of(
        lambda row: row.bubble_percent
    ),
    ResultColumn(
        "bubble_ns",
        "Bubble",
        Unit.NS,
        "neither compute nor exposed communication but sends, median",
    ).of(lambda row: row.bubble_ns),
    ResultColumn("step_count", "Steps", Unit.COUNT, "steps that the figures are of").of(
        lambda row: row.step_count
    ),
    ResultColumn("told_by", "Told by", Unit.NAME, "what shows the stages").of(
        lambda row: row.told_by
    ),
)
