"""The tables `collectives` and `collectives_by_step`."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.ranks.measures.collective_rows import CollectiveRow
from wavescope.analyze.ranks.measures.job_measures import JobMeasures
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of


def collectives_table(measures: JobMeasures, rows: Sequence[CollectiveRow]) -> ResultTable:
    """By group, operation, type and size class."""
    return table_of("collectives", "Collectives across ranks", _columns(measures), rows)


def collectives_by_step_table(
    measures: JobMeasures, rows: Sequence[CollectiveRow], total_rows: int
) -> ResultTable:
    """The same for each step."""
    step = ResultColumn("step", "Step", Unit.NONE, "step of the job").of(_step)
    return table_of(
        "collectives_by_step",
        "Collectives by step",
        (step, *_columns(measures)),
        rows,
        total_rows if total_rows > len(rows) else None,
    )


def _step(row: CollectiveRow) -> int | None:
    return row.step


def _columns(measures: JobMeasures) -> tuple[ColumnOf[CollectiveRow], ...]:
    numbers = measures.job.numbers

    def last_rank(row: CollectiveRow) -> int | None:
        return None if row.last_place is None else numbers[row.last_place]

    came_last = ResultColumn("last_rank", "Last", Unit.NONE, "rank that came last most often")
    return (*_WHAT, *_ARRIVALS, came_last.of(last_rank), *_SPEED)


_WHAT: tuple[ColumnOf[CollectiveRow], ...] = (
    ResultColumn("operation", "Collective", Unit.NAME, "what it does").of(
        lambda row: row.kind.operation or "unknown"
    ),
    ResultColumn("group", "Group", Unit.NAME, "name and description").of(lambda row: row.group),
    ResultColumn("group_size", "Ranks", Unit.COUNT, "ranks in the group, as recorded").of(
        lambda row: row.group_size
    ),
    ResultColumn("dtype", "Type", Unit.NAME, "type of the elements").of(
        lambda row: row.kind.dtype or None
    ),
    ResultColumn(
        "size_class_bytes", "Sizes from", Unit.BYTES, "a power of two: to below twice as much"
    ).of(lambda row: row.kind.size_class_bytes),
    ResultColumn("message_bytes", "Message", Unit.BYTES, "median size bandwidths refer to").of(
        lambda row: row.size_bytes
    ),
    ResultColumn("exchange_count", "Exchanges", Unit.COUNT, "matched collectives").of(
        lambda row: row.exchange_count
    ),
    ResultColumn("timed_count", "Timed", Unit.COUNT, "whose arrivals can be compared").of(
        lambda row: row.timed_count
    ),
)
_ARRIVALS: tuple[ColumnOf[CollectiveRow], ...] = (
    ResultColumn("skew_median_ns", "Skew", Unit.NS, "last arrival - first arrival, median").of(
        lambda row: row.skew_median_ns
    ),
    ResultColumn("skew_p95_ns", "Skew p95", Unit.NS, "95th percentile").of(
        lambda row: row.skew_p95_ns
    ),
    ResultColumn("skew_most_ns", "Skew max", Unit.NS, "greatest").of(lambda row: row.skew_most_ns),
    ResultColumn("wait_ns", "Wait", Unit.NS, "last arrival - own, over members and exchanges").of(
        lambda row: row.wait_ns
    ),
    ResultColumn("wait_percent", "Wait %", Unit.PERCENT, "wait / summed durations").of(
        lambda row: row.wait_percent
    ),
    ResultColumn("transfer_median_ns", "Transfer", Unit.NS, "last end - last arrival, median").of(
        lambda row: row.transfer_median_ns
    ),
    ResultColumn("nature", "Time is", Unit.NAME, "transfer, arrival skew, mixed, inconclusive").of(
        lambda row: row.nature.value
    ),
    ResultColumn("last_count", "Came last", Unit.COUNT, "how often `last_rank` came last").of(
        lambda row: row.last_count if row.timed_count else None
    ),
)
_SPEED: tuple[ColumnOf[CollectiveRow], ...] = (
    ResultColumn("algorithm_gb_per_s", "Algorithm", Unit.GB_PER_S, "size / transfer, median").of(
        lambda row: row.algorithm_gb_per_s
    ),
    ResultColumn("bus_gb_per_s", "Bus", Unit.GB_PER_S, "that x bus factor, median").of(
        lambda row: row.bus_gb_per_s
    ),
    ResultColumn("bus_low_gb_per_s", "Bus least", Unit.GB_PER_S, "size / longest transfer").of(
        lambda row: row.bus_low_gb_per_s
    ),
    ResultColumn("bus_high_gb_per_s", "Bus most", Unit.GB_PER_S, "size / shortest transfer").of(
        lambda row: row.bus_high_gb_per_s
    ),
    ResultColumn("transfer_low_ns", "Transfer least", Unit.NS, "median of lower bounds").of(
        lambda row: row.transfer_low_ns
    ),
    ResultColumn("transfer_high_ns", "Transfer most", Unit.NS, "median of upper bounds").of(
        lambda row: row.transfer_high_ns
    ),
    ResultColumn("shortest_ns", "Shortest", Unit.NS, "least duration over members, median").of(
        lambda row: row.shortest_ns
    ),
    ResultColumn("spread_ns", "Spread", Unit.NS, "longest - shortest duration, median").of(
        lambda row: row.spread_ns
    ),
    ResultColumn("skew_high_ns", "Skew at most", Unit.NS, "median of upper bounds").of(
        lambda row: row.skew_high_ns
    ),
    ResultColumn("wait_low_ns", "Wait least", Unit.NS, "what causality makes certain").of(
        lambda row: row.wait_low_ns if row.timed_count else None
    ),
    ResultColumn("wait_high_ns", "Wait most", Unit.NS, "what causality allows").of(
        lambda row: row.wait_high_ns
    ),
    ResultColumn("certified", "Certain", Unit.NAME, "the same by bounds alone").of(
        lambda row: row.certified.value
    ),
    ResultColumn("exposed_ns", "Exposed", Unit.NS, "over members, while no compute ran").of(
        lambda row: row.exposed_ns
    ),
    ResultColumn("exposed_percent", "Exposed %", Unit.PERCENT, "exposed / summed durations").of(
        lambda row: row.exposed_percent
    ),
    ResultColumn("duration_ns", "Durations", Unit.NS, "summed over members and exchanges").of(
        lambda row: row.duration_ns
    ),
    ResultColumn("basis", "Basis", Unit.NAME, "whose arrivals the figures rest on").of(
        lambda row: row.basis
    ),
)
