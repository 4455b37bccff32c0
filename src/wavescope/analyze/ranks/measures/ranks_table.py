"""The table `ranks`: each rank with what it did, waited for and held up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavescope.analyze.ranks.digest import UNKNOWN, RankDigest
from wavescope.analyze.ranks.job import RankClock
from wavescope.analyze.ranks.measures.job_measures import JobMeasures
from wavescope.arrays.groups import nearest_rank
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of
from wavescope.units import percent_of


class RankRow(NamedTuple):
    """One rank of the job."""

    place: int
    number: int
    digest: RankDigest
    clock: RankClock
    first_ns: int | None
    """From the job's start, as `last_ns` is."""
    last_ns: int | None
    step_count: int
    median_step_ns: int | None
    p95_step_ns: int | None
    busy_ns: int
    compute_ns: int
    collective_ns: int
    exposed_ns: int
    host_late_ns: int | None
    waited_ns: int | None
    exposed_wait_ns: int | None
    delay_ns: int | None
    last_count: int
    timed_count: int

    @property
    def span_ns(self) -> int:
        """First start to last end, by its own clock."""
        return max(0, self.digest.last_ns - self.digest.first_ns) if self.digest.op_count else 0

    @property
    def gpu(self) -> str:
        identity = self.digest.identity
        return identity.gpu_model or identity.chip

    @property
    def busy_percent(self) -> float | None:
        return percent_of(self.busy_ns, self.span_ns)

    @property
    def exposed_wait_percent(self) -> float | None:
        if self.exposed_wait_ns is None:
            return None
        return percent_of(self.exposed_wait_ns, self.span_ns)

    @property
    def exposed_percent(self) -> float | None:
        return percent_of(self.exposed_ns, self.span_ns)


def rank_rows(measures: JobMeasures) -> list[RankRow]:
    """All ranks in the order of their numbers."""
    return [_row(measures, place) for place in range(len(measures.job))]


def ranks_table(rows: list[RankRow]) -> ResultTable:
    """The table of these ranks."""
    return table_of("ranks", "Ranks", _COLUMNS, rows)


def _row(measures: JobMeasures, place: int) -> RankRow:
    job = measures.job
    digest, span, origin = job.ranks[place], measures.spans[place], measures.first_ns
    durations = measures.step_durations[place][measures.has_step[place]]
    late = digest.steps.host_late_ns
    bins = digest.bins
    timed = measures.timed_counts[place]
    return RankRow(
        place=place,
        number=job.numbers[place],
        digest=digest,
        clock=job.clocks[place],
        first_ns=None if span is None or origin is None else span[0] - origin,
        last_ns=None if span is None or origin is None else span[1] - origin,
        step_count=len(durations),
        median_step_ns=nearest_rank(durations, 50) if len(durations) else None,
        p95_step_ns=nearest_rank(durations, 95) if len(durations) else None,
        busy_ns=int(bins.busy_ns.sum()),
        compute_ns=int(bins.compute_ns.sum()),
        collective_ns=int(bins.collective_ns.sum()),
        exposed_ns=int(bins.exposed_ns.sum()),
        host_late_ns=int(np.maximum(late, 0).sum()) if len(late) and (late >= 0).any() else None,
        waited_ns=measures.waited_ns[place] if timed else None,
        exposed_wait_ns=measures.exposures[1][place] if timed else None,
        delay_ns=measures.delay_ns[place] if measures.report.steps else None,
        last_count=measures.last_counts[place],
        timed_count=timed,
    )


def _known(number: int) -> int | None:
    return None if number == UNKNOWN else number


