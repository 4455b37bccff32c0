"""The table `compared`, a headline, and what makes two runs hard to compare."""

from __future__ import annotations

import math
from typing import NamedTuple

from wavescope.analyze.ranks.compared.figures import Figure
from wavescope.analyze.ranks.compared.run_figures import (
    collective_figures,
    culprit_figures,
    job_figures,
    rank_figures,
    step_times_of,
)
from wavescope.analyze.ranks.measures import JobMeasures, JobRows, numbers_text
from wavescope.arrays.groups import nearest_rank
from wavescope.arrays.intervals import Times
from wavescope.model.result import (
    ColumnOf,
    Finding,
    Result,
    ResultColumn,
    Severity,
    Unit,
    Value,
    table_of,
)
from wavescope.units import counted, duration_text

_ABOUT_EQUAL_PERCENT = 0.5
"""Medians that differ by less are called equal."""
_NORMAL_95 = 1.96
_LEAST_STEPS = 6
"""With fewer steps no interval holds the median with 95 % certainty."""


class Run(NamedTuple):
    """One of the two runs."""

    measures: JobMeasures
    rows: JobRows


def compared_result(base: Run, new: Run, base_name: str = "base") -> Result:
    """Figures of both runs, the whole job first, then ranks, those that changed most first."""
    figures = [
        *job_figures(base.rows, new.rows),
        *collective_figures(base.rows, new.rows),
        *culprit_figures(base.measures, new.measures),
        *rank_figures(base.measures, base.rows, new.measures, new.rows),
    ]
    facts: dict[str, Value] = {
        "compared": headline(base, new, base_name),
        "base_rank_count": len(base.measures.job),
    }
    table = table_of("compared", f"Compared with {base_name}", _COLUMNS, figures)
    return Result("Compared", [table], _findings(base, new), facts)


def headline(base: Run, new: Run, base_name: str) -> str:
    """One sentence on the time of a step in both runs."""
    counts = len(base.measures.job), len(new.measures.job)
    ranks = "" if counts[0] == counts[1] else f"; {counts[1]} ranks, {counts[0]} in {base_name}"
    before, after = step_times_of(base.rows, new.rows)
    if not len(before) or not len(after):
        return f"steps cannot be compared: not both runs have any{ranks}"
    was, now = nearest_rank(before, 50), nearest_rank(after, 50)
    times = f"a step takes {duration_text(now)} (median), {duration_text(was)} in {base_name}"
    percent = 100 * (now - was) / was if was else math.inf
    if abs(percent) < _ABOUT_EQUAL_PERCENT:
        return f"{times}: about the same{ranks}"
    if not differ_clearly(before, after):
        return f"{times}: no clear difference beside how steps vary{ranks}"
    words = "longer" if now > was else "shorter"
    return f"{times}: {abs(percent):.1f} % {words}{ranks}"


def differ_clearly(before: Times, after: Times) -> bool:
    """Whether 95 % intervals of both medians lie apart; too few steps tell nothing."""
    if min(len(before), len(after)) < _LEAST_STEPS:
        return False
    low_before, high_before = median_interval(before)
    low_after, high_after = median_interval(after)
    return high_before < low_after or high_after < low_before


def median_interval(values: Times) -> tuple[int, int]:
    """Values between which the median lies with about 95 % certainty, whatever they are like."""
    ordered = sorted(values.tolist())
    half_width = _NORMAL_95 * math.sqrt(len(ordered)) / 2
    low = max(math.floor(len(ordered) / 2 - half_width) - 1, 0)
    high = min(math.ceil(len(ordered) / 2 + half_width), len(ordered) - 1)
    return ordered[low], ordered[high]


def _findings(base: Run, new: Run) -> list[Finding]:
    """What makes figures of the two runs hard to compare."""
    numbers = set(base.measures.job.numbers), set(new.measures.job.numbers)
    if numbers[0] == numbers[1]:
        return []
    gone, added = numbers[0] - numbers[1], numbers[1] - numbers[0]
    told = [f"{counted(len(numbers[0]), 'rank')} before, {len(numbers[1])} now"]
    told += [f"only before: {numbers_text(gone)}"] if gone else []
    told += [f"only now: {numbers_text(added)}"] if added else []
    return [
        Finding(
            "ranks-differ",
            Severity.WARNING,
            "the two runs do not have the same ranks",
            "; ".join(told),
            "figures of the whole job depend on the number of ranks; compare runs of equal size",
            numbers={"base_rank_count": len(numbers[0]), "rank_count": len(numbers[1])},
        )
    ]


_COLUMNS: tuple[ColumnOf[Figure], ...] = (
    ResultColumn("part", "Of", Unit.NAME, "job, collective, culprit or rank").of(
        lambda row: row.part.value
    ),
    ResultColumn("where", "Where", Unit.NAME, "which one").of(lambda row: row.where or None),
    ResultColumn("metric", "What", Unit.NAME, "what was measured").of(lambda row: row.metric),
    ResultColumn("base", "Base", Unit.NAME, "in the base run").of(lambda row: row.base_text),
    ResultColumn("new", "New", Unit.NAME, "in this run").of(lambda row: row.new_text),
    ResultColumn("change", "Change", Unit.NAME, "new - base; of shares in points").of(
        lambda row: row.change_text
    ),
    ResultColumn("base_value", "Base value", Unit.NONE, "as a number in `unit`").of(
        lambda row: row.base
    ),
    ResultColumn("new_value", "New value", Unit.NONE, "as a number in `unit`").of(
        lambda row: row.new
    ),
    ResultColumn("change_value", "Change value", Unit.NONE, "new - base in `unit`, or points").of(
        lambda row: row.change
    ),
    ResultColumn("change_percent", "Change %", Unit.PERCENT, "of the base; none of shares").of(
        lambda row: row.change_percent
    ),
    ResultColumn("unit", "Unit", Unit.NAME, "ns, GB/s, % or count").of(
        lambda row: row.unit.value or None
    ),
)
