"""All tables of a job in the order worth reading, and the rows that findings are told of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wavescope.analyze.ranks.measures.all_exchanges import AllExchanges, all_exchanges
from wavescope.analyze.ranks.measures.clocks_table import clocks_table
from wavescope.analyze.ranks.measures.collective_rows import (
    CollectiveRow,
    collective_rows,
    collective_rows_by_step,
)
from wavescope.analyze.ranks.measures.collectives_table import (
    collectives_by_step_table,
    collectives_table,
)
from wavescope.analyze.ranks.measures.delays_table import (
    DelayRow,
    delay_rows,
    delays_table,
    stragglers_table,
)
from wavescope.analyze.ranks.measures.experts_table import ExpertRow, expert_rows, experts_table
from wavescope.analyze.ranks.measures.files_table import FileState, files_table
from wavescope.analyze.ranks.measures.groups_table import groups_table, mismatches_table
from wavescope.analyze.ranks.measures.job_measures import JobMeasures
from wavescope.analyze.ranks.measures.outliers_table import (
    OutlierRow,
    outlier_rows,
    outliers_table,
)
from wavescope.analyze.ranks.measures.ranks_table import RankRow, rank_rows, ranks_table
from wavescope.analyze.ranks.measures.stages_table import StageRow, stage_rows, stages_table
from wavescope.analyze.ranks.measures.steps_table import StepRow, step_rows, steps_table
from wavescope.arrays.intervals import Times
from wavescope.model.result import ResultTable


class JobRows(NamedTuple):
    """Rows of the tables, with typed fields."""

    exchanges: AllExchanges
    ranks: list[RankRow]
    collectives: list[CollectiveRow]
    steps: list[StepRow]
    delays: list[DelayRow]
    stages: list[StageRow]
    experts: list[ExpertRow]
    outliers: list[OutlierRow]

    @property
    def has_common_steps(self) -> bool:
        """Whether the clocks of most ranks tell how long steps took over all ranks."""
        return all(
            row.actual_ns is not None and 2 * row.compared_count >= row.rank_count
            for row in self.steps
        )

    @property
    def step_times(self) -> Times:
        """The time of each step: over all ranks where clocks tell it, else the median rank's."""
        return self.actual_step_times if self.has_common_steps else self.median_step_times

    @property
    def actual_step_times(self) -> Times:
        """First start to last end over ranks."""
        return np.array([row.actual_ns for row in self.steps], np.int64)

    @property
    def median_step_times(self) -> Times:
        """The median over ranks of their own steps."""
        return np.array([row.median_ns for row in self.steps], np.int64)


def job_rows(measures: JobMeasures) -> JobRows:
    """Everything that can be told of a job."""
    exchanges = all_exchanges(measures)
    ranks, stages = rank_rows(measures), stage_rows(measures)
    return JobRows(
        exchanges=exchanges,
        ranks=ranks,
        collectives=collective_rows(measures, exchanges),
        steps=step_rows(measures),
        delays=delay_rows(measures),
        stages=stages,
        experts=expert_rows(measures),
        outliers=outlier_rows(measures, ranks, stages),
    )


def job_tables(
    measures: JobMeasures, rows: JobRows, files: Sequence[FileState], most_rows: int
) -> list[ResultTable]:
    """The tables; those of stages and experts only where there are any."""
    by_step, by_step_count = collective_rows_by_step(measures, rows.exchanges, most_rows)
    tables = [
        stragglers_table(measures),
        delays_table(rows.delays),
        ranks_table(rows.ranks),
        outliers_table(measures, rows.outliers),
        steps_table(measures, rows.steps),
    ]
    tables += [stages_table(measures, rows.stages)] if rows.stages else []
    tables += [experts_table(measures, rows.experts)] if rows.experts else []
    return [
        *tables,
        collectives_table(measures, rows.collectives),
        collectives_by_step_table(measures, by_step, by_step_count),
        mismatches_table(measures),
        clocks_table(measures.job),
        groups_table(measures),
        files_table(files),
    ]