_COLUMNS: tuple[ColumnOf[RankRow], ...] = (
    ResultColumn("rank", "Rank", Unit.NONE, "global rank").of(lambda row: row.number),
    ResultColumn("host", "Host", Unit.NAME, "machine it ran on").of(
        lambda row: row.digest.identity.host or None
    ),
    ResultColumn("gpu", "GPU", Unit.NAME, "model of its GPU, else the chip").of(
        lambda row: row.gpu or None
    ),
    ResultColumn("step_count", "Steps", Unit.COUNT, "steps that were matched with other ranks'").of(
        lambda row: row.step_count
    ),
    ResultColumn("median_step_ns", "Step", Unit.NS, "median of end - start of its steps").of(
        lambda row: row.median_step_ns
    ),
    ResultColumn("busy_percent", "Busy %", Unit.PERCENT, "time with any op / its span").of(
        lambda row: row.busy_percent
    ),
    ResultColumn(
        "exposed_percent", "Exposed %", Unit.PERCENT, "collectives without compute / its span"
    ).of(lambda row: row.exposed_percent),
    ResultColumn("compute_ns", "Compute", Unit.NS, "time with compute").of(
        lambda row: row.compute_ns
    ),
    ResultColumn("collective_ns", "Collectives", Unit.NS, "time with collectives").of(
        lambda row: row.collective_ns
    ),
    ResultColumn("exposed_ns", "Exposed", Unit.NS, "time with collectives and no compute").of(
        lambda row: row.exposed_ns
    ),
    ResultColumn(
        "waited_ns", "Waited", Unit.NS, "last arrival - own arrival, over its timed exchanges"
    ).of(lambda row: row.waited_ns),
    ResultColumn(
        "exposed_wait_ns", "Stood still", Unit.NS, "of that with nothing to compute, at most"
    ).of(lambda row: row.exposed_wait_ns),
    ResultColumn(
        "delay_ns",
        "Delayed all",
        Unit.NS,
        "what its own parts of the critical path exceed ideal by",
    ).of(lambda row: row.delay_ns),
    ResultColumn("last_count", "Came last", Unit.COUNT, "timed exchanges it alone came last to").of(
        lambda row: row.last_count if row.timed_count else None
    ),
    ResultColumn(
        "timed_count", "Of", Unit.COUNT, "its exchanges in which all arrivals can be compared"
    ).of(lambda row: row.timed_count),
    ResultColumn("host_late_ns", "Host late", Unit.NS, "idle, next op of the step not launched").of(
        lambda row: row.host_late_ns
    ),
    ResultColumn("p95_step_ns", "Step p95", Unit.NS, "95th percentile of the same").of(
        lambda row: row.p95_step_ns
    ),
    ResultColumn("first_ns", "First op", Unit.NS, "its start after the job's, common time").of(
        lambda row: row.first_ns
    ),
    ResultColumn("last_ns", "Last op", Unit.NS, "its end after the job's start, common time").of(
        lambda row: row.last_ns
    ),
    ResultColumn("op_count", "Ops", Unit.COUNT, "ops in its trace").of(
        lambda row: row.digest.op_count
    ),
    ResultColumn("lost_count", "Lost", Unit.COUNT, "ops known to be missing").of(
        lambda row: row.digest.lost_ops
    ),
    ResultColumn(
        "older_count", "Made room", Unit.COUNT, "dispatches older than the newest, kept as asked"
    ).of(lambda row: row.digest.older_ops),
    ResultColumn("clock", "Clock", Unit.NAME, "whether its times can be compared").of(
        lambda row: row.clock.state.value
    ),
    ResultColumn("chip", "Chip", Unit.NAME, "chip of its GPU").of(
        lambda row: row.digest.identity.chip or None
    ),
    ResultColumn("gpu_uuid", "GPU id", Unit.NAME, "unique id of its GPU").of(
        lambda row: row.digest.identity.gpu_uuid or None
    ),
    ResultColumn("gpu_number", "GPU number", Unit.NONE, "number of its GPU in the file").of(
        lambda row: _known(row.digest.identity.gpu)
    ),
    ResultColumn("path", "Path", Unit.NAME, "its file or folder, the first of several").of(
        lambda row: row.digest.path
    ),
)
